/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/print/number_format.h"

#include "tests/support/unit.h"

static void values_have_three_digits_and_the_unit_of_their_type(void **state)
{
	static const struct {
		enum event_type type;
		uint64_t value;
		const char *text;
	} cases[] = {
		{ EVENT_ON_CPU, 0, "0 us" },
		{ EVENT_ON_CPU, 999, "999 us" },
		{ EVENT_ON_CPU, 1000, "1.00 ms" },
		{ EVENT_ON_CPU, 10101, "10.1 ms" },
		{ EVENT_OFF_CPU, 999499, "999 ms" },
		{ EVENT_OFF_CPU, 999500, "1.00 s" },
		{ EVENT_ON_CPU, 59949999, "59.9 s" },
		{ EVENT_ON_CPU, 59950000, "1 m" },
		{ EVENT_ON_CPU, 61000000, "1 m 1 s" },
		{ EVENT_ON_CPU, UINT64_C(5400) * 1000000, "1 h 30 m" },
		{ EVENT_ON_CPU, UINT64_C(90000) * 1000000, "1 d 1 h" },
		{ EVENT_MEM_ALLOC, 999, "999 B" },
		{ EVENT_MEM_ALLOC, 1000, "0.98 KiB" },
		{ EVENT_MEM_INUSE, 5 * MIB, "5.00 MiB" },
		{ EVENT_MEM_INUSE, UINT64_MAX, "16.0 EiB" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[NUMBER_TEXT_SIZE];

		format_value(cases[i].type, cases[i].value, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void shares_have_one_decimal(void **state)
{
	static const struct {
		uint64_t part, whole;
		const char *text;
	} cases[] = {
		{ 0, 0, "0.0 %" },
		{ 1, 3, "33.3 %" },
		{ 7, 7, "100.0 %" },
		{ UINT64_MAX, 1, "999.9 %" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[NUMBER_TEXT_SIZE];

		format_share(cases[i].part, cases[i].whole, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void ages_get_coarser_as_they_grow(void **state)
{
	static const struct {
		uint64_t seconds;
		const char *text;
	} cases[] = {
		{ 0, "just now" },     { 12, "12 s ago" },     { 600, "10 m ago" },
		{ 36000, "10 h ago" }, { 864000, "10 d ago" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[NUMBER_TEXT_SIZE];

		format_age(cases[i].seconds, text);
		assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_have_three_digits_and_the_unit_of_their_type),
		cmocka_unit_test(shares_have_one_decimal),
		cmocka_unit_test(ages_get_coarser_as_they_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
