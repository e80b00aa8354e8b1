/* SPDX-License-Identifier: Apache-2.0 */

/*
 * POST /v1/profile/ProfileTracing. docs/http-api.md has the contract, with every status and text.
 */

#include <stdio.h>
#include <string.h>

#include "symbolizer/api/answer.h"
#include "symbolizer/api/envelope.h"
#include "symbolizer/api/tracing_request.h"
#include "symbolizer/flame/node_list.h"

/* Memory for the texts of one request. Its body has at most one megabyte. */
#define REQUEST_ARENA_BYTES (4 * MIB)

static void write_answer(struct http_response *response, const struct tracing_request *request,
			 const struct tree *tree, const struct profile_stats *stats,
			 const char *description)
{
	struct json_writer json;
	int r;

	envelope_begin(&json, response, "SUCCESS", description);
	if (!tree && request->columns)
		r = node_columns_write(NULL, 1, false, &json);
	else
		r = answer_tree(&json, profile_event(&request->profile), request->columns, tree);
	if (r < 0) {
		http_response_error(response, 500, "cannot write the answer: %s", strerror(-r));
		return;
	}
	envelope_debug(&json);
	if (request->debug)
		answer_stats(&json, profile_event(&request->profile), stats);
	else
		json_null_value(&json);
	envelope_end(&json);
}

static void answer(struct api_context *context, struct store_view *view,
		   const struct tracing_request *request, struct http_response *response)
{
	scoped(tree_freep) struct tree *tree = NULL;
	char description[PROFILE_MESSAGE_SIZE];
	struct profile_stats stats;
	int r;

	r = answer_query(context, view, &request->profile, &tree, &stats, description);
	answer_headers(response, profile_event(&request->profile), &stats);
	if (r < 0) {
		if (!answer_request_error(response, r, description))
			envelope_store_failed(response, description);
		return;
	}
	/* A client that reads only the node list must be able to detect losses. */
	answer_describe_loss(&stats, request->profile.max_nodes, description);
	write_answer(response, request, tree, &stats, description);
}

static const struct profile_stats nothing;

/* Answers a request without figures, because it is refused or no sample can meet it. */
static void answer_headers_of_nothing(struct http_response *response)
{
	answer_headers(response, event_type_info(EVENT_ON_CPU), &nothing);
}

/* As DeepFlow, answers with an empty profile; the description has the reason. */
static void answer_nothing(struct http_response *response, const struct tracing_request *request,
			   const char *reason)
{
	struct tracing_request empty = *request;

	empty.profile.type = EVENT_ON_CPU;
	empty.profile.event = NULL;
	answer_headers_of_nothing(response);
	write_answer(response, &empty, NULL, &nothing, reason);
}

/* Finds the event type in the view of the request, and answers. */
static void answer_parsed(struct api_context *context, const struct http_request *request,
			  struct tracing_request *parsed, struct http_response *response)
{
	static const char key[] = "profile_event_type: ";
	scoped(store_view_closep) struct store_view *view = NULL;
	char message[PROFILE_MESSAGE_SIZE + sizeof(key)];
	char reason[PROFILE_MESSAGE_SIZE];
	struct answer_event event;
	int r;

	r = api_open_view(context, request, &view);
	if (r == 0)
		r = answer_find_event(view, parsed->event_name, &event, &parsed->profile, reason);
	else
		(void)snprintf(reason, sizeof(reason), "the sample store failed: %s", strerror(-r));
	if (r == -EINVAL) {
		(void)snprintf(message, sizeof(message), "%s%s", key, reason);
		answer_nothing(response, parsed, message);
	} else if (r < 0) {
		answer_headers_of_nothing(response);
		envelope_store_failed(response, reason);
	} else {
		answer(context, view, parsed, response);
	}
}

void api_profile_tracing(struct api_context *context, const struct http_request *request,
			 struct http_response *response)
{
	scoped(arena_freep) struct arena *arena = NULL;
	char message[TRACING_MESSAGE_SIZE];
	struct tracing_request parsed;
	int r;

	if (!envelope_check_organization(request, response)) {
		answer_headers_of_nothing(response);
		return;
	}
	r = arena_new(REQUEST_ARENA_BYTES, &arena);
	if (r == 0)
		r = tracing_request_parse(request->body, arena, &parsed, message);
	if (r > 0) {
		answer_parsed(context, request, &parsed, response);
	} else if (r == 0) {
		answer_nothing(response, &parsed, message);
	} else {
		answer_headers_of_nothing(response);
		if (r == -EINVAL)
			http_response_error(response, 400, "%s", message);
		else
			http_response_error(response, 500, "cannot read the request: %s",
					    strerror(-r));
	}
}
