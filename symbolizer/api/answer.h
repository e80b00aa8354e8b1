/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the answers with profiles have in common: running the query, the figures beside the tree,
 * and units.
 */

#include "common/json_writer.h"
#include "symbolizer/api/api.h"
#include "symbolizer/query/profile.h"

/*
 * The figures of struct profile_stats: as X-Hearth-* headers and as keys of "debug" and "stats".
 * X(field, key, header, kind); kind VALUE is in the answer's unit, COUNT is as it is, TIME is in
 * microseconds.
 */
/* clang-format off */
#define ANSWER_STATS(X)                                                                            \
	X(n_series, "series", "X-Hearth-Series", COUNT)                                            \
	X(n_rows, "rows", "X-Hearth-Rows", COUNT)                                                  \
	X(n_stacks, "stacks", "X-Hearth-Stacks", COUNT)                                            \
	X(n_frames, "frames", "X-Hearth-Frames", COUNT)                                            \
	X(n_nodes, "nodes", "X-Hearth-Nodes", COUNT)                                               \
	X(n_nodes_pruned, "nodes_pruned", "X-Hearth-Nodes-Pruned", COUNT)                          \
	X(n_stacks_shortened, "stacks_shortened", "X-Hearth-Stacks-Shortened", COUNT)              \
	X(n_damaged_blocks, "damaged_blocks", "X-Hearth-Damaged-Blocks", COUNT)                    \
	X(covered_s, "covered_s", "X-Hearth-Covered-S", COUNT)                                     \
	X(n_tables_pending, "tables_pending", "X-Hearth-Tables-Pending", COUNT)                    \
	X(value_total, "total", "X-Hearth-Total", VALUE)                                           \
	X(value_unsymbolized, "unsymbolized", "X-Hearth-Unsymbolized", VALUE)                      \
	X(unsymbolized_no_debuginfo, "unsymbolized_no_debuginfo",                                  \
	  "X-Hearth-Unsymbolized-No-Debuginfo", VALUE)                                             \
	X(unsymbolized_stripped, "unsymbolized_stripped", "X-Hearth-Unsymbolized-Stripped", VALUE) \
	X(unsymbolized_outside, "unsymbolized_outside", "X-Hearth-Unsymbolized-Outside", VALUE)    \
	X(unsymbolized_pending, "unsymbolized_pending", "X-Hearth-Unsymbolized-Pending", VALUE)    \
	X(unsymbolized_table_failed, "unsymbolized_table_failed",                                  \
	  "X-Hearth-Unsymbolized-Table-Failed", VALUE)                                             \
	X(unsymbolized_no_mapping, "unsymbolized_no_mapping", "X-Hearth-Unsymbolized-No-Mapping",  \
	  VALUE)                                                                                   \
	X(value_cut, "cut", "X-Hearth-Cut", VALUE)                                                 \
	X(value_reduced, "reduced", "X-Hearth-Reduced", VALUE)                                     \
	X(scan_ns, "scan_us", "X-Hearth-Scan-Us", TIME)                                            \
	X(resolve_ns, "resolve_us", "X-Hearth-Resolve-Us", TIME)                                   \
	X(merge_ns, "merge_us", "X-Hearth-Merge-Us", TIME)
/* clang-format on */

uint64_t answer_value(enum event_type type, uint64_t value);
const char *answer_unit_name(enum event_type type); /* "microseconds" or "bytes" */

void answer_headers(struct http_response *response, enum event_type type,
		    const struct profile_stats *stats);

/* Appends to @text what the tree leaves out, in words, and why; nothing when it is whole. */
void answer_describe_loss(const struct profile_stats *stats, uint32_t max_nodes,
			  char text[PROFILE_MESSAGE_SIZE]);

/* One object. */
void answer_stats(struct json_writer *json, enum event_type type,
		  const struct profile_stats *stats);

/* The tree as "columns" or as nodes, or null for no tree. */
int answer_tree(struct json_writer *json, enum event_type type, bool columns,
		const struct tree *tree);

/*
 * profile_query() in the unit of answers, with counting; a failure of the store is logged. Same
 * result.
 */
int answer_query(struct api_context *context, const struct profile_request *request,
		 struct tree **ret_tree, struct profile_stats *ret_stats,
		 char ret_message[PROFILE_MESSAGE_SIZE]);

/* profile_unresolved() likewise. */
int answer_unresolved(struct api_context *context, const struct profile_request *request,
		      struct arena *arena, struct unresolved_files *ret_files,
		      struct profile_stats *ret_stats, char ret_message[PROFILE_MESSAGE_SIZE]);
