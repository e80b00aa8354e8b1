/* SPDX-License-Identifier: Apache-2.0 */

/*
 * POST /v1/ingest. The status determines how an agent treats its batch: 200 drop it, or define the
 * missing IDs that the answer lists; 400 and 413 drop it; 415 (a later format), 429 (too many new
 * stacks within an hour), 507 and 503 keep it and retry. A wrong clock is 503: the batch can be
 * stored as soon as somebody has set the clock.
 */

#include <string.h>

#include "symbolizer/api/api.h"
#include "symbolizer/api/ingest_answer.h"

/*
 * The header Retry-After, in seconds. Meanwhile the agent writes batches to its spool; a failed
 * store rarely recovers sooner.
 */
#define RETRY_AFTER "10"

/* Within a minute an agent gets a sixtieth of its new stacks of an hour back. */
#define RETRY_AFTER_NEW_STACKS "60"

static void count_unknown(struct api_context *context, const struct ingest_result *result)
{
	api_count(context, API_METRIC_INGEST_UNKNOWN_FRAMES, result->n_unknown_frames);
	api_count(context, API_METRIC_INGEST_UNKNOWN_TYPES, result->n_unknown_types);
	api_count(context, API_METRIC_INGEST_UNKNOWN_FIELDS, result->n_unknown_fields);
	api_count(context, API_METRIC_INGEST_CONTEXTS, result->n_rows_with_context);
}

void ingest_count(struct api_context *context, const struct ingest_result *result)
{
	if (result->stored) {
		api_count(context, API_METRIC_INGEST_STORED, 1);
		api_count(context, API_METRIC_INGEST_ROWS, result->n_rows);
		count_unknown(context, result);
	} else if (result->message[0]) {
		/* The message lists the IDs that the agent must define. */
		api_count(context, API_METRIC_INGEST_INCOMPLETE, 1);
	} else {
		api_count(context, API_METRIC_INGEST_DUPLICATE, 1);
	}
}

/*
 * Does not log: every agent retries every few seconds, and the store logs when it begins to fail
 * and when it has recovered. Metrics count the refusals.
 */
void ingest_refuse(struct api_context *context, struct http_response *response, int error,
		   const char *message)
{
	if (error == -EBADMSG) {
		api_count(context, API_METRIC_INGEST_BAD, 1);
		http_response_error(response, 400, "%s", message);
		return;
	}
	if (error == -EPROTONOSUPPORT) {
		api_count(context, API_METRIC_INGEST_TOO_NEW, 1);
		http_response_error(response, 415, "%s", message);
		return;
	}
	if (error == -EFBIG) {
		api_count(context, API_METRIC_INGEST_TOO_LARGE, 1);
		http_response_error(response, 413, "%s", message);
		return;
	}
	if (error == -EDQUOT) {
		api_count(context, API_METRIC_INGEST_TOO_MANY_STACKS, 1);
		http_response_header(response, "Retry-After", RETRY_AFTER_NEW_STACKS);
		http_response_error(response, 429, "%s", message);
		return;
	}
	if (error == -ETIME) {
		api_count(context, API_METRIC_INGEST_WRONG_CLOCK, 1);
		http_response_header(response, "Retry-After", RETRY_AFTER);
		http_response_error(response, 503, "%s", message);
		return;
	}
	api_count(context, API_METRIC_STORE_ERRORS, 1);
	api_count(context,
		  error == -ENOSPC ? API_METRIC_INGEST_NO_SPACE : API_METRIC_INGEST_STORE_FAILED,
		  1);
	http_response_header(response, "Retry-After", RETRY_AFTER);
	http_response_error(response, error == -ENOSPC ? 507 : 503, "%s", message);
}

void api_ingest(struct api_context *context, const struct http_request *request,
		struct http_response *response)
{
	const struct ingest_request call = {
		.tenant = request->caller->tenant,
		.body = request->body,
		.clock = http_request_header(request, "X-Hearth-Clock"),
		.waited_ns = request->waited_ns,
	};
	struct ingest_result result = {};
	int r;

	api_count(context, API_METRIC_INGEST_BYTES, request->body.size);
	r = ingest_batch(context->ingest, &call, &response->body, &result);
	if (r < 0) {
		ingest_refuse(context, response, r,
			      result.message[0] ? result.message : strerror(-r));
		return;
	}
	ingest_count(context, &result);
	response->content_type = "application/x-protobuf";
}
