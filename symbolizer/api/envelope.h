/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The envelope of answers in DeepFlow's API: {"OPT_STATUS", "DESCRIPTION", "result", "debug"},
 * always with all four keys.
 */

#include "common/json_writer.h"
#include "symbolizer/http/message.h"

/*
 * Begins the envelope and leaves @json after the key "result": the caller writes one value, calls
 * envelope_debug(), writes one more value, and calls envelope_end().
 */
void envelope_begin(struct json_writer *json, struct http_response *response, const char *status,
		    const char *description);
void envelope_debug(struct json_writer *json);
void envelope_end(struct json_writer *json);

/* Answers 500 "FAIL" without a result: the sample store failed, not the client and not this
 * program. */
void envelope_store_failed(struct http_response *response, const char *description);

/*
 * DeepFlow's callers may name their organization in a header. Here the token gives the tenant: only
 * the number of DeepFlow's default organization is valid, because other data than asked for would
 * be wrong. Returns false after answering any other number.
 */
bool envelope_check_organization(const struct http_request *request,
				 struct http_response *response);

/* The error style of routes that answer in envelopes: 400 and 413 are INVALID_POST_DATA, 500 is
 * SERVER_ERROR, all others FAIL. */
void envelope_error(struct http_response *response, unsigned int status, const char *message);
