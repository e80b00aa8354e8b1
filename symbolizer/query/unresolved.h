/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The values of stacks that have no name for their innermost frame, summed by file and reason. The
 * file is that of the innermost frame, which is a kernel frame if the stack has any. No tree is
 * built and only innermost frames are resolved: the query costs less than a profile of the same
 * selection.
 */

#include "symbolizer/query/frame_table.h"
#include "symbolizer/query/profile.h"
#include "symbolizer/query/series_groups.h"

/* The reasons and their names in answers. unsymbolized_NAME of struct profile_stats is the sum of
 * the values with that reason. */
/* clang-format off */
#define UNRESOLVED_REASONS(X)                                                                      \
	X(FRAME_NO_DEBUGINFO, no_debuginfo)                                                        \
	X(FRAME_STRIPPED, stripped)                                                                \
	X(FRAME_OUTSIDE, outside)                                                                  \
	X(FRAME_TABLE_PENDING, pending)                                                            \
	X(FRAME_TABLE_FAILED, table_failed)                                                        \
	X(FRAME_NO_MAPPING, no_mapping)
/* clang-format on */

/* Returns "no_debuginfo" and the like; NULL for FRAME_NAMED. */
const char *unresolved_reason_name(enum frame_status reason);

/* Returns the field of @stats with the sum for @reason; NULL for FRAME_NAMED. */
uint64_t *unresolved_reason_sum(struct profile_stats *stats, enum frame_status reason);

#define UNRESOLVED_MAX_SERVICES 5

struct unresolved_file {
	const struct store_executable *executable; /* NULL: the code is in no file */
	const char *path; /* in the process with the largest value; "": unknown */
	bool kernel;
	enum frame_status reason;
	uint64_t value;
	const char *services[UNRESOLVED_MAX_SERVICES]; /* with the largest values, in order */
	size_t n_services;
};

struct unresolved_files {
	struct unresolved_file *files; /* [count], the largest first */
	size_t count;
};

struct unresolved_input {
	struct store_view *view;
	struct resolver *resolver;
	const struct clock *clock;
	struct arena *arena; /* also for the result */
	const struct series_groups *groups;
	struct store_sum *items; /* [n_items]; sorted in place */
	size_t n_items;
	struct profile_stats *stats;
};

/* Adds all values of @input to its stats, and lists the files of those without a name. Returns 0 or
 * a negative errno. */
int unresolved_count(const struct unresolved_input *input, struct unresolved_files *ret_files);
