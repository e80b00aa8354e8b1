/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Numbers are read by hand, digit by digit: strptime() and strtoull() accept blanks, signs and
 * other bases that are mistakes here. A date is right when the calendar gives it back unchanged
 * ("February 30" becomes March 2).
 */

#include "symbolizer/cli/time_range.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* In the year 5138. Larger numbers are milliseconds or nanoseconds by mistake. */
#define LATEST_S UINT64_C(99999999999)

#define SECONDS_PER_DAY UINT64_C(86400)

static bool is_digit(char character)
{
	return character >= '0' && character <= '9';
}

/* Reads digits up to LATEST_S and moves @text behind them; at least one. */
static bool read_number(const char **text, uint64_t *ret_number)
{
	uint64_t number = 0;

	if (!is_digit(**text))
		return false;
	for (; is_digit(**text); (*text)++) {
		number = number * 10 + (uint64_t)(**text - '0');
		if (number > LATEST_S)
			return false;
	}
	*ret_number = number;
	return true;
}

static uint64_t unit_seconds(char unit)
{
	switch (unit) {
	case 's':
		return 1;
	case 'm':
		return 60;
	case 'h':
		return 3600;
	case 'd':
		return SECONDS_PER_DAY;
	case 'w':
		return 7 * SECONDS_PER_DAY;
	default:
		return 0;
	}
}

int time_duration_parse(const char *text, uint64_t *ret_seconds)
{
	uint64_t sum = 0;
	uint64_t number;

	do {
		if (!read_number(&text, &number))
			return -EINVAL;
		if (*text == '\0' && sum == 0) {
			sum = number;
			break;
		}
		if (unit_seconds(*text) == 0 || number > LATEST_S / unit_seconds(*text))
			return -EINVAL;
		sum += number * unit_seconds(*text++);
	} while (*text != '\0');

	if (sum == 0 || sum > LATEST_S)
		return -EINVAL;
	*ret_seconds = sum;
	return 0;
}

/* Exactly @count digits, then @end if it is not NUL. */
static bool read_field(const char **text, unsigned int count, char end, int *ret_field)
{
	int field = 0;

	for (unsigned int i = 0; i < count; i++, (*text)++) {
		if (!is_digit(**text))
			return false;
		field = field * 10 + (**text - '0');
	}
	if (end != '\0' && *(*text)++ != end)
		return false;
	*ret_field = field;
	return true;
}

static bool read_date(const char **text, struct tm *date)
{
	if (!read_field(text, 4, '-', &date->tm_year) || !read_field(text, 2, '-', &date->tm_mon) ||
	    !read_field(text, 2, '\0', &date->tm_mday))
		return false;
	date->tm_year -= 1900;
	date->tm_mon -= 1;
	return true;
}

/* "09:30", "09:30:00", "09:30:00.125"; parts of a second are dropped. */
static bool read_clock(const char **text, struct tm *date)
{
	if (!read_field(text, 2, ':', &date->tm_hour) || !read_field(text, 2, '\0', &date->tm_min))
		return false;
	if (**text == ':') {
		(*text)++;
		if (!read_field(text, 2, '\0', &date->tm_sec))
			return false;
	}
	if (**text == '.') {
		(*text)++;
		if (!is_digit(**text))
			return false;
		while (is_digit(**text))
			(*text)++;
	}
	return date->tm_hour < 24 && date->tm_min < 60 && date->tm_sec < 60;
}

/* "Z" or "+02:00", to the end of the text. */
static bool read_zone(const char *text, int64_t *ret_offset_s)
{
	int hours, minutes;
	char sign = *text++;

	if (sign == 'Z' || sign == 'z') {
		*ret_offset_s = 0;
		return *text == '\0';
	}
	if ((sign != '+' && sign != '-') || !read_field(&text, 2, ':', &hours) ||
	    !read_field(&text, 2, '\0', &minutes) || hours > 23 || minutes > 59)
		return false;
	*ret_offset_s = (sign == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
	return *text == '\0';
}

static int parse_date(const char *text, uint64_t *ret_moment_s)
{
	struct tm date = { .tm_isdst = -1 };
	int64_t offset_s = 0, moment;
	struct tm given;

	if (!read_date(&text, &date))
		return -EINVAL;
	if (*text == 'T' || *text == 't' || *text == ' ') {
		text++;
		if (!read_clock(&text, &date))
			return -EINVAL;
	}
	if (*text != '\0' && !read_zone(text, &offset_s))
		return -EINVAL;

	given = date;
	moment = *text != '\0' ? (int64_t)timegm(&date) - offset_s : (int64_t)mktime(&date);
	if (given.tm_mday != date.tm_mday || given.tm_mon != date.tm_mon || moment < 0)
		return -EINVAL;
	*ret_moment_s = (uint64_t)moment;
	return 0;
}

static int parse_ago(const char *text, uint64_t now_s, uint64_t *ret_moment_s)
{
	uint64_t ago_s;

	if (time_duration_parse(text, &ago_s) < 0 || ago_s > now_s)
		return -EINVAL;
	*ret_moment_s = now_s - ago_s;
	return 0;
}

int time_moment_parse(const char *text, uint64_t now_s, uint64_t *ret_moment_s)
{
	const char *rest = text;
	uint64_t number;

	if (strcmp(text, "now") == 0) {
		*ret_moment_s = now_s;
		return 0;
	}
	if (strncmp(text, "now-", 4) == 0)
		return parse_ago(text + 4, now_s, ret_moment_s);
	if (*text == '-')
		return parse_ago(text + 1, now_s, ret_moment_s);
	if (read_number(&rest, &number) && *rest == '\0') {
		*ret_moment_s = number;
		return 0;
	}
	if (parse_date(text, ret_moment_s) == 0)
		return 0;
	return parse_ago(text, now_s, ret_moment_s);
}

static int moment_of_option(const char *option, const char *text, uint64_t now_s,
			    uint64_t *ret_moment_s, char ret_message[TIME_RANGE_MESSAGE_SIZE])
{
	if (!text)
		return 0;
	if (time_moment_parse(text, now_s, ret_moment_s) == 0)
		return 0;
	(void)snprintf(ret_message, TIME_RANGE_MESSAGE_SIZE,
		       "%s '%.40s' is no time; try now, -10m, unix seconds or 2026-08-21T09:30:00Z",
		       option, text);
	return -EINVAL;
}

int time_range_resolve(const struct time_range_texts *texts, uint64_t now_s,
		       struct time_range *ret_range, char ret_message[TIME_RANGE_MESSAGE_SIZE])
{
	const char *last = texts->last ? texts->last : TIME_RANGE_DEFAULT_LAST;
	struct time_range range = { .until_s = now_s };
	uint64_t last_s;
	int r;

	if (texts->since && texts->last) {
		(void)snprintf(ret_message, TIME_RANGE_MESSAGE_SIZE,
			       "give --since or --last, not both");
		return -EINVAL;
	}
	r = moment_of_option("--until", texts->until, now_s, &range.until_s, ret_message);
	if (r < 0)
		return r;

	if (time_duration_parse(last, &last_s) < 0) {
		(void)snprintf(ret_message, TIME_RANGE_MESSAGE_SIZE,
			       "--last '%.40s' is no duration; try 5m, 2h or 7d", last);
		return -EINVAL;
	}
	/* Both ends count: the last 60 seconds until 100 are 41 to 100. */
	range.since_s = range.until_s >= last_s ? range.until_s - last_s + 1 : 1;
	r = moment_of_option("--since", texts->since, now_s, &range.since_s, ret_message);
	if (r < 0)
		return r;

	if (range.since_s > range.until_s) {
		(void)snprintf(ret_message, TIME_RANGE_MESSAGE_SIZE,
			       "--since is later than --until");
		return -EINVAL;
	}
	*ret_range = range;
	return 0;
}
