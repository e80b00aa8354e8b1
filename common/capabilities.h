/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The Linux capabilities of the calling thread. Each thread has its own sets and passes them on to
 * threads that it creates. A set is a mask: bit CAP_BPF is UINT64_C(1) << CAP_BPF
 * (linux/capability.h).
 */

#include "common/base.h"

#define CAPABILITY_BIT(number) (UINT64_C(1) << (number))

/* Capabilities that the thread may use, or make usable (the permitted set). 0 or negative errno. */
int capabilities_permitted(uint64_t *ret_mask);

/*
 * Gives up, for good, all capabilities outside @keep. Those that are left become effective; none is
 * passed on through execve(2). 0 or negative errno.
 */
int capabilities_limit(uint64_t keep);
