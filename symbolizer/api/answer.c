/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Headers and JSON are written from the same table of figures, so that they always agree.
 */

#include "symbolizer/api/answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "symbolizer/api/losses_answer.h"
#include "symbolizer/flame/node_list.h"
#include "symbolizer/query/profile_message.h"

enum stat_kind {
	STAT_COUNT,
	STAT_VALUE,
	STAT_TIME,
};

static const struct stat_row {
	size_t offset;
	const char *key;
	const char *header;
	enum stat_kind kind;
} stat_rows[] = {
#define X(field, key, header, kind)                                                                \
	{ offsetof(struct profile_stats, field), key, header, STAT_##kind },
	ANSWER_STATS(X)
#undef X
};

const char *answer_unit_name(const struct event_type_info *event)
{
	return event_unit_divisor(event->unit) > 1 ? "microseconds" : event->unit;
}

/* Memory for the name and the unit of one event type. */
#define EVENT_ARENA_BYTES (64 * KIB)

/* Describes an event type that only the store knows. Returns 1 if found, 0 if not. */
static int find_stored_event(struct store_view *view, const char *name, struct answer_event *room)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct event_type_info found;
	int r;

	r = arena_new(EVENT_ARENA_BYTES, &arena);
	if (r == 0)
		r = store_find_event_type(view, name, arena, &found);
	if (r <= 0)
		return r;
	(void)snprintf(room->name, sizeof(room->name), "%s", found.name);
	(void)snprintf(room->unit, sizeof(room->unit), "%s", found.unit);
	room->info = found;
	room->info.name = room->name;
	room->info.unit = room->unit;
	return 1;
}

int answer_find_event(struct store_view *view, const char *name, struct answer_event *room,
		      struct profile_request *profile, char ret_message[PROFILE_MESSAGE_SIZE])
{
	static const char known[] =
#define X(id, number, name, ...) ", " name
		EVENT_TYPES(X);
#undef X
	int r = 0;

	profile->type = event_type_from_name(name);
	if (profile->type != EVENT_NONE)
		return 0;
	/* A longer name cannot have been stored. */
	if (strlen(name) <= MAX_EVENT_TEXT_BYTES)
		r = find_stored_event(view, name, room);
	if (r < 0)
		(void)snprintf(ret_message, PROFILE_MESSAGE_SIZE, "the sample store failed: %s",
			       strerror(-r));
	if (r == 0)
		(void)snprintf(ret_message, PROFILE_MESSAGE_SIZE,
			       "'%.64s' is no event type; there are %s", name,
			       known + strlen(", "));
	if (r <= 0)
		return r < 0 ? r : -EINVAL;
	profile->type = room->info.type;
	profile->event = &room->info;
	return 0;
}

uint64_t answer_value(const struct event_type_info *event, uint64_t value)
{
	uint64_t divisor = event_unit_divisor(event->unit);

	uint64_t rest = value % divisor;

	/* Rounds half up, as flame/ does for the root of a tree. */
	return value / divisor + (rest >= divisor - rest ? 1 : 0);
}

static uint64_t stat_value(const struct stat_row *row, const struct event_type_info *event,
			   const struct profile_stats *stats)
{
	uint64_t value;

	memcpy(&value, (const char *)stats + row->offset, sizeof(value));
	if (row->kind == STAT_TIME)
		return value / NSEC_PER_USEC;
	return row->kind == STAT_VALUE ? answer_value(event, value) : value;
}

void answer_headers(struct http_response *response, const struct event_type_info *event,
		    const struct profile_stats *stats)
{
	for (size_t i = 0; i < ARRAY_SIZE(stat_rows); i++)
		http_response_header(response, stat_rows[i].header, "%" PRIu64,
				     stat_value(&stat_rows[i], event, stats));
	losses_answer_headers(response, &stats->losses);
}

void answer_describe_loss(const struct profile_stats *stats, uint32_t max_nodes,
			  char text[PROFILE_MESSAGE_SIZE])
{
	size_t used = strlen(text);

	if (stats->n_nodes_pruned > 0)
		(void)snprintf(text + used, PROFILE_MESSAGE_SIZE - used,
			       "%s%" PRIu64 " nodes with the smallest totals were left out to keep "
			       "max_nodes %" PRIu32,
			       used > 0 ? "; " : "", stats->n_nodes_pruned, max_nodes);
	used = strlen(text);
	if (stats->n_stacks_shortened > 0)
		(void)snprintf(text + used, PROFILE_MESSAGE_SIZE - used,
			       "%s%" PRIu64 " stacks are shortened because a tree has at most %u "
			       "nodes: choose a shorter time, a service or a tag_filter",
			       used > 0 ? "; " : "", stats->n_stacks_shortened, PROFILE_MAX_NODES);
}

static void write_cuts(struct json_writer *json, const struct event_type_info *event,
		       const struct profile_stats *stats)
{
	json_key(json, "cut_by_reason");
	json_object_begin(json);
	for (unsigned int i = 0; i < STACK_CUT_END; i++)
		if (stats->value_cut_by[i] > 0)
			json_key_uint(json, i == STACK_CUT_NONE ? "unknown" : stack_cut_name(i),
				      answer_value(event, stats->value_cut_by[i]));
	json_object_end(json);
}

void answer_stats(struct json_writer *json, const struct event_type_info *event,
		  const struct profile_stats *stats)
{
	json_object_begin(json);
	for (size_t i = 0; i < ARRAY_SIZE(stat_rows); i++)
		json_key_uint(json, stat_rows[i].key, stat_value(&stat_rows[i], event, stats));
	json_key_text(json, "unit", answer_unit_name(event));
	write_cuts(json, event, stats);
	json_key(json, "losses");
	losses_answer(json, &stats->losses);
	json_object_end(json);
}

/* Returns whether the leaves of such profiles are object types instead of functions. */
static bool is_memory_type(const struct event_type_info *event)
{
	enum event_type type = event->type;

	return type == EVENT_MEM_ALLOC || type == EVENT_MEM_INUSE || type == EVENT_HBM_ALLOC ||
	       type == EVENT_HBM_INUSE;
}

int answer_tree(struct json_writer *json, const struct event_type_info *event, bool columns,
		const struct tree *tree)
{
	if (!tree) {
		json_null_value(json);
		return 0;
	}
	if (columns)
		return node_columns_write(tree, event_unit_divisor(event->unit),
					  is_memory_type(event), json);
	return node_list_write(tree, event_unit_divisor(event->unit), json);
}

static void describe_failure(int error, char ret_message[PROFILE_MESSAGE_SIZE])
{
	if (error == -ENOMEM || error == -ENOSPC)
		(void)snprintf(ret_message, PROFILE_MESSAGE_SIZE,
			       "the profile needs more memory than one query may have: choose a "
			       "shorter time, a service or a tag_filter");
	else if (!ret_message[0])
		(void)snprintf(ret_message, PROFILE_MESSAGE_SIZE, "the sample store failed: %s",
			       strerror(-error));
}

int answer_memory_error(const struct api_context *context, int error, uint64_t refused,
			char ret_message[PROFILE_MESSAGE_SIZE])
{
	if (error != -ENOMEM || memory_budget_refused(context->memory) == refused)
		return error;
	(void)snprintf(
		ret_message, PROFILE_MESSAGE_SIZE,
		"the queries that run now need more memory than memory_limit allows (%" PRIu64
		" MiB for all queries): try again in a moment, or choose a shorter time, a "
		"service or a tag_filter",
		context->memory->limit_bytes / MIB);
	return -ENOBUFS;
}

void answer_refuse_memory(struct http_response *response, const char *message)
{
	http_response_header(response, "Retry-After", "5");
	http_response_error(response, 503, "%s", message);
}

bool answer_refused_memory(const struct api_context *context, int error, uint64_t refused,
			   struct http_response *response)
{
	char message[PROFILE_MESSAGE_SIZE];

	if (answer_memory_error(context, error, refused, message) != -ENOBUFS)
		return false;
	answer_refuse_memory(response, message);
	return true;
}

bool answer_request_error(struct http_response *response, int error, const char *message)
{
	if (error == -EINVAL)
		http_response_error(response, 400, "%s", message);
	else if (error == -ENOBUFS)
		answer_refuse_memory(response, message);
	else
		return error == -ECANCELED;
	return true;
}

void answer_query_error(struct http_response *response, int error, const char *message)
{
	if (!answer_request_error(response, error, message))
		http_response_error(response, 500, "%s", message);
}

bool answer_sums(struct api_context *context, const struct http_request *request,
		 struct http_response *response, int r, uint64_t refused,
		 char message[PROFILE_MESSAGE_SIZE])
{
	r = answer_memory_error(context, r, refused, message);
	if (r >= 0 || answer_request_error(response, r, message))
		return r >= 0;
	api_count(context, API_METRIC_STORE_ERRORS, 1);
	(void)log_error_errno(r, "cannot sum up '%s', answering with an error: %m", request->path);
	http_response_error(response, 500, "cannot sum up the samples: %s", strerror(-r));
	return false;
}

/* Counts a query that ended with @r. Describes and logs a failure of the server. */
static void count_query(struct api_context *context, const struct profile_request *request,
			const struct profile_stats *stats, int r,
			char message[PROFILE_MESSAGE_SIZE])
{
	api_count(context, API_METRIC_QUERY_ROWS, stats->n_rows);
	api_count(context, API_METRIC_QUERY_VALUE, stats->value_total);
	api_count(context, API_METRIC_QUERY_UNSYMBOLIZED, stats->value_unsymbolized);
	if (r > 0) {
		api_count(context, API_METRIC_QUERIES_OK, 1);
	} else if (r == 0) {
		api_count(context, API_METRIC_QUERIES_EMPTY, 1);
	} else if (r == -EINVAL) {
		api_count(context, API_METRIC_QUERIES_INVALID, 1);
	} else if (r == -ENOBUFS) {
		api_count(context, API_METRIC_QUERIES_NO_MEMORY, 1);
	} else if (r == -ECANCELED) {
		api_count(context, API_METRIC_QUERIES_CANCELED, 1);
	} else {
		api_count(context, API_METRIC_QUERIES_FAILED, 1);
		api_count(context, API_METRIC_STORE_ERRORS, 1);
		describe_failure(r, message);
		(void)log_error_errno(r,
				      "cannot answer a profile query of service '%s', answering "
				      "with an error: %m",
				      request->service ? request->service : "");
	}
}

bool answer_open_view(struct api_context *context, const struct http_request *request,
		      struct http_response *response, struct store_view **ret_view)
{
	int r = api_open_view(context, request, ret_view);

	if (r == 0)
		return true;
	api_count(context, API_METRIC_STORE_ERRORS, 1);
	(void)log_error_errno(r, "cannot read the sample store, answering with an error: %m");
	http_response_error(response, 500, "the sample store failed: %s", strerror(-r));
	return false;
}

int answer_query_in(struct api_context *context, struct store_view *view,
		    const struct profile_request *request, struct tree **ret_tree,
		    struct profile_stats *ret_stats, char ret_message[PROFILE_MESSAGE_SIZE])
{
	const uint64_t refused = memory_budget_refused(context->memory);
	struct profile_request complete = *request;
	int r;

	complete.now_ns = clock_wall_ns(context->clock);
	*ret_stats = (struct profile_stats){};
	ret_message[0] = '\0';
	r = profile_query(view, context->resolver, context->clock, &complete, ret_tree, ret_stats,
			  ret_message);
	r = answer_memory_error(context, r, refused, ret_message);
	if (r > 0 && ret_stats->n_stacks_shortened > 0 &&
	    memory_budget_refused(context->memory) != refused)
		profile_message_append(ret_message, "the tree is small because the queries that "
						    "run now reached memory_limit");
	count_query(context, request, ret_stats, r, ret_message);
	return r;
}

int answer_query(struct api_context *context, struct store_view *view,
		 const struct profile_request *request, struct tree **ret_tree,
		 struct profile_stats *ret_stats, char ret_message[PROFILE_MESSAGE_SIZE])
{
	struct profile_request in_unit = *request;

	in_unit.value_unit = event_unit_divisor(profile_event(request)->unit);
	return answer_query_in(context, view, &in_unit, ret_tree, ret_stats, ret_message);
}

int answer_stacks(struct api_context *context, struct store_view *view,
		  const struct profile_request *request, const struct stack_visitor *visitor,
		  struct profile_stats *ret_stats, char ret_message[PROFILE_MESSAGE_SIZE])
{
	const uint64_t refused = memory_budget_refused(context->memory);
	struct profile_request complete = *request;
	int r;

	complete.now_ns = clock_wall_ns(context->clock);
	r = profile_visit_stacks(view, context->resolver, context->clock, &complete, visitor,
				 ret_stats, ret_message);
	r = answer_memory_error(context, r, refused, ret_message);
	/* The caller's output has no room: no failure of the store. */
	if (r == -EFBIG)
		return r;
	count_query(context, request, ret_stats, r, ret_message);
	return r;
}

int answer_unresolved(struct api_context *context, struct store_view *view,
		      const struct profile_request *request, struct arena *arena,
		      struct unresolved_files *ret_files, struct profile_stats *ret_stats,
		      char ret_message[PROFILE_MESSAGE_SIZE])
{
	const uint64_t refused = memory_budget_refused(context->memory);
	struct profile_request complete = *request;
	int r;

	complete.now_ns = clock_wall_ns(context->clock);
	r = profile_unresolved(view, context->resolver, context->clock, &complete, arena, ret_files,
			       ret_stats, ret_message);
	r = answer_memory_error(context, r, refused, ret_message);
	count_query(context, request, ret_stats, r, ret_message);
	return r;
}
