/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The BPF programs are compiled three times from the same sources, because some kernels refuse an
 * object for what is merely named in it, however it is guarded:
 *
 *   BPF_VARIANT_CURRENT   5.17 to 6.19: bpf_loop(); task work by its name of 6.18, where there is one
 *   BPF_VARIANT_KERNEL_7  task work by its name of 7.0
 *   BPF_VARIANT_KERNEL_5  5.10 to 5.16: no callbacks; loops are bounded, and a stack is walked by tail calls
 *
 * All have the same maps, programs and variables, so that one skeleton serves them. The running
 * kernel's types decide, not its version.
 */

#include "common/base.h"

enum bpf_variant {
	BPF_VARIANT_CURRENT,
	BPF_VARIANT_KERNEL_7,
	BPF_VARIANT_KERNEL_5,
};

/*
 * Replaces the object that @skeleton (struct bpf_object_skeleton), created but not opened, is going
 * to open.
 */
struct bpf_object_skeleton;
void bpf_variant_choose(enum bpf_variant variant, struct bpf_object_skeleton *skeleton);
