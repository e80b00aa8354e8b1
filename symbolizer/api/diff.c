/* SPDX-License-Identifier: Apache-2.0 */

/*
 * GET /v1/diff: the functions of a selection compared with those of another, the base. Both
 * profiles are in memory one after the other, and their lists of functions together.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/api/answer.h"
#include "symbolizer/api/base_selection.h"
#include "symbolizer/api/profile_parameters.h"
#include "symbolizer/query/top_diff.h"

#define DEFAULT_COUNT 50
#define MAX_COUNT     100000

/* 32 bytes for a function of either side, 72 for one of the result, and their labels. */
#define ARENA_BYTES (GIB)

/* The functions of one of the two selections. */
struct functions {
	struct top_row *rows;
	size_t n_rows;
	uint64_t whole;
};

struct diff {
	struct compared_sides sides;
	struct functions base, after;
	enum top_diff_mode mode;
	bool by_total;
	int64_t limit;
	struct arena *arena;
};

/* The arena has no room, or all queries together have no memory left. */
static void answer_no_room(const struct api_context *context, const struct diff *diff,
			   struct http_response *response)
{
	if (!answer_refused_memory(context, -ENOMEM, diff->sides.refused, response))
		http_response_error(response, 500, "cannot write the answer: %s", strerror(ENOMEM));
}

/* Returns false after filling @response with an error. */
static bool read_options(const struct http_request *request, struct http_response *response,
			 struct diff *diff)
{
	const char *mode = http_request_parameter(request, "mode");
	const char *sort = http_request_parameter(request, "sort");
	char message[PARAMETERS_MESSAGE_SIZE] = "";

	if (mode && !top_diff_mode_from_name(mode, &diff->mode))
		(void)snprintf(message, sizeof(message),
			       "mode: '%.40s' is neither relative nor normalised nor absolute",
			       mode);
	else if (sort && strcmp(sort, "self") != 0 && strcmp(sort, "total") != 0)
		(void)snprintf(message, sizeof(message), "sort: '%.40s' is neither self nor total",
			       sort);
	else
		(void)base_selection_check(request, message);
	diff->by_total = sort && strcmp(sort, "total") == 0;
	if (!message[0])
		return parameter_limit(request, response, MAX_COUNT, DEFAULT_COUNT, &diff->limit);
	http_response_error(response, 400, "%s", message);
	return false;
}

/* Copies the labels, because the tree is freed. */
static int keep_functions(struct diff *diff, struct functions *kept, const struct tree *tree)
{
	uint32_t n_nodes;
	int r;

	r = top_make(tree, TOP_BY_SELF, diff->arena, &kept->rows, &kept->n_rows);
	for (size_t i = 0; i < kept->n_rows && r == 0; i++) {
		const char *label = kept->rows[i].label;

		kept->rows[i].label = arena_copy_text(diff->arena, label, strlen(label));
		r = kept->rows[i].label ? 0 : -ENOMEM;
	}
	kept->whole = tree_nodes(tree, &n_nodes)[0].total;
	return r;
}

/* Returns false after filling @response with an error. */
static bool query_side(struct api_context *context, struct store_view *view, struct diff *diff,
		       struct compared_side *side, struct http_response *response)
{
	const bool is_after = side == &diff->sides.after;
	scoped(tree_freep) struct tree *tree = NULL;
	int r = answer_query(context, view, &side->parameters.profile, &tree, &side->stats,
			     side->message);

	if (is_after)
		answer_headers(response, profile_event(&side->parameters.profile), &side->stats);
	if (!compared_side_found(&diff->sides, side, r, response))
		return false;
	if (keep_functions(diff, is_after ? &diff->after : &diff->base, tree) == 0)
		return true;
	answer_no_room(context, diff, response);
	return false;
}

/* Seconds that agents covered; those of the range if that is unknown. */
static double seconds_of(const struct compared_side *side)
{
	const struct time_range *range = &side->parameters.range;

	if (side->stats.covered_s > 0)
		return (double)side->stats.covered_s;
	return (double)MAX(range->until_wall_ns - range->since_wall_ns, (uint64_t)1) /
	       (double)NSEC_PER_SEC;
}

static void write_row(struct json_writer *json, const struct diff *diff,
		      const struct top_diff_row *row)
{
	const struct event_type_info *event = profile_event(&diff->sides.after.parameters.profile);
	const bool appeared = row->base_total == 0, vanished = row->total == 0;

	json_object_begin(json);
	json_key_text(json, "function", row->label);
	json_key(json, "type");
	json_text_sized(json, &row->type, 1);
	json_key_text(json, "state", appeared ? "appeared" : vanished ? "vanished" : "both");
	json_key_uint(json, "base_self_value", answer_value(event, row->base_self));
	json_key_uint(json, "self_value", answer_value(event, row->self));
	json_key_uint(json, "base_total_value", answer_value(event, row->base_total));
	json_key_uint(json, "total_value", answer_value(event, row->total));
	json_key(json, "self_change");
	json_double(json, row->self_change);
	json_key(json, "total_change");
	json_double(json, row->total_change);
	answer_share(json, "base_self", row->base_self, diff->base.whole, &diff->sides.base.stats);
	answer_share(json, "self", row->self, diff->after.whole, &diff->sides.after.stats);
	json_object_end(json);
}

static void write_answer(const struct diff *diff, const struct top_diff_row *rows, size_t count,
			 struct http_response *response)
{
	const struct event_type_info *event = profile_event(&diff->sides.after.parameters.profile);
	struct json_writer json;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key_text(&json, "event", event->name);
	json_key_text(&json, "unit", answer_unit_name(event));
	json_key_text(&json, "mode", top_diff_mode_name(diff->mode));
	json_key_text(&json, "sort", diff->by_total ? "total" : "self");
	compared_side_write(&json, "base", &diff->sides.base, diff->base.whole);
	compared_side_write(&json, "after", &diff->sides.after, diff->after.whole);
	json_key_uint(&json, "count", count);
	json_key(&json, "functions");
	json_array_begin(&json);
	for (size_t i = 0; i < MIN(count, (size_t)diff->limit); i++)
		write_row(&json, diff, &rows[i]);
	json_array_end(&json);
	json_object_end(&json);
}

static void compare(const struct api_context *context, struct diff *diff,
		    struct http_response *response)
{
	const struct top_diff_input input = {
		.base = { diff->base.rows, diff->base.n_rows, diff->base.whole,
			  seconds_of(&diff->sides.base) },
		.after = { diff->after.rows, diff->after.n_rows, diff->after.whole,
			   seconds_of(&diff->sides.after) },
		.mode = diff->mode,
		.by_total = diff->by_total,
	};
	struct top_diff_row *rows;
	size_t count;

	if (top_diff_make(&input, diff->arena, &rows, &count) < 0)
		answer_no_room(context, diff, response);
	else
		write_answer(diff, rows, count, response);
}

static void answer_diff(struct api_context *context, const struct http_request *request,
			struct http_response *response, struct diff *diff)
{
	scoped(store_view_closep) struct store_view *view = NULL;

	diff->sides.refused = memory_budget_refused(context->memory);
	if (read_options(request, response, diff) &&
	    answer_open_view(context, request, response, &view) &&
	    compared_sides_read(context, view, request, response, diff->arena, &diff->sides) &&
	    query_side(context, view, diff, &diff->sides.after, response) &&
	    query_side(context, view, diff, &diff->sides.base, response))
		compare(context, diff, response);
}

void api_diff(struct api_context *context, const struct http_request *request,
	      struct http_response *response)
{
	struct diff *diff = calloc(1, sizeof(*diff));

	if (!diff || arena_new_in(ARENA_BYTES, context->memory, &diff->arena) < 0)
		http_response_error(response, 500, "cannot write the answer: %s", strerror(ENOMEM));
	else
		answer_diff(context, request, response, diff);
	if (diff)
		(void)arena_free(diff->arena);
	free(diff);
}
