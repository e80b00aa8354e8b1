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

/* The event type in the conditions, or in the field that the plugin copies it to. */
static bool set_event_type(struct deepflow_call *call)
{
	const char *name = filter_take_value(call->filter, "profile_event_type");
	char reason[PROFILE_MESSAGE_SIZE];
	int r;

	if (!name)
		name = form_value(&call->form, "profile_event_type");
	if (!name) {
		http_response_error(call->response, 400,
				    "sql: a profile has one event type: name it as in "
				    "profile_event_type IN ('on-cpu')");
		return false;
	}
	r = answer_find_event(call->view, name, &call->event, &call->profile, reason);
	if (r < 0) {
		(void)snprintf(call->message, sizeof(call->message), "profile_event_type: %.*s",
			       PROFILE_MESSAGE_SIZE - (int)sizeof("profile_event_type: "), reason);
		deepflow_fail(call, r);
	}
	return r >= 0;
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

static void write_answer(struct deepflow_call *call, const struct tree *tree,
			 const struct profile_stats *stats)
{
	const struct event_type_info *event = profile_event(&call->profile);
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
	scoped(tree_freep) struct tree *tree = NULL;
	struct profile_stats stats;
	int r;

	r = answer_query(call->context, call->view, &call->profile, &tree, &stats, call->message);
	answer_headers(call->response, profile_event(&call->profile), &stats);
	if (r < 0) {
		deepflow_fail(call, r);
		return;
	}
	answer_describe_loss(&stats, 0, call->message);
	write_answer(call, tree, &stats);
}

void api_profile_grafana(struct api_context *context, const struct http_request *request,
			 struct http_response *response)
{
	struct deepflow_call call = { .context = context,
				      .request = request,
				      .response = response };

	if (deepflow_begin(&call) && deepflow_set_conditions(&call, call.sql, 0) &&
	    check_range(&call) && set_event_type(&call)) {
		/* One service is found faster than by the filter, and "Total" only so. */
		call.profile.service = filter_take_value(call.filter, "app_service");
		answer(&call);
	}
	deepflow_end(&call);
}
