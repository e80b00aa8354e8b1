/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The common part of all answers with profiles: running the query, its figures, and units.
 */

#include "common/json_writer.h"
#include "symbolizer/api/api.h"
#include "symbolizer/query/profile.h"

/*
 * The figures of struct profile_stats, sent as X-Hearth-* headers and as keys of "debug" and
 * "stats": X(field, key, header, kind). The kind is VALUE for the answer's unit, COUNT for a plain
 * number, TIME for microseconds.
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

/* Converts a stored value (ns or bytes) to the unit of answers, rounded half up. */
uint64_t answer_value(const struct event_type_info *event, uint64_t value);

/* "microseconds" for ns, else the unit of the event type: "bytes", "events", ... */
const char *answer_unit_name(const struct event_type_info *event);

/* An event type that common/event_type.h does not list; the store has its description. */
struct answer_event {
	struct event_type_info info;
	char name[MAX_EVENT_TEXT_BYTES + 1], unit[MAX_EVENT_TEXT_BYTES + 1];
};

/*
 * Sets type and event of @profile to those of the type with this name, which may be a handle of
 * @view. @room stores the description, so it must live as long as @profile. Returns 0; -EINVAL:
 * there is no such type, or another negative errno: the store failed. Both set the message.
 */
int answer_find_event(struct store_view *view, const char *name, struct answer_event *room,
		      struct profile_request *profile, char ret_message[PROFILE_MESSAGE_SIZE]);

/* Adds the figures as headers. */
void answer_headers(struct http_response *response, const struct event_type_info *event,
		    const struct profile_stats *stats);

/* Appends to @text what was left out of the tree and why. Appends nothing if the tree is
 * complete. */
void answer_describe_loss(const struct profile_stats *stats, uint32_t max_nodes,
			  char text[PROFILE_MESSAGE_SIZE]);

/* Writes the figures as an object. */
void answer_stats(struct json_writer *json, const struct event_type_info *event,
		  const struct profile_stats *stats);

/*
 * Writes the member "samples": the number of samples of the profile; null if its values are no
 * counts of periods. If periods differ, the longest one counts, so that the number is not too
 * large.
 */
void answer_samples(struct json_writer *json, const struct profile_stats *stats);

/*
 * Writes the samples behind a part of a profile and the interval of its share, in per cent:
 * "NAME_samples" and "NAME_share": [low, high]; nothing if the samples are not known. The interval
 * (95 %) assumes independent samples.
 */
void answer_share(struct json_writer *json, const char *name, uint64_t part, uint64_t whole,
		  const struct profile_stats *stats);

/* Writes the tree as columns or as nodes; null if @tree is NULL. Returns 0 or a negative errno. */
int answer_tree(struct json_writer *json, const struct event_type_info *event, bool columns,
		const struct tree *tree);

/*
 * api_open_view(). Returns false after logging a failure, counting it and filling @response with an
 * error.
 */
bool answer_open_view(struct api_context *context, const struct http_request *request,
		      struct http_response *response, struct store_view **ret_view);

/*
 * Runs profile_query() in the unit of answers. Counts the query, and logs a failure of the store.
 * Returns the result of profile_query().
 */
int answer_query(struct api_context *context, struct store_view *view,
		 const struct profile_request *request, struct tree **ret_tree,
		 struct profile_stats *ret_stats, char ret_message[PROFILE_MESSAGE_SIZE]);

/* The same in the unit request->value_unit; 0: exact values. */
int answer_query_in(struct api_context *context, struct store_view *view,
		    const struct profile_request *request, struct tree **ret_tree,
		    struct profile_stats *ret_stats, char ret_message[PROFILE_MESSAGE_SIZE]);

/* Runs profile_visit_stacks() in the same way. -EFBIG, an error of the visitor, has no message. */
int answer_stacks(struct api_context *context, struct store_view *view,
		  const struct profile_request *request, const struct stack_visitor *visitor,
		  struct profile_stats *ret_stats, char ret_message[PROFILE_MESSAGE_SIZE]);

/*
 * Returns -ENOBUFS instead of @error, and writes the message, if a query failed because all queries
 * together have no memory left. @refused: memory_budget_refused() before the query. To be answered
 * with answer_refuse_memory().
 */
int answer_memory_error(const struct api_context *context, int error, uint64_t refused,
			char ret_message[PROFILE_MESSAGE_SIZE]);
void answer_refuse_memory(struct http_response *response, const char *message);

/* Answers such an error of work that follows a query. False: it is another error. */
bool answer_refused_memory(const struct api_context *context, int error, uint64_t refused,
			   struct http_response *response);

/*
 * Answers an error of a query that is no failure of the server: an invalid request, no memory left,
 * or a client that has closed the connection. False: it is another error.
 */
bool answer_request_error(struct http_response *response, int error, const char *message);

/* Answers any error of a query that has reported it and set the message. */
void answer_query_error(struct http_response *response, int error, const char *message);

/*
 * Answers and reports an error @r of a query of sums; *message is set if it is -EINVAL. @refused:
 * memory_budget_refused() before the query. Returns whether @r is no error.
 */
bool answer_sums(struct api_context *context, const struct http_request *request,
		 struct http_response *response, int r, uint64_t refused,
		 char message[PROFILE_MESSAGE_SIZE]);

/* Runs profile_unresolved() in the same way. */
int answer_unresolved(struct api_context *context, struct store_view *view,
		      const struct profile_request *request, struct arena *arena,
		      struct unresolved_files *ret_files, struct profile_stats *ret_stats,
		      char ret_message[PROFILE_MESSAGE_SIZE]);
