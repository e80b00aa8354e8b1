/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Opens the skeleton, adapts it to the options and the kernel, and loads it. If the verifier
 * refuses the programs, loads those for kernels without bpf_loop() instead, and logs this.
 */

#include "agent/bpf_programs/bpf_programs.h"

struct hearth_bpf;

/*
 * Probes the kernel first: *ret_features are those that the loaded programs use. The caller
 * destroys *ret_skeleton. On failure the reason was logged, and only *ret_features is changed.
 */
int skeleton_load(const struct bpf_programs_options *options, struct kernel_features *ret_features,
		  struct hearth_bpf **ret_skeleton);
