/* SPDX-License-Identifier: Apache-2.0 */

/*
 * POST /v1/profile/ProfileTracing. docs/http-api.md has the contract, with every status and text.
 */

#include <stdio.h>
#include <string.h>

#include "symbolizer/api/answer.h"
#include "symbolizer/api/envelope.h"
#include "symbolizer/api/tracing_request.h"

/* Memory for the texts of one request. Its body has at most one megabyte. */
#define REQUEST_ARENA_BYTES (4 * MIB)

static void write_answer(struct http_response *response, const struct tracing_request *request,
			 const struct tree *tree, const struct profile_stats *stats,
			 const char *description)
{
	struct json_writer json;
	int r;

	envelope_begin(&json, response, "SUCCESS", description);
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

/* Finds the event type in the view of the request, and answers. */
static void answer_parsed(struct api_context *context, const struct http_request *request,
			  struct tracing_request *parsed, struct http_response *response)
{
	scoped(store_view_closep) struct store_view *view = NULL;
	char reason[PROFILE_MESSAGE_SIZE];
	struct answer_event event;
	int r;

	r = api_open_view(context, request, &view);
	if (r == 0)
		r = answer_find_event(view, parsed->event_name, &event, &parsed->profile, reason);
	else
		(void)snprintf(reason, sizeof(reason), "the sample store failed: %s", strerror(-r));
	if (r < 0) {
		answer_headers(response, event_type_info(EVENT_ON_CPU), &nothing);
		if (r == -EINVAL)
			http_response_error(response, 400, "profile_event_type: %s", reason);
		else
			envelope_store_failed(response, reason);
		return;
	}
	answer(context, view, parsed, response);
}

void api_profile_tracing(struct api_context *context, const struct http_request *request,
			 struct http_response *response)
{
	scoped(arena_freep) struct arena *arena = NULL;
	char message[TRACING_MESSAGE_SIZE];
	struct tracing_request parsed;
	int r;

	if (!envelope_check_organization(request, response)) {
		answer_headers(response, event_type_info(EVENT_ON_CPU), &nothing);
		return;
	}
	r = arena_new(REQUEST_ARENA_BYTES, &arena);
	if (r == 0)
		r = tracing_request_parse(request->body, arena, &parsed, message);
	if (r < 0) {
		answer_headers(response, event_type_info(EVENT_ON_CPU), &nothing);
		if (r == -EINVAL)
			http_response_error(response, 400, "%s", message);
		else
			http_response_error(response, 500, "cannot read the request: %s",
					    strerror(-r));
		return;
	}
	answer_parsed(context, request, &parsed, response);
}
