/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Features of the running kernel. Each is probed, never derived from the kernel's version, because
 * distributions backport features.
 */

#include "agent/bpf_programs/bpf_variant.h"
#include "common/bytes.h"

enum kernel_feature {
#define KERNEL_FEATURE(id, ...) KERNEL_FEATURE_##id,
#include "agent/bpf_programs/kernel_features.def"
#undef KERNEL_FEATURE
	KERNEL_FEATURE_COUNT,
};

struct kernel_features {
	bool has[KERNEL_FEATURE_COUNT];
	bool task_work_of_7; /* task work has its name of 7.0 */
};

/*
 * Probes each feature. @without lists features, separated by commas, that count as missing even if
 * the kernel has them (for tests and comparisons).
 */
void kernel_features_probe(const char *without, struct kernel_features *ret_features);

/*
 * Returns whether each name in @list, separated by commas, is a known feature. If not, *ret_unknown
 * and *ret_length are the first unknown name.
 */
bool kernel_features_are_known(const char *list, const char **ret_unknown, size_t *ret_length);

/*
 * Returns whether BPF programs may read kernel memory, which unwinding kernel stacks requires.
 * Lockdown in the mode `confidentiality` forbids it, also to root.
 */
bool kernel_lets_bpf_read_memory(void);

enum bpf_variant kernel_features_variant(const struct kernel_features *features);

/* Logs one line for each missing feature: its fallback, and what profiles lose without it. */
void kernel_features_log(const struct kernel_features *features, const char *release);

/*
 * Appends the names of the missing features without which profiles lose something, separated by
 * commas.
 */
int kernel_features_append_lacks(const struct kernel_features *features, struct bytes *out);
