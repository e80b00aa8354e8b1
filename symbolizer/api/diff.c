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

/* One of the two selections. */
struct side {
	struct profile_parameters parameters;
	struct profile_stats stats;
	struct top_row *rows;
	size_t n_rows;
	uint64_t whole;
	char message[PROFILE_MESSAGE_SIZE];
};

struct diff {
	struct side base, after;
	enum top_diff_mode mode;
	bool by_total;
	int64_t limit;
	struct arena *arena;
	uint64_t refused; /* memory_budget_refused() before the comparison */
};

/* The arena has no room, or all queries together have no memory left. */
static void answer_no_room(const struct api_context *context, const struct diff *diff,
			   struct http_response *response)
{
	if (!answer_refused_memory(context, -ENOMEM, diff->refused, response))
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
	else if (base_selection_check(request, message) == 0)
		(void)parameter_integer(request, "limit", 1, MAX_COUNT, DEFAULT_COUNT, &diff->limit,
					message);
	if (message[0])
		http_response_error(response, 400, "%s", message);
	diff->by_total = sort && strcmp(sort, "total") == 0;
	return !message[0];
}

/* Copies the labels, because the tree is freed. */
static int keep_functions(struct diff *diff, struct side *side, const struct tree *tree)
{
	uint32_t n_nodes;
	int r;

	r = top_make(tree, TOP_BY_SELF, diff->arena, &side->rows, &side->n_rows);
	for (size_t i = 0; i < side->n_rows && r == 0; i++) {
		const char *label = side->rows[i].label;

		side->rows[i].label = arena_copy_text(diff->arena, label, strlen(label));
		r = side->rows[i].label ? 0 : -ENOMEM;
	}
	side->whole = tree_nodes(tree, &n_nodes)[0].total;
	return r;
}

/* Returns false after filling @response with an error. */
static bool query_side(struct api_context *context, struct store_view *view, struct diff *diff,
		       struct side *side, struct http_response *response)
{
	const char *name = side == &diff->base ? "the base: " : "";
	scoped(tree_freep) struct tree *tree = NULL;
	int r = answer_query(context, view, &side->parameters.profile, &tree, &side->stats,
			     side->message);

	if (side == &diff->after)
		answer_headers(response, profile_event(&side->parameters.profile), &side->stats);
	if (r > 0 && keep_functions(diff, side, tree) < 0)
		answer_no_room(context, diff, response);
	else if (r == -ENOBUFS)
		answer_refuse_memory(response, side->message);
	else if (r < 0)
		http_response_error(response, r == -EINVAL ? 400 : 500, "%s%s", name,
				    side->message);
	else if (r == 0)
		http_response_error(response, 404, "%s%s", name, side->message);
	return response->status == 200;
}

/* Seconds that agents covered; those of the range if that is unknown. */
static double seconds_of(const struct side *side)
{
	const struct time_range *range = &side->parameters.range;

	if (side->stats.covered_s > 0)
		return (double)side->stats.covered_s;
	return (double)MAX(range->until_wall_ns - range->since_wall_ns, (uint64_t)1) /
	       (double)NSEC_PER_SEC;
}

static void write_side(struct json_writer *json, const char *key, const struct side *side)
{
	const struct profile_request *profile = &side->parameters.profile;

	json_key(json, key);
	json_object_begin(json);
	json_key(json, "service");
	if (profile->service)
		json_text(json, profile->service);
	else
		json_null_value(json);
	json_key_text(json, "filter", profile->tag_filter ? profile->tag_filter : "");
	json_key_uint(json, "since", side->parameters.range.since_wall_ns / NSEC_PER_SEC);
	json_key_uint(json, "until", side->parameters.range.until_wall_ns / NSEC_PER_SEC);
	json_key_uint(json, "total", answer_value(profile_event(profile), side->whole));
	json_key_uint(json, "covered_s", side->stats.covered_s);
	answer_samples(json, &side->stats);
	json_key_text(json, "message", side->message);
	json_object_end(json);
}

static void write_row(struct json_writer *json, const struct diff *diff,
		      const struct top_diff_row *row)
{
	const struct event_type_info *event = profile_event(&diff->after.parameters.profile);
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
	answer_share(json, "base_self", row->base_self, diff->base.whole, &diff->base.stats);
	answer_share(json, "self", row->self, diff->after.whole, &diff->after.stats);
	json_object_end(json);
}

static void write_answer(const struct diff *diff, const struct top_diff_row *rows, size_t count,
			 struct http_response *response)
{
	const struct event_type_info *event = profile_event(&diff->after.parameters.profile);
	struct json_writer json;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key_text(&json, "event", event->name);
	json_key_text(&json, "unit", answer_unit_name(event));
	json_key_text(&json, "mode", top_diff_mode_name(diff->mode));
	json_key_text(&json, "sort", diff->by_total ? "total" : "self");
	write_side(&json, "base", &diff->base);
	write_side(&json, "after", &diff->after);
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
			  seconds_of(&diff->base) },
		.after = { diff->after.rows, diff->after.n_rows, diff->after.whole,
			   seconds_of(&diff->after) },
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
	char message[PARAMETERS_MESSAGE_SIZE] = "";
	int r;

	diff->refused = memory_budget_refused(context->memory);
	if (!read_options(request, response, diff) ||
	    !answer_open_view(context, request, response, &view))
		return;
	r = profile_parameters_parse(context, view, request, &diff->after.parameters, message);
	if (r == 0)
		r = base_selection_parse(context, view, request, diff->arena,
					 &diff->after.parameters, &diff->base.parameters, message);
	if (r < 0 && answer_refused_memory(context, r, diff->refused, response))
		return;
	if (r < 0) {
		http_response_error(response, r == -EINVAL ? 400 : 500, "%s",
				    message[0] ? message : strerror(-r));
		return;
	}
	if (query_side(context, view, diff, &diff->after, response) &&
	    query_side(context, view, diff, &diff->base, response))
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
