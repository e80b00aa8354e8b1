/* SPDX-License-Identifier: Apache-2.0 */

/*
 * GET /v1/processes and GET /v1/groups: the sums of a selection per process, or per value of a tag.
 */

#include "symbolizer/query/group_sums.h"

#include "common/limits.h"
#include "symbolizer/api/answer.h"
#include "symbolizer/api/losses_answer.h"
#include "symbolizer/api/profile_parameters.h"

#define SUMS_DEFAULT_COUNT 50
#define SUMS_MAX_COUNT     100000

/* Memory for a million series with their processes and labels. */
#define SUMS_ARENA_BYTES (512 * MIB)

struct summary {
	struct profile_parameters parameters;
	int64_t limit;
	struct group_sums sums;
	char message[PROFILE_MESSAGE_SIZE];
};

/* Returns false after filling @response with an error. */
static bool sum(struct api_context *context, struct store_view *view,
		const struct http_request *request, struct arena *arena,
		struct http_response *response, struct summary *summary)
{
	struct profile_request *profile = &summary->parameters.profile;
	const uint64_t refused = memory_budget_refused(context->memory);
	int r;

	profile->now_ns = clock_wall_ns(context->clock);
	r = group_sums_query(view, profile, arena, &summary->sums, summary->message);
	return answer_sums(context, request, response, r, refused, summary->message);
}

static bool read_parameters(struct api_context *context, struct store_view *view,
			    const struct http_request *request, struct http_response *response,
			    struct summary *summary)
{
	return profile_parameters_read(context, view, request, response, &summary->parameters) &&
	       parameter_limit(request, response, SUMS_MAX_COUNT, SUMS_DEFAULT_COUNT,
			       &summary->limit);
}

static void write_common(struct json_writer *json, const struct group_sum *row,
			 const struct event_type_info *event)
{
	json_key_uint(json, "threads", row->n_threads);
	json_key_uint(json, "value", answer_value(event, row->value));
	json_key_uint(json, "last_time", row->last_slot / (NSEC_PER_SEC / SLOT_NS));
}

static void write_process(struct json_writer *json, const struct group_sum *row,
			  const struct event_type_info *event)
{
	const struct store_process *process = row->process;

	json_object_begin(json);
	json_key_uint(json, "pid", process->pid);
	json_key_text(json, "name", process->name);
	json_key_text(json, "host", process->host->name);
	json_key_text(json, "agent_id", process->host->agent_id);
	json_key_text(json, "executable", process->executable_path ? process->executable_path : "");
	write_common(json, row, event);
	json_key(json, "labels");
	json_object_begin(json);
	for (uint32_t i = 0; i < process->n_labels; i++)
		json_key_text(json, process->labels[i].name, process->labels[i].value);
	json_object_end(json);
	json_object_end(json);
}

static void write_group(struct json_writer *json, const struct group_sum *row,
			const struct event_type_info *event)
{
	json_object_begin(json);
	json_key(json, "name");
	if (row->tag)
		json_text(json, row->tag);
	else
		json_null_value(json);
	json_key_uint(json, "hosts", row->n_hosts);
	json_key_uint(json, "processes", row->n_processes);
	write_common(json, row, event);
	json_object_end(json);
}

typedef void (*row_writer)(struct json_writer *json, const struct group_sum *row,
			   const struct event_type_info *event);

static void write_answer(const struct summary *summary, const char *name, row_writer write_row,
			 struct http_response *response)
{
	const struct profile_request *profile = &summary->parameters.profile;
	struct json_writer json;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key(&json, name);
	json_array_begin(&json);
	for (size_t i = 0; i < MIN(summary->sums.count, (size_t)summary->limit); i++)
		write_row(&json, &summary->sums.rows[i], profile_event(profile));
	json_array_end(&json);
	json_key_uint(&json, "count", summary->sums.count);
	json_key_uint(&json, "total", answer_value(profile_event(profile), summary->sums.total));
	json_key_text(&json, "event", profile_event(profile)->name);
	json_key_text(&json, "unit", answer_unit_name(profile_event(profile)));
	json_key_uint(&json, "since", summary->parameters.range.since_wall_ns / NSEC_PER_SEC);
	json_key_uint(&json, "until", summary->parameters.range.until_wall_ns / NSEC_PER_SEC);
	json_key_text(&json, "message", summary->message);
	json_key(&json, "losses");
	losses_answer(&json, &summary->sums.losses);
	json_object_end(&json);
	losses_answer_headers(response, &summary->sums.losses);
}

static void answer(struct api_context *context, struct store_view *view,
		   const struct http_request *request, struct summary *summary, const char *name,
		   row_writer write_row, struct http_response *response)
{
	scoped(arena_freep) struct arena *arena = NULL;

	if (arena_new_in(SUMS_ARENA_BYTES, context->memory, &arena) < 0)
		http_response_error(response, 500, "out of memory");
	else if (sum(context, view, request, arena, response, summary))
		write_answer(summary, name, write_row, response);
}

void api_processes(struct api_context *context, const struct http_request *request,
		   struct http_response *response)
{
	scoped(store_view_closep) struct store_view *view = NULL;
	struct summary summary = {};

	if (!answer_open_view(context, request, response, &view) ||
	    !read_parameters(context, view, request, response, &summary))
		return;
	summary.parameters.profile.group_by = NULL;
	answer(context, view, request, &summary, "processes", write_process, response);
}

void api_groups(struct api_context *context, const struct http_request *request,
		struct http_response *response)
{
	scoped(store_view_closep) struct store_view *view = NULL;
	struct summary summary = {};

	if (!answer_open_view(context, request, response, &view) ||
	    !read_parameters(context, view, request, response, &summary))
		return;
	if (!summary.parameters.profile.group_by) {
		http_response_error(response, 400,
				    "group_by is missing: a tag, such as host or thread");
		return;
	}
	answer(context, view, request, &summary, "groups", write_group, response);
}
