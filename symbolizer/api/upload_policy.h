/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who may upload what, what an upload is counted as, and what is answered: the same for uploads at
 * once and in pieces.
 */

#include "symbolizer/api/api.h"

/*
 * A token that may only ingest belongs to an agent; with more rights, or without tokens, the client
 * says whether it is one.
 */
enum debuginfo_origin upload_origin(const struct http_request *request);

/* false after answering why not. @bytes UINT64_MAX: not known. */
bool upload_is_allowed(struct api_context *context, const struct http_request *request,
		       uint64_t bytes, struct http_response *response);

/* Answers, and says which outcome that is. @error < 0, @message of the store. */
enum api_metric upload_answer_failure(struct http_response *response, int error,
				      const char *message);

/* @stored: @entry is what is there now; else the message says why it was not needed. */
enum api_metric upload_answer(struct http_response *response, bool stored,
			      const struct debuginfo_entry *entry, const char *message);
