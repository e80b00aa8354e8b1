/* SPDX-License-Identifier: Apache-2.0 */

/*
 * POST /v1/profile/ProfileGrafana: a flame graph for DeepFlow's Grafana plugin. The plugin
 * multiplies all values by 1000 and labels them as nanoseconds.
 */

#include <stdio.h>
#include <string.h>

#include "symbolizer/api/deepflow_call.h"
#include "symbolizer/api/envelope.h"
#include "symbolizer/flame/node_list.h"
#include "symbolizer/query/profile_message.h"

/* Event types that one request names. The store has few more. */
#define MAX_NAMED_EVENTS 64

static void set_reason(struct deepflow_call *call, const char *reason)
{
	static const char key[] = "profile_event_type: ";

	(void)snprintf(call->message, sizeof(call->message), "%s%.*s", key,
		       (int)(sizeof(call->message) - sizeof(key)), reason);
}

/* Returns 1; 0 with the reason in call->message: there is no such type, or a negative errno. */
static int find_event(struct deepflow_call *call, const char *name, struct answer_event *room,
		      struct profile_request *profile)
{
	char reason[PROFILE_MESSAGE_SIZE];
	int r = answer_find_event(call->view, name, room, profile, reason);

	if (r < 0)
		set_reason(call, reason);
	return r == -EINVAL ? 0 : r < 0 ? r : 1;
}

/*
 * Adds a type to those that the profile sums, whose description is in @all. Returns 1; 0 with the
 * reason in call->message: there is no such type, or a negative errno.
 */
static int add_event(struct deepflow_call *call, const char *name, struct event_type_info *all,
		     enum event_type *ret_type)
{
	struct profile_request profile = {};
	const struct event_type_info *event;
	struct answer_event room;
	int r = find_event(call, name, &room, &profile);

	if (r <= 0)
		return r;
	event = profile_event(&profile);
	if (all->name && (strcmp(all->unit, event->unit) != 0 || all->kind != event->kind)) {
		(void)snprintf(
			call->message, sizeof(call->message),
			"profile_event_type: values of '%.100s' and '%.100s' cannot be added: "
			"ask for each of them",
			all->name, event->name);
		return -EINVAL;
	}
	all->name = arena_format(call->arena, "%s%s%s", all->name ? all->name : "",
				 all->name ? ", " : "", event->name);
	all->unit = arena_format(call->arena, "%s", event->unit);
	all->kind = event->kind;
	*ret_type = profile.type;
	return all->name && all->unit ? 1 : -ENOMEM;
}

static bool is_named(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Selects several event types. Their comparison stays in the filter, which may require more. */
static int set_events(struct deepflow_call *call, const char *const *names, size_t count)
{
	struct event_type_info *all = &call->event.info;
	enum event_type *types = arena_alloc_array(call->arena, count, sizeof(*types));
	size_t n_types = 0;

	if (!types)
		return -ENOMEM;
	*all = (struct event_type_info){};
	for (size_t i = 0; i < count; i++) {
		int r = is_named(names[i], names, i)
				? 0
				: add_event(call, names[i], all, &types[n_types]);

		if (r < 0)
			return r;
		n_types += (size_t)r;
	}
	call->profile.type = EVENT_NONE;
	call->profile.types = types;
	call->profile.n_types = n_types;
	call->profile.event = all;
	call->counts_twice =
		is_named("off-cpu", names, count) && is_named("run-queue", names, count);
	/* If any type exists, drop the message about one that does not. */
	if (all->name)
		call->message[0] = '\0';
	return all->name != NULL;
}

/*
 * Takes the event types from the conditions. Without any, takes the type from the request's field
 * to which the plugin copies it. Returns 1; 0 if there is no such type, with the reason in
 * call->message, or a negative errno.
 */
static int set_event_type(struct deepflow_call *call)
{
	const char *names[MAX_NAMED_EVENTS];
	const char *name;
	size_t count;

	name = filter_take_value(call->filter, "profile_event_type");
	if (name)
		return find_event(call, name, &call->event, &call->profile);
	count = filter_list_values(call->filter, "profile_event_type", names, MAX_NAMED_EVENTS);
	/* Values of a type that was not looked up could have another unit. */
	if (count > MAX_NAMED_EVENTS) {
		(void)snprintf(call->message, sizeof(call->message),
			       "profile_event_type: %zu values, but at most %d are possible", count,
			       MAX_NAMED_EVENTS);
		return -EINVAL;
	}
	if (count > 0)
		return set_events(call, names, count);
	name = form_value(&call->form, "profile_event_type");
	if (name)
		return find_event(call, name, &call->event, &call->profile);
	(void)snprintf(call->message, sizeof(call->message),
		       "sql: the event type is missing: name it as in profile_event_type IN "
		       "('on-cpu')");
	return -EINVAL;
}

static bool check_range(struct deepflow_call *call)
{
	if (call->range.from_s > 0 && call->range.to_s < UINT64_MAX)
		return true;
	http_response_error(call->response, 400,
			    "sql: the range of time is missing: add time>=N AND time<=N, in unix "
			    "seconds");
	return false;
}

/* Go's ParseBool, as DeepFlow reads this parameter. */
static bool wants_debug(const struct http_request *request)
{
	static const char *const words[] = { "1", "t", "T", "TRUE", "true", "True" };
	const char *text = http_request_parameter(request, "debug");

	for (size_t i = 0; text && i < ARRAY_SIZE(words); i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return false;
}

static void write_answer(struct deepflow_call *call, const struct event_type_info *event,
			 const struct tree *tree, const struct profile_stats *stats)
{
	struct json_writer json;
	int r;

	envelope_begin(&json, call->response, "SUCCESS", call->message);
	r = node_levels_write(tree, event_unit_divisor(event->unit), &json);
	if (r < 0) {
		http_response_error(call->response, 500, "cannot write the answer: %s",
				    strerror(-r));
		return;
	}
	envelope_debug(&json);
	if (wants_debug(call->request))
		answer_stats(&json, event, stats);
	else
		json_null_value(&json);
	envelope_end(&json);
}

static void answer(struct deepflow_call *call)
{
	const struct event_type_info *event = profile_event(&call->profile);
	scoped(tree_freep) struct tree *tree = NULL;
	struct profile_stats stats;
	int r;

	r = answer_query(call->context, call->view, &call->profile, &tree, &stats, call->message);
	answer_headers(call->response, event, &stats);
	if (r < 0) {
		deepflow_fail(call, r);
		return;
	}
	answer_describe_loss(&stats, 0, call->message);
	if (r > 0 && call->counts_twice)
		profile_message_append(call->message,
				       "run-queue is a part of off-cpu: time in both "
				       "is counted twice");
	write_answer(call, event, tree, &stats);
}

/* As DeepFlow, answers without data if no sample can meet the conditions; call->message has the
 * reason. */
static void answer_nothing(struct deepflow_call *call)
{
	const struct event_type_info *event = event_type_info(EVENT_ON_CPU);
	const struct profile_stats nothing = {};

	answer_headers(call->response, event, &nothing);
	write_answer(call, event, NULL, &nothing);
}

static void answer_of_events(struct deepflow_call *call)
{
	int r = set_event_type(call);

	if (r < 0) {
		deepflow_fail(call, r);
		return;
	}
	if (r > 0 && deepflow_range_is_empty(call)) {
		(void)snprintf(call->message, sizeof(call->message),
			       "sql: the range of time ends before it begins");
		r = 0;
	}
	if (r == 0) {
		answer_nothing(call);
		return;
	}
	/* Searching for one service is faster than filtering, and no filter finds "Total". */
	call->profile.service = filter_take_value(call->filter, "app_service");
	answer(call);
}

void api_profile_grafana(struct api_context *context, const struct http_request *request,
			 struct http_response *response)
{
	struct deepflow_call call = { .context = context,
				      .request = request,
				      .response = response };

	if (deepflow_begin(&call) && deepflow_set_conditions(&call, call.sql, 0) &&
	    check_range(&call))
		answer_of_events(&call);
	deepflow_end(&call);
}
