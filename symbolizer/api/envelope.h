/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The answer's frame of DeepFlow's API: {"OPT_STATUS", "DESCRIPTION", "result", "debug"}, always
 * all four.
 */

#include "common/json_writer.h"
#include "symbolizer/http/message.h"

/*
 * Begins the envelope and leaves @json right after the key "result": the caller writes one value,
 * then calls envelope_debug(), writes one more, and envelope_end().
 */
void envelope_begin(struct json_writer *json, struct http_response *response, const char *status,
		    const char *description);
void envelope_debug(struct json_writer *json);
void envelope_end(struct json_writer *json);

/* An envelope without result: 500 "FAIL", where it is the store that failed and not the user nor
 * we. */
void envelope_store_failed(struct http_response *response, const char *description);

/* The error style of the routes that answer in envelopes: 400 and 413 INVALID_POST_DATA, 500
 * SERVER_ERROR, else FAIL. */
void envelope_error(struct http_response *response, unsigned int status, const char *message);
