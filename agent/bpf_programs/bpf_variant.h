/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The BPF programs are compiled three times from the same sources, because some kernels refuse an
 * object that merely names a helper or kfunc they lack, even in code that never runs:
 *
 *   BPF_VARIANT_CURRENT   5.17 to 6.19: bpf_loop(); task work under its name of 6.18, if present
 *   BPF_VARIANT_KERNEL_7  7.0 and later: task work under its name of 7.0
 *   BPF_VARIANT_KERNEL_5  5.10 to 5.16: no callbacks; bounded loops; tail calls walk a stack in
 *                         parts
 *
 * All variants have the same maps, programs and variables, so one skeleton serves them all. The
 * kernel's BTF decides which variant is loaded, not its version.
 */

#include "common/base.h"

enum bpf_variant {
	BPF_VARIANT_CURRENT,
	BPF_VARIANT_KERNEL_7,
	BPF_VARIANT_KERNEL_5,
};

/* Sets the object that @skeleton will open. @skeleton must be created but not opened. */
struct bpf_object_skeleton;
void bpf_variant_choose(enum bpf_variant variant, struct bpf_object_skeleton *skeleton);
