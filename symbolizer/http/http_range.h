/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Answers in part, and answers that the client has already (RFC 9110, 13 and 14): what the headers
 * of a request mean for a representation with a given size, entity tag and date.
 */

#include "symbolizer/http/message.h"

struct http_range {
	uint64_t first;
	uint64_t size;
};

enum http_range_result {
	HTTP_RANGE_ALL,     /* no range is asked for, or in a form that may be ignored */
	HTTP_RANGE_PART,    /* 206 */
	HTTP_RANGE_OUTSIDE, /* 416 */
};

/* What a representation is known by. */
struct http_validators {
	const char *etag;    /* with its quotes */
	uint64_t modified_s; /* unix seconds */
};

/* Range and If-Range of @request, for @size bytes. One range at a time: several are answered with
 * everything. */
enum http_range_result http_range_of(const struct http_request *request,
				     const struct http_validators *validators, uint64_t size,
				     struct http_range *ret_range);

/* Whether 304 is the answer: If-None-Match, and If-Modified-Since only without it. */
bool http_is_not_modified(const struct http_request *request,
			  const struct http_validators *validators);

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
#define HTTP_DATE_SIZE 64
void http_date_format(uint64_t unix_s, char ret_text[HTTP_DATE_SIZE]);

/* In that form only, which all that is alive sends. */
bool http_date_parse(const char *text, uint64_t *ret_unix_s);
