/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/api/time_range.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/limits.h"

/* 9999-12-31T23:59:59Z. A larger number is a time in milliseconds. */
#define LAST_SECOND UINT64_C(253402300799)

#define NSEC_PER_DAY (24 * 3600 * NSEC_PER_SEC)

/* 12 digits of seconds exceed the year 9999, and their product with NSEC_PER_SEC fits 64 bits. */
#define MAX_DIGITS 12

static const char *read_number(const char *text, uint64_t *ret_number)
{
	uint64_t number = 0;
	size_t digits = strspn(text, "0123456789");

	if (digits == 0 || digits > MAX_DIGITS)
		return NULL;
	for (size_t i = 0; i < digits; i++)
		number = 10 * number + (uint64_t)(text[i] - '0');
	*ret_number = number;
	return text + digits;
}

int duration_parse(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "", NSEC_PER_SEC },       { "ms", NSEC_PER_MSEC },      { "s", NSEC_PER_SEC },
		{ "m", 60 * NSEC_PER_SEC }, { "h", 3600 * NSEC_PER_SEC }, { "d", NSEC_PER_DAY },
	};
	const char *unit;
	uint64_t number;

	unit = read_number(text, &number);
	if (!unit || number == 0)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(unit, units[i].name) != 0)
			continue;
		if (number > UINT64_MAX / units[i].ns)
			return -EINVAL;
		*ret_ns = number * units[i].ns;
		return 0;
	}
	return -EINVAL;
}

/* Parses the time zone of RFC 3339 ("Z", "+01:00", "-05:30") to seconds east of Greenwich. */
static int read_zone(const char *text, int *ret_seconds)
{
	unsigned int hours, minutes;
	int used = 0;

	if (strcmp(text, "Z") == 0 || strcmp(text, "z") == 0) {
		*ret_seconds = 0;
		return 0;
	}
	if (*text != '+' && *text != '-')
		return -EINVAL;
	if (sscanf(text + 1, "%2u:%2u%n", &hours, &minutes, &used) != 2 || text[1 + used] != '\0' ||
	    hours > 23 || minutes > 59)
		return -EINVAL;
	*ret_seconds = (int)(hours * 3600 + minutes * 60) * (*text == '-' ? -1 : 1);
	return 0;
}

static int read_rfc3339(const char *text, uint64_t *ret_second)
{
	struct tm when = {};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &when);
	int zone_s;
	time_t second;

	if (!rest)
		return -EINVAL;
	/* The fraction is ignored: times are whole seconds. */
	if (*rest == '.')
		rest += 1 + strspn(rest + 1, "0123456789");
	if (read_zone(rest, &zone_s) < 0)
		return -EINVAL;
	second = timegm(&when) - zone_s;
	if (second < 0)
		return -EINVAL;
	*ret_second = (uint64_t)second;
	return 0;
}

int wall_time_parse(const char *text, uint64_t *ret_wall_ns)
{
	uint64_t second;
	const char *rest = read_number(text, &second);

	if ((!rest || *rest) && read_rfc3339(text, &second) < 0)
		return -EINVAL;
	if (second > LAST_SECOND)
		return -EINVAL;
	*ret_wall_ns = second * NSEC_PER_SEC;
	return 0;
}

static int refuse_time(const char *name, const char *text,
		       char ret_message[TIME_RANGE_MESSAGE_SIZE])
{
	(void)snprintf(ret_message, TIME_RANGE_MESSAGE_SIZE,
		       "%s: '%.40s' is no time; give unix seconds (1735689600) or RFC 3339 "
		       "(2025-01-01T00:00:00Z)",
		       name, text);
	return -EINVAL;
}

static int refuse(const char *reason, char ret_message[TIME_RANGE_MESSAGE_SIZE])
{
	(void)snprintf(ret_message, TIME_RANGE_MESSAGE_SIZE, "%s", reason);
	return -EINVAL;
}

int time_range_parse(const struct http_request *request, const struct clock *clock,
		     uint64_t default_last_ns, struct time_range *ret_range,
		     char ret_message[TIME_RANGE_MESSAGE_SIZE])
{
	const char *last = http_request_parameter(request, "last");
	const char *since = http_request_parameter(request, "since");
	const char *until = http_request_parameter(request, "until");
	uint64_t last_ns = default_last_ns, since_ns = 0, until_ns = clock_wall_ns(clock);

	if (last && since)
		return refuse("last and since exclude each other", ret_message);
	if (last && duration_parse(last, &last_ns) < 0) {
		(void)snprintf(ret_message, TIME_RANGE_MESSAGE_SIZE,
			       "last: '%.40s' is no duration; write it as 90s, 15m, 2h or 7d",
			       last);
		return -EINVAL;
	}
	if (until && wall_time_parse(until, &until_ns) < 0)
		return refuse_time("until", until, ret_message);
	if (since && wall_time_parse(since, &since_ns) < 0)
		return refuse_time("since", since, ret_message);
	if (!since)
		since_ns = until_ns > last_ns ? until_ns - last_ns : 0;
	if (since_ns >= until_ns)
		return refuse("since must be before until", ret_message);

	*ret_range = (struct time_range){
		.since_wall_ns = since_ns,
		.until_wall_ns = until_ns,
		.from_slot = since_ns / SLOT_NS,
		.to_slot = (until_ns + SLOT_NS - 1) / SLOT_NS,
	};
	return 0;
}
