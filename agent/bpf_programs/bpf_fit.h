/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Adapts the opened skeleton to the running kernel, before it is loaded: replaces missing kernel
 * features by fallbacks, and disables programs and maps that this kernel cannot use.
 */

#include "agent/bpf_programs/kernel_features.h"

struct hearth_bpf;

/* @on_cpu: whether the on-CPU timers are used. Returns 0 or a negative errno of libbpf. */
int bpf_fit_to_kernel(struct hearth_bpf *skeleton, const struct kernel_features *features,
		      bool on_cpu);

/*
 * Call after loading. Sets the tail calls of the programs that walk a stack in parts, if this
 * kernel needs them. Returns 0 or a negative errno.
 */
int bpf_fit_set_tail_calls(const struct hearth_bpf *skeleton);
