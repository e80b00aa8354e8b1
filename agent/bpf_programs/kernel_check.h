/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks before loading whether the BPF programs can run on this kernel.
 */

#include "agent/bpf_programs/kernel_features.h"

/*
 * Refuses a kernel without BTF, under lockdown in the mode `confidentiality`, or that may freeze
 * (unless @trust_kernel). Then probes its features; see kernel_features_probe() for @without. Logs
 * the missing features, and the reason of a refusal. Returns 0 or a negative errno.
 */
int kernel_check(const char *without, bool trust_kernel, struct kernel_features *ret_features);
