/* SPDX-License-Identifier: Apache-2.0 */

/*
 * GET /v1/unresolved: the files of a selection that have code without function names, each with the
 * reason and the remedy.
 */

#include <string.h>

#include "common/log.h"
#include "symbolizer/api/answer.h"
#include "symbolizer/api/losses_answer.h"
#include "symbolizer/api/profile_parameters.h"
#include "symbolizer/api/remedy_answer.h"
#include "symbolizer/query/unresolved.h"

#define UNRESOLVED_DEFAULT_COUNT 20
#define UNRESOLVED_MAX_COUNT     1000

/* The same limit as for the query of a profile. */
#define UNRESOLVED_ARENA_BYTES GIB

#define TOTAL_NAME "Total"

struct unresolved_answer {
	struct api_context *context;
	struct store_view *view;
	const struct http_request *request;
	struct profile_parameters parameters;
	struct profile_stats stats;
	struct unresolved_files files;
	char message[PROFILE_MESSAGE_SIZE];
};

static const char *file_name(const struct unresolved_file *file)
{
	if (file->path[0])
		return file->path;
	if (file->kernel)
		return "[kernel]";
	return file->executable ? "[unknown file]" : "[no file]";
}

static void write_services(struct json_writer *json, const struct unresolved_file *file)
{
	json_key(json, "services");
	json_array_begin(json);
	for (size_t i = 0; i < file->n_services; i++)
		json_text(json, file->services[i]);
	json_array_end(json);
}

static int write_file(const struct unresolved_answer *answer, const struct unresolved_file *file,
		      struct json_writer *json)
{
	const struct remedy_subject subject = {
		.reason = file->reason,
		.executable = file->executable,
		.path = file->path,
		.kernel = file->kernel,
	};
	uint64_t total = answer->stats.value_total;
	char build_id[EXECUTABLE_ID_TEXT_SIZE] = "";
	struct remedy remedy;
	int r;

	r = remedy_answer_find(answer->context, answer->request, &subject, &remedy);
	if (r < 0)
		return r;
	if (file->executable)
		executable_id_format(&file->executable->identity, build_id);
	json_object_begin(json);
	json_key_text(json, "file", file_name(file));
	json_key_text(json, "build_id", build_id);
	json_key_uint(json, "value",
		      answer_value(profile_event(&answer->parameters.profile), file->value));
	json_key(json, "share");
	json_double(json, total > 0 ? (double)file->value / (double)total : 0);
	json_key_text(json, "reason", unresolved_reason_name(file->reason));
	remedy_answer_members(json, &remedy);
	write_services(json, file);
	json_object_end(json);
	return 0;
}

static int write_answer(const struct unresolved_answer *answer, size_t limit,
			struct http_response *response)
{
	const struct event_type_info *event = profile_event(&answer->parameters.profile);
	struct json_writer json;
	int r = 0;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key_text(&json, "event", event->name);
	json_key_text(&json, "unit", answer_unit_name(event));
	json_key_uint(&json, "since", answer->parameters.range.since_wall_ns / NSEC_PER_SEC);
	json_key_uint(&json, "until", answer->parameters.range.until_wall_ns / NSEC_PER_SEC);
	json_key_text(&json, "message", answer->message);
	json_key_uint(&json, "total", answer_value(event, answer->stats.value_total));
	json_key_uint(&json, "unresolved", answer_value(event, answer->stats.value_unsymbolized));
	json_key_uint(&json, "count", answer->files.count);
	json_key(&json, "files");
	json_array_begin(&json);
	for (size_t i = 0; r == 0 && i < MIN(answer->files.count, limit); i++)
		r = write_file(answer, &answer->files.files[i], &json);
	json_array_end(&json);
	json_key(&json, "losses");
	losses_answer(&json, &answer->stats.losses);
	json_object_end(&json);
	return r;
}

/* "Total" (whole hosts) has no stacks, so it is replaced by all services. */
static void replace_total(struct profile_request *profile)
{
	if (profile->service && strcmp(profile->service, TOTAL_NAME) == 0)
		profile->service = NULL;
	profile->any_services = !profile->service;
	profile->group_by = NULL;
}

static void answer_selection(struct unresolved_answer *answer, size_t limit,
			     struct http_response *response)
{
	scoped(arena_freep) struct arena *arena = NULL;
	int r;

	r = arena_new_in(UNRESOLVED_ARENA_BYTES, answer->context->memory, &arena);
	if (r == 0)
		r = answer_unresolved(answer->context, answer->view, &answer->parameters.profile,
				      arena, &answer->files, &answer->stats, answer->message);
	answer_headers(response, profile_event(&answer->parameters.profile), &answer->stats);
	if (r < 0) {
		answer_query_error(response, r, answer->message);
		return;
	}
	r = write_answer(answer, limit, response);
	if (r < 0) {
		(void)log_error_errno(r, "cannot look up debuginfo of files without names, "
					 "answering with an error: %m");
		http_response_error(response, 500, "cannot look up debuginfo: %s", strerror(-r));
	}
}

void api_unresolved(struct api_context *context, const struct http_request *request,
		    struct http_response *response)
{
	scoped(store_view_closep) struct store_view *view = NULL;
	struct unresolved_answer answer = { .context = context, .request = request };
	int64_t limit;

	if (!answer_open_view(context, request, response, &view))
		return;
	answer.view = view;
	if (!parameter_limit(request, response, UNRESOLVED_MAX_COUNT, UNRESOLVED_DEFAULT_COUNT,
			     &limit) ||
	    !profile_parameters_read(context, view, request, response, &answer.parameters))
		return;
	replace_total(&answer.parameters.profile);
	answer_selection(&answer, (size_t)limit, response);
}
