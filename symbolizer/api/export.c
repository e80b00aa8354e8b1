/* SPDX-License-Identifier: Apache-2.0 */

/*
 * GET /v1/export: the profile of a selection as a file for other programs. The file is written to
 * memory: its size is known only at its end, and an error in the middle needs another status.
 */

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "symbolizer/api/answer.h"
#include "symbolizer/api/profile_parameters.h"
#include "symbolizer/export/export.h"

#define FILE_NAME_SIZE 100

struct export
{
	const struct export_format *format;
	struct profile_parameters parameters;
	struct export_selection selection;
	struct profile_stats stats;
	char message[PROFILE_MESSAGE_SIZE];
};

/* Returns false after filling @response with an error. */
static bool read_format(const struct http_request *request, struct http_response *response,
			struct export *export)
{
	const char *name = http_request_parameter(request, "format");

	export->format = name ? export_format_find(name) : NULL;
	if (!name)
		http_response_error(response, 400, "format is missing; there are %s",
				    export_format_names);
	else if (!export->format)
		http_response_error(response, 400, "format: '%.40s' is unknown; there are %s", name,
				    export_format_names);
	return export->format != NULL;
}

static void set_selection(struct export *export)
{
	const struct profile_request *profile = &export->parameters.profile;

	export->selection = (struct export_selection){
		.service = profile->service,
		.event = profile_event(profile),
		.filter = profile->tag_filter,
		.since_wall_ns = export->parameters.range.since_wall_ns,
		.until_wall_ns = export->parameters.range.until_wall_ns,
	};
}

static int write_tree(struct api_context *context, struct store_view *view, struct export *export,
		      struct bytes *out)
{
	struct profile_request request = export->parameters.profile;
	const struct export_writer *writer = export->format->writer;
	scoped(tree_freep) struct tree *tree = NULL;
	const struct export_result result = { .message = export->message, .stats = &export->stats };
	int r;

	if (writer->rounded)
		request.value_unit = event_unit_divisor(profile_event(&request)->unit);
	r = answer_query_in(context, view, &request, &tree, &export->stats, export->message);
	if (r <= 0)
		return r;
	answer_describe_loss(&export->stats, request.max_nodes, export->message);
	r = writer->write_tree(&(struct export_tree){ &export->selection, &result, tree }, out);
	return r < 0 ? r : 1;
}

static int write_stacks(struct api_context *context, struct store_view *view, struct export *export,
			struct bytes *out)
{
	const struct export_stack_operations *stacks = export->format->writer->stacks;
	struct stack_visitor visitor = { .visit = stacks->add };
	struct export_result result = { .message = export->message, .stats = &export->stats };
	struct profile_request request = export->parameters.profile;
	int r;

	export_divide(export->format->writer, &request);
	r = stacks->begin(&export->selection, out, &visitor.arg);
	if (r < 0)
		return r;
	r = answer_stacks(context, view, &request, &visitor, &export->stats, export->message);
	if (r > 0) {
		result.period_ns = export->stats.period_ns;
		r = stacks->end(visitor.arg, &result);
		r = r < 0 ? r : 1;
	}
	stacks->free(visitor.arg);
	return r;
}

/* Appends the characters of @text that no file system and no shell gives a meaning. */
static void append_part(char name[FILE_NAME_SIZE], const char *text)
{
	static const char kept[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789._-";
	size_t used = strlen(name);

	for (size_t i = 0; text[i] && i < 40 && used + 2 < FILE_NAME_SIZE; i++)
		name[used++] = strchr(kept, text[i]) ? text[i] : '_';
	name[used] = '\0';
}

/* Sets the name under which browsers and curl -J save the answer: nginx-on-cpu-20240221T031200Z. */
static void set_file_name(struct http_response *response, const struct export *export)
{
	const time_t since = (time_t)(export->selection.since_wall_ns / NSEC_PER_SEC);
	char name[FILE_NAME_SIZE] = "hearth-";
	char when[32] = "";
	struct tm utc;

	if (export->selection.service) {
		append_part(name, export->selection.service);
		append_part(name, "-");
	}
	append_part(name, export->selection.event->name);
	if (gmtime_r(&since, &utc))
		(void)strftime(when, sizeof(when), "-%Y%m%dT%H%M%SZ.", &utc);
	append_part(name, when);
	append_part(name, export->format->suffix);
	http_response_header(response, "Content-Disposition", "attachment; filename=\"%s\"", name);
}

static void answer_failure(struct api_context *context, struct http_response *response, int error,
			   uint64_t refused, struct export *export)
{
	/* The query has reported its own errors; the writer's have no message. */
	if (error == -ENOMEM && !export->message[0])
		error = answer_memory_error(context, error, refused, export->message);
	if (!export->message[0])
		(void)snprintf(export->message, sizeof(export->message), "%s", strerror(-error));
	if (error == -EFBIG)
		http_response_error(
			response, 400,
			"the file would be larger than %llu MiB or have more than %u "
			"different stacks: choose a shorter time, a service or a filter",
			(unsigned long long)(HTTP_RESPONSE_MAX_BYTES / MIB), PROFILE_MAX_NODES);
	else
		answer_query_error(response, error, export->message);
}

static void write_export(struct api_context *context, struct store_view *view,
			 struct export *export, struct http_response *response)
{
	const uint64_t refused = memory_budget_refused(context->memory);
	int r = export->format->writer->stacks
			? write_stacks(context, view, export, &response->body)
			: write_tree(context, view, export, &response->body);

	if (r < 0) {
		answer_failure(context, response, r, refused, export);
		return;
	}
	answer_headers(response, export->selection.event, &export->stats);
	if (r == 0) {
		http_response_error(response, 404, "%s", export->message);
		return;
	}
	response->content_type = export->format->content_type;
	set_file_name(response, export);
}

void api_export(struct api_context *context, const struct http_request *request,
		struct http_response *response)
{
	scoped(store_view_closep) struct store_view *view = NULL;
	struct export export = {};

	if (!read_format(request, response, &export) ||
	    !answer_open_view(context, request, response, &view) ||
	    !profile_parameters_read(context, view, request, response, &export.parameters))
		return;
	set_selection(&export);
	write_export(context, view, &export, response);
}
