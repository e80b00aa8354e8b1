/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which features the running kernel has, found by trying them, never by its version: distributions
 * backport.
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
	bool task_work_of_7; /* by its name of 7.0 */
};

/*
 * Tries each feature. @without names features, separated by commas, that count as missing although
 * they are there (for tests and comparisons).
 */
void kernel_features_probe(const char *without, struct kernel_features *ret_features);

/* Each name in @list is one of the table, separated by commas; false and the first that is not. */
bool kernel_features_are_known(const char *list, const char **ret_unknown, size_t *ret_length);

/*
 * Whether BPF programs may read the kernel's memory, which unwinding the kernel's stack needs.
 * Lockdown in the mode `confidentiality` forbids it, to root as well.
 */
bool kernel_lets_bpf_read_it(void);

enum bpf_variant kernel_features_variant(const struct kernel_features *features);

/* One line in the log for each missing feature, with what is done instead and what is lost. */
void kernel_features_log(const struct kernel_features *features, const char *release);

/* Appends the names of missing features that profiles lose something by, separated by commas. */
int kernel_features_append_lacks(const struct kernel_features *features, struct bytes *out);
