/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/time_range.h"

#include <time.h>

#include "tests/support/unit.h"

#define NOW_S UINT64_C(1755768600) /* 2025-08-21T09:30:00Z */

static void durations_are_numbers_with_units(void **state)
{
	static const struct {
		const char *text;
		uint64_t seconds;
	} cases[] = {
		{ "90", 90 },     { "1s", 1 },       { "5m", 300 },     { "2h", 7200 },
		{ "7d", 604800 }, { "1w", 604800 },  { "1h30m", 5400 }, { "1d2h3m4s", 93784 },
		{ "0m1s", 1 },    { "00005m", 300 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t seconds = 0;

		assert_ok(time_duration_parse(cases[i].text, &seconds));
		assert_int_equal(seconds, cases[i].seconds);
	}
}

static void what_is_no_duration_is_refused(void **state)
{
	static const char *const texts[] = { "",
					     "0",
					     "0s",
					     "m",
					     "5 m",
					     " 5m",
					     "5m ",
					     "-5m",
					     "+5m",
					     "5x",
					     "5M",
					     "1.5h",
					     "5mm",
					     "1h30",
					     "0x5",
					     "99999999999d",
					     "184467440737095516160" };

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

static void what_is_no_moment_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"yesterday",
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
		{ { .last = "60" }, NOW_S - 59, NOW_S },
		{ { .until = "1000", .last = "1m" }, 941, 1000 },
		{ { .since = "-1h" }, NOW_S - 3600, NOW_S },
		{ { .since = "500", .until = "500" }, 500, 500 },
		{ { .until = "30", .last = "1h" }, 1, 30 },
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

static void a_wrong_range_names_the_option_at_fault(void **state)
{
	static const struct {
		struct time_range_texts texts;
		const char *words;
	} cases[] = {
		{ { .since = "soon" }, "--since 'soon'" },
		{ { .until = "soon" }, "--until 'soon'" },
		{ { .last = "soon" }, "--last 'soon'" },
		{ { .since = "200", .until = "100" }, "later than --until" },
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
		cmocka_unit_test(what_is_no_duration_is_refused),
		cmocka_unit_test(moments_are_relative_or_absolute),
		cmocka_unit_test(what_is_no_moment_is_refused),
		cmocka_unit_test(a_range_includes_both_its_ends),
		cmocka_unit_test(a_wrong_range_names_the_option_at_fault),
	};

	return cmocka_run_group_tests(tests, in_a_zone_three_hours_east, NULL);
}
