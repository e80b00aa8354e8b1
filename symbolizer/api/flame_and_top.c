/* SPDX-License-Identifier: Apache-2.0 */

/*
 * GET /v1/flame and GET /v1/top: the profile of a selection as a tree, or as a list of functions.
 */

#include <stdlib.h>
#include <string.h>

#include "symbolizer/api/answer.h"
#include "symbolizer/api/profile_parameters.h"
#include "symbolizer/query/top.h"

#define TOP_DEFAULT_COUNT 50
#define TOP_MAX_COUNT     100000

/* Limit for the rows of /v1/top: 32 bytes per function; a tree has at most eight million nodes. */
#define TOP_ARENA_BYTES (512 * MIB)

struct selected {
	struct profile_parameters parameters;
	struct profile_stats stats;
	struct tree *tree; /* NULL: no samples; message says why */
	char message[PROFILE_MESSAGE_SIZE];
};

/* Reads callers_of and callees_of. Returns false after filling @response with an error. */
static bool read_side(const struct http_request *request, struct http_response *response,
		      struct profile_request *profile)
{
	profile->callers_of = http_request_parameter(request, "callers_of");
	profile->callees_of = http_request_parameter(request, "callees_of");
	if (!profile->callers_of || !profile->callees_of)
		return true;
	http_response_error(response, 400,
			    "callers_of, callees_of: ask for one of both: an answer is one tree");
	return false;
}

/* Returns false after filling @response with an error. */
static bool select_profile(struct api_context *context, const struct http_request *request,
			   struct http_response *response, struct selected *selected)
{
	scoped(store_view_closep) struct store_view *view = NULL;
	int r;

	if (!answer_open_view(context, request, response, &view) ||
	    !profile_parameters_read(context, view, request, response, &selected->parameters) ||
	    !read_side(request, response, &selected->parameters.profile))
		return false;
	r = answer_query(context, view, &selected->parameters.profile, &selected->tree,
			 &selected->stats, selected->message);
	answer_headers(response, profile_event(&selected->parameters.profile), &selected->stats);
	if (r < 0)
		answer_query_error(response, r, selected->message);
	return r >= 0;
}

/* Writes the members that both answers have in addition to the result. */
static void write_rest(struct json_writer *json, const struct selected *selected)
{
	const struct profile_request *profile = &selected->parameters.profile;

	json_key_text(json, "event", profile_event(profile)->name);
	json_key_text(json, "unit", answer_unit_name(profile_event(profile)));
	json_key_uint(json, "since", selected->parameters.range.since_wall_ns / NSEC_PER_SEC);
	json_key_uint(json, "until", selected->parameters.range.until_wall_ns / NSEC_PER_SEC);
	json_key_text(json, "message", selected->message);
	json_key(json, "stats");
	answer_stats(json, profile_event(profile), &selected->stats);
	json_object_end(json);
}

static void write_flame(const struct selected *selected, bool columns,
			struct http_response *response)
{
	struct json_writer json;
	int r;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key(&json, "result");
	r = answer_tree(&json, profile_event(&selected->parameters.profile), columns,
			selected->tree);
	if (r < 0) {
		http_response_error(response, 500, "cannot write the answer: %s", strerror(-r));
		return;
	}
	write_rest(&json, selected);
}

void api_flame(struct api_context *context, const struct http_request *request,
	       struct http_response *response)
{
	const char *format = http_request_parameter(request, "format");
	bool nodes = format && strcmp(format, "nodes") == 0;
	struct selected selected = {};

	if (format && !nodes && strcmp(format, "columns") != 0) {
		http_response_error(response, 400, "format: '%.40s' is neither columns nor nodes",
				    format);
		return;
	}
	if (select_profile(context, request, response, &selected))
		write_flame(&selected, !nodes, response);
	(void)tree_free(selected.tree);
}

static void write_rows(struct json_writer *json, const struct top_row *rows, size_t count,
		       const struct selected *selected)
{
	const struct event_type_info *event = profile_event(&selected->parameters.profile);
	uint32_t n_nodes;
	const uint64_t whole = tree_nodes(selected->tree, &n_nodes)[0].total;

	for (size_t i = 0; i < count; i++) {
		json_object_begin(json);
		json_key_text(json, "function", rows[i].label);
		json_key(json, "type");
		json_text_sized(json, &rows[i].type, 1);
		json_key_uint(json, "self_value", answer_value(event, rows[i].self));
		json_key_uint(json, "total_value", answer_value(event, rows[i].total));
		answer_share(json, "self", rows[i].self, whole, &selected->stats);
		answer_share(json, "total", rows[i].total, whole, &selected->stats);
		json_object_end(json);
	}
}

/*
 * Without @sort, functions are sorted by self value. Processes of whole hosts are sorted by total,
 * because the self value of a process covers its main thread only.
 */
static enum top_order order_of(const struct tree *tree, const char *sort)
{
	if (sort)
		return strcmp(sort, "total") == 0 ? TOP_BY_TOTAL : TOP_BY_SELF;
	return top_is_of_hosts(tree) ? TOP_BY_TOTAL : TOP_BY_SELF;
}

static void write_top(const struct selected *selected, size_t limit, const char *sort,
		      struct http_response *response)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct top_row *rows = NULL;
	struct json_writer json;
	size_t count = 0;
	int r;

	r = arena_new(TOP_ARENA_BYTES, &arena);
	if (r == 0 && selected->tree)
		r = top_make(selected->tree, order_of(selected->tree, sort), arena, &rows, &count);
	if (r < 0) {
		http_response_error(response, 500, "cannot write the answer: %s", strerror(-r));
		return;
	}
	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key(&json, "functions");
	json_array_begin(&json);
	if (rows)
		write_rows(&json, rows, MIN(count, limit), selected);
	json_array_end(&json);
	answer_samples(&json, &selected->stats);
	write_rest(&json, selected);
}

void api_top(struct api_context *context, const struct http_request *request,
	     struct http_response *response)
{
	const char *sort = http_request_parameter(request, "sort");
	struct selected selected = {};
	int64_t limit;

	if (sort && strcmp(sort, "total") != 0 && strcmp(sort, "self") != 0) {
		http_response_error(response, 400, "sort: '%.40s' is neither self nor total", sort);
		return;
	}
	if (parameter_limit(request, response, TOP_MAX_COUNT, TOP_DEFAULT_COUNT, &limit) &&
	    select_profile(context, request, response, &selected))
		write_top(&selected, (size_t)limit, sort, response);
	(void)tree_free(selected.tree);
}
