/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fits the opened skeleton to the running kernel before it is loaded: fallbacks for what the kernel
 * lacks, and programs and maps that it has no use for left out.
 */

#include "agent/bpf_programs/kernel_features.h"

struct hearth_bpf;

/* Negative errno of libbpf. @on_cpu: whether timers are wanted at all. */
int bpf_fit_to_kernel(struct hearth_bpf *skeleton, const struct kernel_features *features,
		      bool on_cpu);
