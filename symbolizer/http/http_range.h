/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Range requests and conditional requests (RFC 9110, sections 13 and 14): interprets the headers
 * Range, If-Range, If-None-Match and If-Modified-Since for a representation with a given size,
 * entity tag and date.
 */

#include "symbolizer/http/message.h"

struct http_range {
	uint64_t first;
	uint64_t size;
};

enum http_range_result {
	HTTP_RANGE_ALL,     /* no Range header, or one that is ignored */
	HTTP_RANGE_PART,    /* 206 */
	HTTP_RANGE_OUTSIDE, /* 416 */
};

/* The validators of a representation: they change when its content changes. */
struct http_validators {
	const char *etag;    /* with its quotes */
	uint64_t modified_s; /* unix seconds */
};

/* Evaluates Range and If-Range of @request for a representation of @size bytes. Only one range
 * is supported: a request for several gets HTTP_RANGE_ALL. Fills @ret_range on HTTP_RANGE_PART. */
enum http_range_result http_range_of(const struct http_request *request,
				     const struct http_validators *validators, uint64_t size,
				     struct http_range *ret_range);

/* Returns whether the answer is 304. If-Modified-Since is ignored if there is If-None-Match. */
bool http_is_not_modified(const struct http_request *request,
			  const struct http_validators *validators);

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
#define HTTP_DATE_SIZE 64
void http_date_format(uint64_t unix_s, char ret_text[HTTP_DATE_SIZE]);

/* Accepts only the form that http_date_format() writes; clients in use send no other. */
bool http_date_parse(const char *text, uint64_t *ret_unix_s);
