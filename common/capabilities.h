/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The Linux capabilities of the calling thread. Each thread has its own sets and passes them on to
 * threads that it creates. A set is a mask: bit CAP_BPF is UINT64_C(1) << CAP_BPF
 * (linux/capability.h).
 */

#include "common/base.h"

#define CAPABILITY_BIT(number) (UINT64_C(1) << (number))

/*
 * The permitted set: capabilities that the thread has or can make effective. 0 or negative errno.
 */
int capabilities_permitted(uint64_t *ret_mask);

/*
 * Drops all capabilities outside @keep permanently. The remaining ones become effective. No
 * capability is inherited through execve(2). 0 or negative errno.
 */
int capabilities_limit(uint64_t keep);
