/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/options/time_range.h"

#include <time.h>

#include "tests/support/unit.h"

#define NOW_S UINT64_C(1755768600) /* 2025-08-21T09:30:00Z */

static void durations_are_numbers_with_units(void **state)
{
	static const struct {
		const char *text;
		uint64_t seconds;
	} cases[] = {
		{ "90s", 90 },
		{ "1s", 1 },
		{ "5m", 300 },
		{ "2h", 7200 },
		{ "7d", 604800 },
		{ "1w", 604800 },
		{ "1h30m", 5400 },
		{ "1d2h3m4s", 93784 },
		{ "0m1s", 1 },
		{ "00005m", 300 },
		{ "5 m", 300 },
		{ "10 minutes", 600 },
		{ "1 hour 30 min", 5400 },
		{ "2days", 172800 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t seconds = 0;

		assert_ok(time_duration_parse(cases[i].text, &seconds));
		assert_int_equal(seconds, cases[i].seconds);
	}
}

static void invalid_durations_are_refused(void **state)
{
	static const char *const texts[] = {
		"",          "0",    "0s",  "m",    "90",  "5  m",         "5 ",
		"5 minuets", "m5",   " 5m", "5m ",  "-5m", "+5m",          "5x",
		"5M",        "1.5h", "5mm", "1h30", "0x5", "99999999999d", "184467440737095516160"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		uint64_t seconds = 42;

		if (time_duration_parse(texts[i], &seconds) != -EINVAL)
			fail_msg("accepted '%s'", texts[i]);
		assert_int_equal(seconds, 42);
	}
}

static void moments_are_relative_or_absolute(void **state)
{
	static const struct {
		const char *text;
		uint64_t moment_s;
	} cases[] = {
		{ "now", NOW_S },
		{ "-10m", NOW_S - 600 },
		{ "now-2h", NOW_S - 7200 },
		{ "10m", NOW_S - 600 },
		{ "10m ago", NOW_S - 600 },
		{ "10 minutes ago", NOW_S - 600 },
		{ "2h ago", NOW_S - 7200 },
		{ "1 hour ago", NOW_S - 3600 },
		{ "today", 1755723600 },
		{ "today 12:30", NOW_S },
		{ "yesterday", 1755723600 - 86400 },
		{ "yesterday 12:30", NOW_S - 86400 },
		/* a time of day: now it is 12:30:00 */
		{ "03:12", 1755723600 + 3 * 3600 + 12 * 60 },
		{ "03:12:30", 1755723600 + 3 * 3600 + 12 * 60 + 30 },
		{ "12:30", NOW_S },
		{ "12:30:01", NOW_S + 1 - 86400 },
		{ "23:59", 1755723600 - 60 },
		{ "1755768600", NOW_S },
		{ "0", 0 },
		{ "2025-08-21T09:30:00Z", NOW_S },
		{ "2025-08-21t09:30:00z", NOW_S },
		{ "2025-08-21T09:30:00.999Z", NOW_S },
		{ "2025-08-21T11:30:00+02:00", NOW_S },
		{ "2025-08-21T04:00:00-05:30", NOW_S },
		{ "2025-08-21 09:30Z", NOW_S },
		{ "2024-02-29T00:00:00Z", 1709164800 },
		/* without a zone: local, which is +03:00 here */
		{ "2025-08-21T12:30:00", NOW_S },
		{ "2025-08-21 12:30", NOW_S },
		{ "2025-08-21", 1755723600 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t moment_s = 42;

		if (time_moment_parse(cases[i].text, NOW_S, &moment_s) < 0)
			fail_msg("refused '%s'", cases[i].text);
		assert_int_equal(moment_s, cases[i].moment_s);
	}
}

static void invalid_moments_are_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"ago",
		" ago",
		"10 ago",
		"soon ago",
		"yesterdays",
		"yesterday ago",
		"yesterday 25:00",
		"today 03",
		"tomorrow",
		"3:12",
		"03:1",
		"24:00",
		"03:60",
		"03:12:60",
		"03:12pm",
		"5",
		"312",
		"99999999",
		"now+5m",
		"-",
		"--5m",
		"+10m",
		"2025-08",
		"2025-02-30",
		"2025-02-29T00:00:00Z",
		"2025-13-01",
		"2025-08-21T24:00:00",
		"2025-08-21T09:60:00Z",
		"2025-08-21T09:30:61Z",
		"2025-08-21T09:30:00ZZ",
		"2025-08-21T09:30:00+2",
		"2025-08-21T09:30:00+02:60",
		"2025-08-21T09",
		"2025-08-21T09:30:00.Z",
		"25-08-21",
		"1755768600000",
		"1960-01-01T00:00:00Z",
		"-99999d",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		uint64_t moment_s = 42;

		if (time_moment_parse(texts[i], NOW_S, &moment_s) != -EINVAL)
			fail_msg("accepted '%s'", texts[i]);
		assert_int_equal(moment_s, 42);
	}
}

static void a_range_includes_both_its_ends(void **state)
{
	static const struct {
		struct time_range_texts texts;
		uint64_t since_s, until_s;
	} cases[] = {
		{ {}, NOW_S - 899, NOW_S },
		{ { .last = "60s" }, NOW_S - 59, NOW_S },
		{ { .until = "100001000", .last = "1m" }, 100000941, 100001000 },
		{ { .since = "-1h" }, NOW_S - 3600, NOW_S },
		{ { .since = "500000000", .until = "500000000" }, 500000000, 500000000 },
		{ { .until = "1970-01-01T00:00:30Z", .last = "1h" }, 1, 30 },
		{ { .since = "0" }, 0, NOW_S },
		{ { .since = "yesterday", .until = "today" }, 1755723600 - 86400, 1755723600 },
		/* the latest 10:00 is today, the latest 13:00 was yesterday */
		{ { .since = "10:00", .until = "12:00" }, NOW_S - 9000, NOW_S - 1800 },
		{ { .since = "10:00", .until = "13:00" },
		  NOW_S - 9000 - 86400,
		  NOW_S + 1800 - 86400 },
		{ { .since = "23:50", .until = "00:10" }, 1755723600 - 600, 1755723600 + 600 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char message[TIME_RANGE_MESSAGE_SIZE];
		struct time_range range;

		assert_ok(time_range_resolve(&cases[i].texts, NOW_S, &range, message));
		assert_int_equal(range.since_s, cases[i].since_s);
		assert_int_equal(range.until_s, cases[i].until_s);
	}
}

static void the_parameter_until_is_the_second_after_the_range(void **state)
{
	const struct time_range range = { .since_s = 1724230800, .until_s = 1724230899 };
	const struct time_range_parameters parameters = time_range_parameters(&range);

	(void)state;
	assert_string_equal(parameters.since, "1724230800");
	assert_string_equal(parameters.until, "1724230900");
}

static void the_error_for_a_wrong_range_names_the_option(void **state)
{
	static const struct {
		struct time_range_texts texts;
		const char *words;
	} cases[] = {
		{ { .since = "soon" }, "--since 'soon'" },
		{ { .until = "soon" }, "--until 'soon'" },
		{ { .last = "soon" }, "--last 'soon' is no duration; try 90s, 5m" },
		{ { .last = "5" },
		  "--last '5' has no unit; write 5s for seconds or 5m for minutes" },
		{ { .since = "5" }, "--since '5' has no unit; write '5m ago'" },
		{ { .since = "3:12" },
		  "--since '3:12' is no time; try 03:12, yesterday, '10m ago'" },
		{ { .since = "200000000", .until = "100000000" }, "later than --until" },
		{ { .since = "-1h", .last = "1h" }, "not both" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char message[TIME_RANGE_MESSAGE_SIZE] = "";
		struct time_range range;

		assert_errno(time_range_resolve(&cases[i].texts, NOW_S, &range, message), -EINVAL);
		assert_non_null(strstr(message, cases[i].words));
	}
}

/* Clocks were put forward on 2025-03-30 from 02:00 to 03:00, and back on 2025-10-26 from 03:00. */
static void a_time_of_day_is_right_when_clocks_are_changed(void **state)
{
	static const struct {
		const char *text;
		uint64_t now_s, moment_s;
	} cases[] = {
		/*
		 * 02:30 did not exist that day: it is the day before's, seen on the day and the
		 * next
		 */
		{ "02:30", 1743328800 /* 2025-03-30 12:00 */, 1743211800 },
		{ "02:30", 1743379200 /* 2025-03-31 02:00 */, 1743211800 },
		{ "12:00", 1743328799, 1743246000 },
		/* 02:30 existed twice: the second time, unless now is between the two */
		{ "02:30", 1761476400 /* 2025-10-26 12:00 */, 1761442200 },
		{ "02:30", 1761440400 /* 2025-10-26 02:00, again */, 1761438600 },
		{ "12:00", 1761476399, 1761386400 },
	};

	(void)state;
	(void)setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t moment_s = 42;

		assert_ok(time_moment_parse(cases[i].text, cases[i].now_s, &moment_s));
		assert_int_equal(moment_s, cases[i].moment_s);
	}
}

static int in_a_zone_three_hours_east(void **state)
{
	(void)state;
	(void)setenv("TZ", "TEST-3", 1);
	tzset();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_are_numbers_with_units),
		cmocka_unit_test(invalid_durations_are_refused),
		cmocka_unit_test(moments_are_relative_or_absolute),
		cmocka_unit_test(invalid_moments_are_refused),
		cmocka_unit_test(a_range_includes_both_its_ends),
		cmocka_unit_test(the_parameter_until_is_the_second_after_the_range),
		cmocka_unit_test(the_error_for_a_wrong_range_names_the_option),
		cmocka_unit_test_setup_teardown(a_time_of_day_is_right_when_clocks_are_changed,
						NULL, in_a_zone_three_hours_east),
	};

	return cmocka_run_group_tests(tests, in_a_zone_three_hours_east, NULL);
}
