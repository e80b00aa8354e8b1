/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the two requests of DeepFlow's Grafana plugin have in common: a form or a JSON object in the
 * body, conditions that look like SQL, and the envelope of the answer. Functions that return bool
 * return false after filling call->response with an error.
 */

#include "symbolizer/api/answer.h"
#include "symbolizer/http/form.h"
#include "symbolizer/query/filter/filter_take.h"

struct deepflow_call {
	struct api_context *context;
	const struct http_request *request;
	struct http_response *response;
	struct arena *arena;
	struct form form; /* of a form, or the texts of a JSON object */
	const char *sql;  /* the field of this name */
	struct store_view *view;
	struct filter *filter; /* the conditions that are not in other fields */
	struct filter_range range;
	struct answer_event event;
	bool counts_twice; /* of the selected event types, one is a part of another */
	struct profile_request profile;
	char message[PROFILE_MESSAGE_SIZE];
};

/* Returns whether the range of time ends before it begins. As DeepFlow, the server then answers
 * without data. */
bool deepflow_range_is_empty(const struct deepflow_call *call);

/* Reads the body and opens the view. deepflow_end() follows in both cases. */
bool deepflow_begin(struct deepflow_call *call);
void deepflow_end(struct deepflow_call *call);

/*
 * Parses @text, which is the field "sql" from @offset on, into call->range, and the other
 * conditions into call->filter. call->profile selects the samples that meet them, of all services
 * and event types.
 */
bool deepflow_set_conditions(struct deepflow_call *call, const char *text, size_t offset);

/* Answers the failure of a query that call->message describes. */
void deepflow_fail(struct deepflow_call *call, int error);
