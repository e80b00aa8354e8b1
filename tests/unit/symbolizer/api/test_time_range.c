/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/api/time_range.h"

#include "tests/unit/symbolizer/api/api_fixture.h"

static void durations_have_a_number_and_a_unit(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns; /* 0: refused */
	} cases[] = {
		{ "500ms", 500 * NSEC_PER_MSEC },
		{ "90s", 90 * NSEC_PER_SEC },
		{ "90", 90 * NSEC_PER_SEC },
		{ "15m", 900 * NSEC_PER_SEC },
		{ "2h", 7200 * NSEC_PER_SEC },
		{ "7d", 604800 * NSEC_PER_SEC },
		{ "", 0 },
		{ "0s", 0 },
		{ "-5m", 0 },
		{ "soon", 0 },
		{ "5 m", 0 },
		{ "5M", 0 },
		{ "1.5h", 0 },
		{ "999999999999d", 0 },
		{ "1234567890123", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t ns = 0;
		int r = duration_parse(cases[i].text, &ns);

		if (r != (cases[i].ns ? 0 : -EINVAL) || ns != cases[i].ns)
			fail_msg("'%s'", cases[i].text);
	}
}

static void times_are_unix_seconds_or_rfc_3339(void **state)
{
	static const struct {
		const char *text;
		int64_t second; /* -1: refused */
	} cases[] = {
		{ "0", 0 },
		{ "1700000000", 1700000000 },
		{ "2023-11-14T22:13:20Z", 1700000000 },
		{ "2023-11-14T22:13:20.75z", 1700000000 },
		{ "2023-11-14T23:43:20+01:30", 1700000000 },
		{ "2023-11-14T14:13:20-08:00", 1700000000 },
		{ "9999-12-31T23:59:59Z", INT64_C(253402300799) },
		{ "1700000000000", -1 },
		{ "-1", -1 },
		{ "1969-12-31T23:59:59Z", -1 },
		{ "2023-11-14", -1 },
		{ "2023-11-14T22:13:20", -1 },
		{ "2023-11-14T22:13:20+1", -1 },
		{ "2023-11-14T22:13:20+25:00", -1 },
		{ "2023-13-14T22:13:20Z", -1 },
		{ "yesterday", -1 },
		{ "12x", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t wall_ns = 7;
		int r = wall_time_parse(cases[i].text, &wall_ns);

		if (r != (cases[i].second < 0 ? -EINVAL : 0) ||
		    wall_ns != (cases[i].second < 0 ? 7 : (uint64_t)cases[i].second * NSEC_PER_SEC))
			fail_msg("'%s': %d, %llu", cases[i].text, r, (unsigned long long)wall_ns);
	}
}

static int parse(const struct http_field *parameters, struct time_range *ret_range, char *message)
{
	struct http_request request = { .parameters = parameters };

	while (parameters[request.n_parameters].name)
		request.n_parameters++;
	return time_range_parse(&request, &fixture_clock, 600 * NSEC_PER_SEC, ret_range, message);
}

static void a_range_ends_now_by_default(void **state)
{
	static const struct {
		struct http_field parameters[4];
		uint64_t since, until;
	} cases[] = {
		{ { {} }, FIXTURE_NOW - 600, FIXTURE_NOW },
		{ { { "last", "" } }, FIXTURE_NOW - 600, FIXTURE_NOW },
		{ { { "last", "5m" } }, FIXTURE_NOW - 300, FIXTURE_NOW },
		{ { { "since", "1000" } }, 1000, FIXTURE_NOW },
		{ { { "since", "1000" }, { "until", "1001" } }, 1000, 1001 },
		{ { { "until", "1000" }, { "last", "10s" } }, 990, 1000 },
		{ { { "until", "1000" } }, 400, 1000 },
		{ { { "until", "10" } }, 0, 10 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char message[TIME_RANGE_MESSAGE_SIZE];
		struct time_range range;

		assert_ok(parse(cases[i].parameters, &range, message));
		assert_int_equal(range.since_wall_ns, cases[i].since * NSEC_PER_SEC);
		assert_int_equal(range.until_wall_ns, cases[i].until * NSEC_PER_SEC);
		assert_int_equal(range.from_slot, cases[i].since * SLOTS_PER_SECOND);
		assert_int_equal(range.to_slot, cases[i].until * SLOTS_PER_SECOND);
	}
}

static void the_error_names_the_invalid_parameter(void **state)
{
	static const struct {
		struct http_field parameters[4];
		const char *message;
	} cases[] = {
		{ { { "last", "soon" } },
		  "last: 'soon' is no duration; write it as 90s, 15m, 2h or 7d" },
		{ { { "since", "x" } },
		  "since: 'x' is no time; give unix seconds (1735689600) or RFC 3339 "
		  "(2025-01-01T00:00:00Z)" },
		{ { { "until", "1e9" } },
		  "until: '1e9' is no time; give unix seconds (1735689600) or RFC 3339 "
		  "(2025-01-01T00:00:00Z)" },
		{ { { "since", "5" }, { "until", "5" } }, "since must be before until" },
		{ { { "since", "1700000061" } }, "since must be before until" },
		{ { { "since", "5" }, { "last", "5m" } }, "last and since exclude each other" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char message[TIME_RANGE_MESSAGE_SIZE] = "";
		struct time_range range;

		assert_errno(parse(cases[i].parameters, &range, message), -EINVAL);
		assert_string_equal(message, cases[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_have_a_number_and_a_unit),
		cmocka_unit_test(times_are_unix_seconds_or_rfc_3339),
		cmocka_unit_test(a_range_ends_now_by_default),
		cmocka_unit_test(the_error_names_the_invalid_parameter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
