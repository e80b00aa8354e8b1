/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Adapts the opened skeleton to the running kernel, before it is loaded: replaces missing kernel
 * features by fallbacks, and disables programs and maps that this kernel cannot use.
 */

#include "agent/bpf_programs/kernel_features.h"

struct hearth_bpf;

/* Returns 0 or a negative errno of libbpf. */
int bpf_fit_to_kernel(struct hearth_bpf *skeleton, const struct kernel_features *features);
