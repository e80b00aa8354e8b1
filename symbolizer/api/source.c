/* SPDX-License-Identifier: Apache-2.0 */

/* GET /v1/source: the values of a function by source line. */

#include <string.h>

#include "symbolizer/api/answer.h"
#include "symbolizer/api/profile_parameters.h"
#include "symbolizer/query/source_lines.h"

/* For the texts of SOURCE_LINES_MAX lines. */
#define ARENA_BYTES (64 * MIB)

struct source_query {
	const char *function;
	struct profile_parameters parameters;
	struct arena *arena;
	struct source_lines *lines;
	struct profile_stats stats;
	char message[PROFILE_MESSAGE_SIZE];
};

static void source_query_release(struct source_query *query)
{
	(void)source_lines_free(query->lines);
	(void)arena_free(query->arena);
}

/* Returns false after filling @response with an error. */
static bool read_request(struct api_context *context, struct store_view *view,
			 const struct http_request *request, struct http_response *response,
			 struct source_query *query)
{
	query->function = http_request_parameter(request, "function");
	if (!query->function || !query->function[0]) {
		http_response_error(response, 400, "function is missing: take a name from /v1/top");
		return false;
	}
	return profile_parameters_read(context, view, request, response, &query->parameters);
}

static int make_lines(struct source_query *query)
{
	int r = arena_new(ARENA_BYTES, &query->arena);

	return r < 0 ? r : source_lines_new(query->function, query->arena, &query->lines);
}

static void write_line(struct json_writer *json, const struct source_query *query,
		       const struct source_line *line)
{
	const struct event_type_info *event = profile_event(&query->parameters.profile);

	json_object_begin(json);
	json_key_uint(json, "line", line->line);
	json_key_uint(json, "self_value", answer_value(event, line->self));
	json_key_uint(json, "total_value", answer_value(event, line->total));
	json_object_end(json);
}

static void begin_file(struct json_writer *json, const struct source_line *line)
{
	char build_id[EXECUTABLE_ID_TEXT_SIZE] = "";

	if (line->executable.kind != EXECUTABLE_ID_NONE)
		executable_id_format(&line->executable, build_id);
	json_object_begin(json);
	json_key_text(json, "file", line->file);
	json_key_text(json, "function", line->function);
	json_key_text(json, "build_id", build_id);
	json_key(json, "lines");
	json_array_begin(json);
}

static bool is_in_same_file(const struct source_line *a, const struct source_line *b)
{
	return strcmp(a->file, b->file) == 0 && strcmp(a->function, b->function) == 0;
}

static void write_files(struct json_writer *json, const struct source_query *query)
{
	size_t count;
	const struct source_line *lines = source_lines_sorted(query->lines, &count);

	json_key(json, "files");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || !is_in_same_file(&lines[i - 1], &lines[i]))
			begin_file(json, &lines[i]);
		write_line(json, query, &lines[i]);
		if (i + 1 == count || !is_in_same_file(&lines[i], &lines[i + 1])) {
			json_array_end(json);
			json_object_end(json);
		}
	}
	json_array_end(json);
}

static void write_answer(const struct source_query *query, struct http_response *response)
{
	const struct event_type_info *event = profile_event(&query->parameters.profile);
	struct json_writer json;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key_text(&json, "function", query->function);
	json_key_uint(&json, "self_value", answer_value(event, source_lines_self(query->lines)));
	json_key_uint(&json, "total_value", answer_value(event, source_lines_total(query->lines)));
	write_files(&json, query);
	json_key_text(&json, "event", event->name);
	json_key_text(&json, "unit", answer_unit_name(event));
	json_key_uint(&json, "since", query->parameters.range.since_wall_ns / NSEC_PER_SEC);
	json_key_uint(&json, "until", query->parameters.range.until_wall_ns / NSEC_PER_SEC);
	json_key_text(&json, "message", query->message);
	json_key(&json, "stats");
	answer_stats(&json, event, &query->stats);
	json_object_end(&json);
}

void api_source(struct api_context *context, const struct http_request *request,
		struct http_response *response)
{
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(source_query_release) struct source_query query = {};
	struct stack_visitor visitor;
	int r;

	if (!answer_open_view(context, request, response, &view) ||
	    !read_request(context, view, request, response, &query))
		return;
	r = make_lines(&query);
	if (r == 0) {
		visitor = source_lines_visitor(query.lines);
		r = answer_stacks(context, view, &query.parameters.profile, &visitor, &query.stats,
				  query.message);
	}
	if (r == -EFBIG) {
		http_response_error(response, 400, "function: '%.100s' has more than %d lines",
				    query.function, SOURCE_LINES_MAX);
		return;
	}
	answer_headers(response, profile_event(&query.parameters.profile), &query.stats);
	if (r < 0)
		answer_query_error(response, r, query.message);
	else if (r == 0)
		http_response_error(response, 404, "%s", query.message);
	else if (source_lines_total(query.lines) == 0)
		http_response_error(response, 404,
				    "function: no stack of the selection has '%.100s'; take a name "
				    "from /v1/top",
				    query.function);
	else
		write_answer(&query, response);
}
