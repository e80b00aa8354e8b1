/* SPDX-License-Identifier: Apache-2.0 */

/*
 * GET /v1/timeline and GET /v1/heatmap: the values of a selection in each step of a time range. A
 * heatmap has steps of some milliseconds, one row for each second.
 */

#include "symbolizer/query/timeline.h"

#include <stdio.h>
#include <string.h>

#include "common/limits.h"
#include "symbolizer/api/answer.h"
#include "symbolizer/api/losses_answer.h"
#include "symbolizer/api/profile_parameters.h"

#define SLOTS_PER_SECOND (NSEC_PER_SEC / SLOT_NS)
#define SLOT_MS          (SLOT_NS / NSEC_PER_MSEC)

/* Largest number of steps of a timeline. A screen has fewer columns. */
#define TIMELINE_MAX_STEPS 10000

/* Largest number of steps if the request has no parameter `step`. */
#define TIMELINE_DEFAULT_STEPS 200

#define TIMELINE_DEFAULT_GROUPS 20
#define TIMELINE_MAX_GROUPS     1000

#define HEATMAP_DEFAULT_LAST_NS (120 * NSEC_PER_SEC)
#define HEATMAP_DEFAULT_CELL_NS (20 * NSEC_PER_MSEC)
#define HEATMAP_MAX_SECONDS     900
#define HEATMAP_LONGEST_CELL_NS (500 * NSEC_PER_MSEC)

/* Memory for a million series with their processes and labels, and for the values. */
#define TIMELINE_ARENA_BYTES (768 * MIB)

struct asked {
	struct profile_parameters parameters;
	struct timeline_request request;
	int64_t max_groups;
	const char *tag;
	struct timeline timeline;
	char message[PROFILE_MESSAGE_SIZE];
};

/* Returns false after filling @response with an error. */
static bool run(struct api_context *context, struct store_view *view,
		const struct http_request *request, struct arena *arena,
		struct http_response *response, struct asked *asked)
{
	const uint64_t refused = memory_budget_refused(context->memory);
	int r;

	asked->parameters.profile.now_ns = clock_wall_ns(context->clock);
	asked->request.profile = &asked->parameters.profile;
	r = timeline_query(view, &asked->request, arena, &asked->timeline, asked->message);
	return answer_sums(context, request, response, r, refused, asked->message);
}

static void refuse_steps(struct http_response *response, uint64_t n_steps, uint64_t max)
{
	http_response_error(response, 400,
			    "the range has %llu steps, at most %llu are possible: ask for a "
			    "longer step or a shorter range",
			    (unsigned long long)n_steps, (unsigned long long)max);
}

/*
 * Parses the parameter @name, a duration that must be a multiple of a slot. Without the parameter,
 * *ret_ns is not changed. Returns false after filling @response with an error.
 */
static bool read_step(const struct http_request *request, const char *name, uint64_t *ret_ns,
		      struct http_response *response)
{
	const char *text = http_request_parameter(request, name);

	if (!text || (duration_parse(text, ret_ns) == 0 && *ret_ns % SLOT_NS == 0))
		return true;
	http_response_error(response, 400,
			    "%s: '%.40s' is no multiple of %u ms; write it as 500ms, 15s or 1h",
			    name, text, (unsigned int)SLOT_MS);
	return false;
}

/* The shortest round duration that divides the range into about TIMELINE_DEFAULT_STEPS or fewer. */
static uint64_t default_step_ns(const struct time_range *range)
{
	static const unsigned int seconds[] = { 1,   2,   5,   10,   15,   30,    60,
						120, 300, 600, 1800, 3600, 10800, 21600 };
	uint64_t length_ns = range->until_wall_ns - range->since_wall_ns;

	for (size_t i = 0; i < ARRAY_SIZE(seconds); i++)
		if (length_ns / (seconds[i] * NSEC_PER_SEC) <= TIMELINE_DEFAULT_STEPS)
			return seconds[i] * NSEC_PER_SEC;
	return 24 * 3600 * NSEC_PER_SEC;
}

/* Begins the range at a multiple of the step, so that the steps of successive requests agree. */
static void set_steps(struct asked *asked, uint64_t step_ns)
{
	struct profile_request *profile = &asked->parameters.profile;

	asked->request.step_slots = step_ns / SLOT_NS;
	profile->from_slot -= profile->from_slot % asked->request.step_slots;
}

static uint64_t count_steps(const struct asked *asked)
{
	const struct profile_request *profile = &asked->parameters.profile;
	uint64_t step = asked->request.step_slots;

	return (profile->to_slot - profile->from_slot + step - 1) / step;
}

static bool read_timeline(struct api_context *context, struct store_view *view,
			  const struct http_request *request, struct http_response *response,
			  struct asked *asked)
{
	uint64_t step_ns;

	if (!profile_parameters_read(context, view, request, response, &asked->parameters) ||
	    !parameter_limit(request, response, TIMELINE_MAX_GROUPS, TIMELINE_DEFAULT_GROUPS,
			     &asked->max_groups))
		return false;
	step_ns = default_step_ns(&asked->parameters.range);
	if (!read_step(request, "step", &step_ns, response))
		return false;
	set_steps(asked, step_ns);
	if (count_steps(asked) > TIMELINE_MAX_STEPS) {
		refuse_steps(response, count_steps(asked), TIMELINE_MAX_STEPS);
		return false;
	}
	asked->tag = asked->parameters.profile.group_by;
	asked->request.tags = &asked->tag;
	asked->request.n_tags = asked->tag && asked->tag[0] ? 1 : 0;
	asked->request.max_groups = (size_t)asked->max_groups;
	return true;
}

static void write_value(struct json_writer *json, const struct asked *asked,
			const struct timeline_row *row, size_t step)
{
	if (row->has_value[step])
		json_uint(json, answer_value(profile_event(&asked->parameters.profile),
					     row->values[step]));
	else
		json_null_value(json);
}

static void write_row(struct json_writer *json, const struct asked *asked,
		      const struct timeline_row *row)
{
	json_key_uint(json, "total",
		      answer_value(profile_event(&asked->parameters.profile), row->total));
	json_key(json, "values");
	json_array_begin(json);
	for (size_t i = 0; i < asked->timeline.n_steps; i++)
		write_value(json, asked, row, i);
	json_array_end(json);
}

static void write_groups(struct json_writer *json, const struct asked *asked)
{
	json_key(json, "groups");
	json_array_begin(json);
	for (size_t i = 0; i < asked->timeline.n_groups; i++) {
		const struct timeline_row *row = &asked->timeline.groups[i];

		json_object_begin(json);
		json_key(json, "name");
		if (row->names[0])
			json_text(json, row->names[0]);
		else
			json_null_value(json);
		write_row(json, asked, row);
		json_object_end(json);
	}
	json_array_end(json);
	json_key_uint(json, "count", asked->timeline.n_all_groups);
}

static void write_rest(struct json_writer *json, const struct asked *asked)
{
	const struct event_type_info *event = profile_event(&asked->parameters.profile);

	json_key_text(json, "event", event->name);
	json_key_text(json, "unit", answer_unit_name(event));
	json_key_uint(json, "until", asked->parameters.range.until_wall_ns / NSEC_PER_SEC);
	json_key_text(json, "message", asked->message);
	json_key(json, "losses");
	losses_answer(json, &asked->timeline.losses);
}

static void write_timeline(const struct asked *asked, struct http_response *response)
{
	const struct timeline *timeline = &asked->timeline;
	struct json_writer json;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key(&json, "since");
	json_double(&json, (double)timeline->from_slot / SLOTS_PER_SECOND);
	json_key_uint(&json, "step_ms", timeline->step_slots * SLOT_MS);
	write_row(&json, asked, &timeline->all);
	if (asked->request.n_tags > 0)
		write_groups(&json, asked);
	write_rest(&json, asked);
	json_object_end(&json);
	losses_answer_headers(response, &timeline->losses);
}

void api_timeline(struct api_context *context, const struct http_request *request,
		  struct http_response *response)
{
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct asked asked = {};

	if (!answer_open_view(context, request, response, &view) ||
	    !read_timeline(context, view, request, response, &asked))
		return;
	if (arena_new_in(TIMELINE_ARENA_BYTES, context->memory, &arena) < 0)
		http_response_error(response, 500, "out of memory");
	else if (run(context, view, request, arena, response, &asked))
		write_timeline(&asked, response);
}

/*
 * Reads the parameters of a heatmap. The range is the last two minutes if the request has none, and
 * is extended to whole seconds.
 */
static bool read_heatmap(struct api_context *context, struct store_view *view,
			 const struct http_request *request, struct http_response *response,
			 struct asked *asked)
{
	struct profile_request *profile = &asked->parameters.profile;
	struct time_range *range = &asked->parameters.range;
	char message[PARAMETERS_MESSAGE_SIZE];
	uint64_t cell_ns = HEATMAP_DEFAULT_CELL_NS, n_seconds;

	if (!profile_parameters_read(context, view, request, response, &asked->parameters))
		return false;
	if (time_range_parse(request, context->clock, HEATMAP_DEFAULT_LAST_NS, range, message) <
	    0) {
		http_response_error(response, 400, "%s", message);
		return false;
	}
	if (!read_step(request, "cell", &cell_ns, response))
		return false;
	if (NSEC_PER_SEC % cell_ns != 0 || cell_ns > HEATMAP_LONGEST_CELL_NS) {
		http_response_error(response, 400,
				    "cell: a second must be a multiple of it, such as 10ms, 20ms, "
				    "50ms, 100ms, 200ms, 250ms or 500ms");
		return false;
	}
	asked->request.step_slots = cell_ns / SLOT_NS;
	profile->from_slot = range->since_wall_ns / NSEC_PER_SEC * SLOTS_PER_SECOND;
	n_seconds = (range->until_wall_ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC -
		    range->since_wall_ns / NSEC_PER_SEC;
	profile->to_slot = profile->from_slot + n_seconds * SLOTS_PER_SECOND;
	if (n_seconds <= HEATMAP_MAX_SECONDS)
		return true;
	http_response_error(response, 400,
			    "a heatmap has at most %d s, not %llu s: ask for a shorter range",
			    HEATMAP_MAX_SECONDS, (unsigned long long)n_seconds);
	return false;
}

static void write_heatmap(const struct asked *asked, struct http_response *response)
{
	const struct timeline *timeline = &asked->timeline;
	const size_t per_second = (size_t)(SLOTS_PER_SECOND / timeline->step_slots);
	struct json_writer json;
	uint64_t largest = 0;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key_uint(&json, "since", timeline->from_slot / SLOTS_PER_SECOND);
	json_key_uint(&json, "cell_ms", timeline->step_slots * SLOT_MS);
	json_key(&json, "seconds");
	json_array_begin(&json);
	for (size_t i = 0; i < timeline->n_steps; i += per_second) {
		json_array_begin(&json);
		for (size_t k = i; k < i + per_second; k++) {
			write_value(&json, asked, &timeline->all, k);
			largest = MAX(largest, timeline->all.values[k]);
		}
		json_array_end(&json);
	}
	json_array_end(&json);
	json_key_uint(&json, "max",
		      answer_value(profile_event(&asked->parameters.profile), largest));
	json_key_uint(&json, "total",
		      answer_value(profile_event(&asked->parameters.profile), timeline->all.total));
	write_rest(&json, asked);
	json_object_end(&json);
	losses_answer_headers(response, &timeline->losses);
}

void api_heatmap(struct api_context *context, const struct http_request *request,
		 struct http_response *response)
{
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct asked asked = {};

	if (!answer_open_view(context, request, response, &view) ||
	    !read_heatmap(context, view, request, response, &asked))
		return;
	if (arena_new_in(TIMELINE_ARENA_BYTES, context->memory, &arena) < 0)
		http_response_error(response, 500, "out of memory");
	else if (run(context, view, request, arena, response, &asked))
		write_heatmap(&asked, response);
}
