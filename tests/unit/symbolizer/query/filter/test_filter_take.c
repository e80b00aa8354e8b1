/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/filter/filter_take.h"

#include <inttypes.h>

#include "tests/support/unit.h"

#define OPEN UINT64_MAX

static bool is_known(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return true;
}

/* The series of the tests: host web-1, no other tag. */
static size_t look_up(void *arg, const char *name, const char *const **ret_values)
{
	static const char *const web = "web-1";

	(void)arg;
	*ret_values = &web;
	return strcmp(name, "host") == 0;
}

static struct filter *parsed(const char *text)
{
	struct filter *filter = NULL;
	struct filter_error error;

	if (filter_parse(text, is_known, NULL, &filter, &error) < 0)
		fail_msg("%s: %s at %zu", text, error.message, error.offset);
	return filter;
}

static void the_range_is_taken_out_of_the_filter(void **state)
{
	static const struct {
		const char *text;
		uint64_t from_s, to_s;
		bool selects; /* what is left */
	} cases[] = {
		{ "", 0, OPEN, true },
		{ "host = 'web-1'", 0, OPEN, true },
		{ "time>=10 AND time<=20", 10, 20, true },
		{ "time>10 AND time<20", 11, 19, true },
		{ "time>=10", 10, OPEN, true },
		{ "time<=20", 0, 20, true },
		{ "time = 15", 15, 15, true },
		{ "time >= '10' AND time <= \"2e1\"", 10, 20, true },
		{ "`time`>=10 AND Enum(time)<=20", 10, 20, true },
		{ "time>=10 AND host='web-1' AND time<=20", 10, 20, true },
		{ "host='db' AND time>=10 AND time<=20", 10, 20, false },
		{ "time>=10 AND time<=20 AND NOT host='web-1'", 10, 20, false },
		{ "(time>=10 AND (host='db' AND time<=20))", 10, 20, false },
		{ "(time>=10 AND (host='web-1' AND time<=20))", 10, 20, true },
		{ "time>=10 AND time>=12 AND time<=20 AND time<=18", 12, 18, true },
		{ "(host='a' OR host='web-1') AND time>=10", 10, OPEN, true },
		{ "time<=253402300799", 0, 253402300799, true },
		/* an empty range */
		{ "time>=20 AND time<=10", 20, 10, true },
		{ "time>10 AND time<11", 11, 10, true },
		{ "time=10 AND time=11", 11, 10, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(filter_freep) struct filter *filter = parsed(cases[i].text);
		struct filter_error error = {};
		struct filter_range range;

		if (filter_take_range(filter, &range, &error) < 0)
			fail_msg("%s: %s", cases[i].text, error.message);
		if (range.from_s != cases[i].from_s || range.to_s != cases[i].to_s)
			fail_msg("%s: %" PRIu64 " to %" PRIu64, cases[i].text, range.from_s,
				 range.to_s);
		if (filter_matches(filter, look_up, NULL) != cases[i].selects)
			fail_msg("%s: the rest is wrong", cases[i].text);
	}
}

static void time_elsewhere_or_in_another_form_is_an_error(void **state)
{
	static const char *const cases[] = {
		"time>=10 OR host='web-1'",
		"NOT time>=10",
		"NOT (time>=10 AND time<=20)",
		"host='a' AND (time>=10 OR time<=20)",
		"time != 10",
		"time IN (10, 20)",
		"time NOT IN (10)",
		"time LIKE '1*'",
		"time REGEXP '1'",
		"time IS NULL",
		"exist(time)",
		"time>='yesterday'",
		"time>=10.5",
		"time>=0",
		"time>=-10",
		"time>=1e30",
		"time<=253402300800",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(filter_freep) struct filter *filter = parsed(cases[i]);
		struct filter_error error = {};
		struct filter_range range;

		if (filter_take_range(filter, &range, &error) != -EINVAL)
			fail_msg("%s is accepted", cases[i]);
		assert_true(error.message[0]);
	}
}

static void the_value_of_a_tag_is_taken_out_of_the_filter(void **state)
{
	static const struct {
		const char *text, *value;
		bool selects;
	} cases[] = {
		{ "app_service = 'nginx'", "nginx", true },
		{ "app_service IN ('nginx')", "nginx", true },
		{ "Enum(app_service) = 'nginx' AND host = 'web-1'", "nginx", true },
		{ "host = 'db' AND (app_service IN ('it''s'))", "it's", false },
		/* the series has no app_service */
		{ "app_service IN ('a') AND app_service IN ('b')", "a", false },
		/* no one value */
		{ "", NULL, true },
		{ "app_service IN ('a', 'b')", NULL, false },
		{ "app_service NOT IN ('a')", NULL, true },
		{ "app_service != 'a'", NULL, true },
		{ "NOT app_service = 'a'", NULL, true },
		{ "app_service LIKE 'a'", NULL, false },
		{ "app_service >= 'a'", NULL, false },
		{ "app_service IS NULL", NULL, true },
		{ "app_service = 'a' OR host = 'web-1'", NULL, true },
		{ "host = 'web-1'", NULL, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(filter_freep) struct filter *filter = parsed(cases[i].text);
		const char *value = filter_take_value(filter, "app_service");

		if (!value != !cases[i].value || (value && strcmp(value, cases[i].value) != 0))
			fail_msg("%s: '%s'", cases[i].text, value ? value : "(none)");
		if (filter_matches(filter, look_up, NULL) != cases[i].selects)
			fail_msg("%s: the rest is wrong", cases[i].text);
	}
}

static void the_values_that_a_tag_may_have_are_listed(void **state)
{
	static const struct {
		const char *text, *values;
	} cases[] = {
		{ "", "" },
		{ "a = '1'", "1" },
		{ "a IN ('1', '2', '3')", "1 2 3" },
		{ "Enum(a) IN ('1', '2') AND host = 'x'", "1 2" },
		{ "host = 'x' AND (a = '1' OR a = '2')", "1 2" },
		{ "a = '1' OR a IN ('2', '3')", "1 2 3" },
		{ "(a = '1' AND host = 'x') OR (host = 'y' AND a = '2')", "1 2" },
		{ "a IN ('1', '2') AND a = '2'", "1 2" },
		/* the tag is not limited */
		{ "a = '1' OR host = 'x'", "" },
		{ "host = 'x' OR a = '1'", "" },
		{ "a != '1'", "" },
		{ "NOT a = '1'", "" },
		{ "NOT (a = '1' OR a = '2')", "" },
		{ "a NOT IN ('1')", "" },
		{ "a LIKE '1'", "" },
		{ "b = '1'", "" },
		/* more than there is room for */
		{ "a IN ('1', '2', '3', '4', '5')", "1 2 3 4 (5)" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(filter_freep) struct filter *filter = parsed(cases[i].text);
		const char *values[4];
		size_t count = filter_list_values(filter, "a", values, ARRAY_SIZE(values));
		char text[64] = "";

		for (size_t k = 0; k < MIN(count, ARRAY_SIZE(values)); k++)
			(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				       k > 0 ? " " : "", values[k]);
		if (count > ARRAY_SIZE(values))
			(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), " (%zu)",
				       count);
		if (strcmp(text, cases[i].values) != 0)
			fail_msg("%s: '%s'", cases[i].text, text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_range_is_taken_out_of_the_filter),
		cmocka_unit_test(time_elsewhere_or_in_another_form_is_an_error),
		cmocka_unit_test(the_value_of_a_tag_is_taken_out_of_the_filter),
		cmocka_unit_test(the_values_that_a_tag_may_have_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
