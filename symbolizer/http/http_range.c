/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A header with unknown syntax is ignored: the complete answer is always correct.
 */

#include "symbolizer/http/http_range.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const day_names[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
static const char *const month_names[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };

void http_date_format(uint64_t unix_s, char ret_text[HTTP_DATE_SIZE])
{
	time_t seconds = (time_t)unix_s;
	struct tm parts;

	if (!gmtime_r(&seconds, &parts) || parts.tm_year > 8099)
		parts = (struct tm){ .tm_mday = 1, .tm_year = 70, .tm_wday = 4 };
	(void)snprintf(ret_text, HTTP_DATE_SIZE, "%s, %02d %s %04d %02d:%02d:%02d GMT",
		       day_names[parts.tm_wday], parts.tm_mday % 100, month_names[parts.tm_mon],
		       (1900 + parts.tm_year) % 10000, parts.tm_hour % 100, parts.tm_min % 100,
		       parts.tm_sec % 100);
}

/* Finds a month by the first three letters of its name. -1 if there is none. */
static int month_of(const char *name)
{
	for (int i = 0; i < (int)ARRAY_SIZE(month_names); i++)
		if (strncmp(name, month_names[i], 3) == 0)
			return i;
	return -1;
}

bool http_date_parse(const char *text, uint64_t *ret_unix_s)
{
	char day[4], month[4], zone[4];
	struct tm parts = {};
	int end = 0;
	time_t seconds;

	if (sscanf(text, "%3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d %3[A-Z]%n", day,
		   &parts.tm_mday, month, &parts.tm_year, &parts.tm_hour, &parts.tm_min,
		   &parts.tm_sec, zone, &end) != 8 ||
	    text[end] != '\0' || strcmp(zone, "GMT") != 0)
		return false;
	parts.tm_mon = month_of(month);
	parts.tm_year -= 1900;
	if (parts.tm_mon < 0 || parts.tm_year < 70)
		return false;
	seconds = timegm(&parts);
	if (seconds < 0)
		return false;
	*ret_unix_s = (uint64_t)seconds;
	return true;
}

static bool read_number(const char **text, uint64_t *ret_number)
{
	unsigned long long number;
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	number = strtoull(*text, &end, 10);
	if (errno != 0)
		return false;
	*text = end;
	*ret_number = number;
	return true;
}

/* Parses the digits of "bytes=-500", the last 500 bytes. */
static enum http_range_result suffix_range(const char *text, uint64_t size,
					   struct http_range *ret_range)
{
	uint64_t length;

	if (!read_number(&text, &length) || *text != '\0')
		return HTTP_RANGE_ALL;
	if (length == 0 || size == 0)
		return HTTP_RANGE_OUTSIDE;
	length = MIN(length, size);
	*ret_range = (struct http_range){ .first = size - length, .size = length };
	return HTTP_RANGE_PART;
}

static enum http_range_result parse_range(const char *text, uint64_t size,
					  struct http_range *ret_range)
{
	uint64_t first, last = UINT64_MAX;

	if (strncmp(text, "bytes=", strlen("bytes=")) != 0)
		return HTTP_RANGE_ALL;
	text += strlen("bytes=");
	if (*text == '-')
		return suffix_range(text + 1, size, ret_range);
	if (!read_number(&text, &first) || *text++ != '-')
		return HTTP_RANGE_ALL;
	if (*text && (!read_number(&text, &last) || *text || last < first))
		return HTTP_RANGE_ALL;
	if (first >= size)
		return HTTP_RANGE_OUTSIDE;
	last = MIN(last, size - 1);
	*ret_range = (struct http_range){ .first = first, .size = last - first + 1 };
	return HTTP_RANGE_PART;
}

/* Evaluates If-Range: the client has a part of the file and wants the rest of the same version. */
static bool if_range_holds(const char *text, const struct http_validators *validators)
{
	uint64_t date_s;

	if (text[0] == '"')
		return strcmp(text, validators->etag) == 0;
	return http_date_parse(text, &date_s) && date_s == validators->modified_s;
}

enum http_range_result http_range_of(const struct http_request *request,
				     const struct http_validators *validators, uint64_t size,
				     struct http_range *ret_range)
{
	const char *range = http_request_header(request, "Range");
	const char *condition = http_request_header(request, "If-Range");

	if (!range || (condition && !if_range_holds(condition, validators)))
		return HTTP_RANGE_ALL;
	return parse_range(range, size, ret_range);
}

/* Returns whether the list of entity tags in @text has @etag. A weak tag matches too. */
static bool has_etag(const char *text, const char *etag)
{
	size_t length = strlen(etag);

	while (*text) {
		text += strspn(text, " \t,");
		if (*text == '*')
			return true;
		if (strncmp(text, "W/", 2) == 0)
			text += 2;
		if (strncmp(text, etag, length) == 0 &&
		    (text[length] == '\0' || strchr(" \t,", text[length])))
			return true;
		text += strcspn(text, ",");
	}
	return false;
}

bool http_is_not_modified(const struct http_request *request,
			  const struct http_validators *validators)
{
	const char *etags = http_request_header(request, "If-None-Match");
	const char *since = http_request_header(request, "If-Modified-Since");
	uint64_t since_s;

	if (etags)
		return has_etag(etags, validators->etag);
	return since && http_date_parse(since, &since_s) && validators->modified_s <= since_s;
}
