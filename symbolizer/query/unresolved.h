/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The part of a selection whose innermost frame has no name, by file and reason. A stack counts for
 * the file of its innermost frame, which is the kernel's if it has frames of the kernel. No tree is
 * built and only innermost frames are named, so that this costs less than a profile of the same
 * selection.
 */

#include "symbolizer/query/frame_table.h"
#include "symbolizer/query/profile.h"
#include "symbolizer/query/series_groups.h"
#include "symbolizer/query/stack_values.h"

/* The reasons, with their names in answers: "unsymbolized_NAME" of struct profile_stats has the sum
 * of each. */
/* clang-format off */
#define UNRESOLVED_REASONS(X)                                                                      \
	X(FRAME_NO_DEBUGINFO, no_debuginfo)                                                        \
	X(FRAME_STRIPPED, stripped)                                                                \
	X(FRAME_OUTSIDE, outside)                                                                  \
	X(FRAME_TABLE_PENDING, pending)                                                            \
	X(FRAME_TABLE_FAILED, table_failed)                                                        \
	X(FRAME_NO_MAPPING, no_mapping)
/* clang-format on */

/* "no_debuginfo"; NULL for FRAME_NAMED. */
const char *unresolved_reason_name(enum frame_status reason);

/* Where @stats sums the values with this reason; NULL for FRAME_NAMED. */
uint64_t *unresolved_reason_sum(struct profile_stats *stats, enum frame_status reason);

#define UNRESOLVED_MAX_SERVICES 5

struct unresolved_file {
	const struct store_executable *executable; /* NULL: the code lies in no file */
	const char *path; /* where its largest user maps it from; "": not known */
	bool kernel;
	enum frame_status reason;
	uint64_t value;
	const char *services[UNRESOLVED_MAX_SERVICES]; /* that use it, the largest first */
	size_t n_services;
};

struct unresolved_files {
	struct unresolved_file *files; /* [count], the largest first */
	size_t count;
};

struct unresolved_input {
	struct store *store;
	struct resolver *resolver;
	struct arena *arena; /* for the result, too */
	const struct series_groups *groups;
	struct stack_value *items; /* [n_items]; sorted in place */
	size_t n_items;
	struct profile_stats *stats;
};

/* Counts @input's values into its stats, and those without a name by file. 0 or negative errno. */
int unresolved_count(const struct unresolved_input *input, struct unresolved_files *ret_files);
