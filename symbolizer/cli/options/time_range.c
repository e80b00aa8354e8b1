/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The parser reads numbers digit by digit, because strptime() and strtoull() accept blanks, signs
 * and other bases, which are mistakes here. A date is valid if mktime() does not change it:
 * mktime() changes February 30 to March 2.
 */

#include "symbolizer/cli/options/time_range.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* In the year 5138. A larger number is milliseconds or nanoseconds by mistake. */
#define LATEST_S UINT64_C(99999999999)

/* In the year 1973, before any sample. */
#define EARLIEST_UNIX_S UINT64_C(100000000)

#define SECONDS_PER_DAY UINT64_C(86400)

static bool is_digit(char character)
{
	return character >= '0' && character <= '9';
}

/* Reads one digit or more, a number up to LATEST_S, and moves @text after the digits. */
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

/* Reads "m", "min" or "minutes", moves @text after it and returns its seconds. 0: no unit. */
static uint64_t read_unit(const char **text)
{
	static const struct {
		const char *words[4];
		uint64_t seconds;
	} units[] = {
		{ { "s", "sec", "second", "seconds" }, 1 },
		{ { "m", "min", "minute", "minutes" }, 60 },
		{ { "h", "hr", "hour", "hours" }, 3600 },
		{ { "d", "d", "day", "days" }, SECONDS_PER_DAY },
		{ { "w", "w", "week", "weeks" }, 7 * SECONDS_PER_DAY },
	};
	size_t length = strspn(*text, "abcdefghijklmnopqrstuvwxyz");

	for (size_t i = 0; i < ARRAY_SIZE(units) * ARRAY_SIZE(units[0].words); i++) {
		const char *word = units[i / 4].words[i % 4];

		if (strlen(word) == length && strncmp(*text, word, length) == 0) {
			*text += length;
			return units[i / 4].seconds;
		}
	}
	return 0;
}

/* One blank may separate a number from its unit, and a unit from the next number. */
static void skip_blank(const char **text)
{
	if ((*text)[0] == ' ' && (*text)[1] != '\0')
		(*text)++;
}

int time_duration_parse(const char *text, uint64_t *ret_seconds)
{
	uint64_t sum = 0;

	do {
		uint64_t number, unit_s;

		if (!read_number(&text, &number))
			return -EINVAL;
		skip_blank(&text);
		unit_s = read_unit(&text);
		if (unit_s == 0 || number > LATEST_S / unit_s)
			return -EINVAL;
		sum += number * unit_s;
		skip_blank(&text);
	} while (*text != '\0');

	if (sum == 0 || sum > LATEST_S)
		return -EINVAL;
	*ret_seconds = sum;
	return 0;
}

/* Reads exactly @count digits, then the character @end if it is not NUL. */
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

/* Reads "09:30", "09:30:00" or "09:30:00.125"; ignores fractions of a second. */
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

/* Reads "Z" or "+02:00", after which the text must end. */
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

/* "10m" or "10 minutes ago" */
static int parse_words_ago(const char *text, uint64_t now_s, uint64_t *ret_moment_s)
{
	static const char ago[] = " ago";
	size_t length = strlen(text);
	char duration[64];

	if (length >= sizeof(duration))
		return -EINVAL;
	(void)snprintf(duration, sizeof(duration), "%s", text);
	if (length > strlen(ago) && strcmp(text + length - strlen(ago), ago) == 0)
		duration[length - strlen(ago)] = '\0';
	return parse_ago(duration, now_s, ret_moment_s);
}

/* Returns -1 if that day has no such time of day, because clocks were put forward past it. */
static int64_t clock_on_day(const struct tm *day, const struct tm *clock, int days_back, int is_dst)
{
	struct tm date = *clock;
	int64_t moment;

	date.tm_year = day->tm_year;
	date.tm_mon = day->tm_mon;
	date.tm_mday = day->tm_mday - days_back;
	date.tm_isdst = is_dst;
	moment = (int64_t)mktime(&date);
	if (date.tm_hour != clock->tm_hour || date.tm_min != clock->tm_min)
		return -1;
	return moment;
}

/* Finds the latest moment not after @before_s at which local clocks show @clock. */
static int latest_clock(const struct tm *clock, uint64_t before_s, uint64_t *ret_moment_s)
{
	time_t before = (time_t)before_s;
	int64_t latest = -1;
	struct tm day;

	if (!localtime_r(&before, &day))
		return -EINVAL;
	/*
	 * Three days, each with and without summer time: today the time of day may be later than
	 * @before_s, and yesterday may lack it.
	 */
	for (int i = 0; i < 6; i++) {
		int64_t moment = clock_on_day(&day, clock, i / 2, i % 2);

		if (moment <= (int64_t)before_s)
			latest = MAX(latest, moment);
	}
	if (latest < 0)
		return -EINVAL;
	*ret_moment_s = (uint64_t)latest;
	return 0;
}

static int parse_clock(const char *text, uint64_t before_s, uint64_t *ret_moment_s)
{
	struct tm clock = {};

	if (!read_clock(&text, &clock) || *text != '\0')
		return -EINVAL;
	return latest_clock(&clock, before_s, ret_moment_s);
}

/* "yesterday", "today", "yesterday 03:12". Without a time of day: the first second of the day. */
static int parse_day(const char *text, uint64_t now_s, uint64_t *ret_moment_s)
{
	bool yesterday = strncmp(text, "yesterday", strlen("yesterday")) == 0;
	time_t now = (time_t)now_s;
	struct tm date = {}, today;
	int64_t moment;

	if (!yesterday && strncmp(text, "today", strlen("today")) != 0)
		return -EINVAL;
	text += strlen(yesterday ? "yesterday" : "today");
	if (*text == ' ') {
		text++;
		if (!read_clock(&text, &date))
			return -EINVAL;
	}
	if (*text != '\0' || !localtime_r(&now, &today))
		return -EINVAL;
	date.tm_year = today.tm_year;
	date.tm_mon = today.tm_mon;
	date.tm_mday = today.tm_mday - yesterday;
	date.tm_isdst = -1;
	moment = (int64_t)mktime(&date);
	if (moment < 0)
		return -EINVAL;
	*ret_moment_s = (uint64_t)moment;
	return 0;
}

static bool is_number(const char *text)
{
	return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* Refuses small numbers: they are probably incomplete durations or times of day. */
static int parse_unix_seconds(const char *text, uint64_t *ret_moment_s)
{
	uint64_t number;

	if (!read_number(&text, &number) || (number > 0 && number < EARLIEST_UNIX_S))
		return -EINVAL;
	*ret_moment_s = number;
	return 0;
}

/* A time of day without a date means the latest such moment not after @before_s. */
static int parse_moment(const char *text, uint64_t now_s, uint64_t before_s, uint64_t *ret_moment_s)
{
	if (strcmp(text, "now") == 0) {
		*ret_moment_s = now_s;
		return 0;
	}
	if (strncmp(text, "now-", 4) == 0)
		return parse_ago(text + 4, now_s, ret_moment_s);
	if (*text == '-')
		return parse_ago(text + 1, now_s, ret_moment_s);
	if (is_number(text))
		return parse_unix_seconds(text, ret_moment_s);
	if (parse_clock(text, before_s, ret_moment_s) == 0 ||
	    parse_day(text, now_s, ret_moment_s) == 0 || parse_date(text, ret_moment_s) == 0)
		return 0;
	return parse_words_ago(text, now_s, ret_moment_s);
}

int time_moment_parse(const char *text, uint64_t now_s, uint64_t *ret_moment_s)
{
	return parse_moment(text, now_s, now_s, ret_moment_s);
}

/* Writes a message that names what @text lacks, with examples. */
static int refuse_moment(const char *option, const char *text,
			 char ret_message[TIME_RANGE_MESSAGE_SIZE])
{
	if (is_number(text) && strlen(text) < 9)
		(void)snprintf(ret_message, TIME_RANGE_MESSAGE_SIZE,
			       "%s '%s' has no unit; write '%sm ago' or '%sh ago', a time of day "
			       "such as 03:12, or unix seconds",
			       option, text, text, text);
	else
		(void)snprintf(ret_message, TIME_RANGE_MESSAGE_SIZE,
			       "%s '%.40s' is no time; try 03:12, yesterday, '10m ago', "
			       "'2026-08-21 09:30', 2026-08-21T09:30:00Z or unix seconds",
			       option, text);
	return -EINVAL;
}

static int refuse_last(const char *text, char ret_message[TIME_RANGE_MESSAGE_SIZE])
{
	if (is_number(text) && strlen(text) < 9)
		(void)snprintf(ret_message, TIME_RANGE_MESSAGE_SIZE,
			       "--last '%s' has no unit; write %ss for seconds or %sm for minutes",
			       text, text, text);
	else
		(void)snprintf(ret_message, TIME_RANGE_MESSAGE_SIZE,
			       "--last '%.40s' is no duration; try 90s, 5m, 2h or 7d", text);
	return -EINVAL;
}

int time_range_resolve(const struct time_range_texts *texts, uint64_t now_s,
		       struct time_range *ret_range, char ret_message[TIME_RANGE_MESSAGE_SIZE])
{
	const char *last = texts->last ? texts->last : TIME_RANGE_DEFAULT_LAST;
	struct time_range range = { .until_s = now_s };
	uint64_t last_s;

	if (texts->since && texts->last) {
		(void)snprintf(ret_message, TIME_RANGE_MESSAGE_SIZE,
			       "give --since or --last, not both");
		return -EINVAL;
	}
	if (texts->until && parse_moment(texts->until, now_s, now_s, &range.until_s) < 0)
		return refuse_moment("--until", texts->until, ret_message);
	if (time_duration_parse(last, &last_s) < 0)
		return refuse_last(last, ret_message);
	/* Both ends are included: the last 60 seconds until second 100 are 41 to 100. */
	range.since_s = range.until_s >= last_s ? range.until_s - last_s + 1 : 1;
	if (texts->since &&
	    parse_moment(texts->since, now_s, MIN(now_s, range.until_s), &range.since_s) < 0)
		return refuse_moment("--since", texts->since, ret_message);

	if (range.since_s > range.until_s) {
		(void)snprintf(ret_message, TIME_RANGE_MESSAGE_SIZE,
			       "--since is later than --until");
		return -EINVAL;
	}
	*ret_range = range;
	return 0;
}

struct time_range_parameters time_range_parameters(const struct time_range *range)
{
	struct time_range_parameters parameters;

	(void)snprintf(parameters.since, sizeof(parameters.since), "%" PRIu64, range->since_s);
	(void)snprintf(parameters.until, sizeof(parameters.until), "%" PRIu64, range->until_s + 1);
	return parameters;
}
