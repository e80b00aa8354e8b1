/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The rules that all uploads share: permissions, metrics and answers.
 */

#include "symbolizer/api/api.h"

/*
 * Returns the origin of an upload. A token that has only the scope ingest belongs to an agent. With
 * other scopes, or without tokens, the client declares whether it is an agent.
 */
enum debuginfo_origin upload_origin(const struct http_request *request);

/* Returns whether the upload is allowed; otherwise @response has the reason. @bytes UINT64_MAX:
 * unknown. */
bool upload_is_allowed(struct api_context *context, const struct http_request *request,
		       uint64_t bytes, struct http_response *response);

/* Answers a failed upload. Returns its outcome for the metrics. @error is negative; @message is
 * from the store. */
enum api_metric upload_answer_failure(struct http_response *response, int error,
				      const char *message);

/* Answers a finished upload. Returns its outcome for the metrics. If @stored, @entry is the
 * stored file; otherwise @message says why it was not stored. */
enum api_metric upload_answer(struct http_response *response, bool stored,
			      const struct debuginfo_entry *entry, const char *message);
