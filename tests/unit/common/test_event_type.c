/* SPDX-License-Identifier: Apache-2.0 */
#include "common/event_type.h"

#include "tests/support/unit.h"

static void numbers_names_and_units_are_consistent(void **state)
{
	static const struct {
		unsigned int number;
		const char *name, *unit;
	} cases[] = {
		{ 1, "on-cpu", "ns" },       { 2, "off-cpu", "ns" },
		{ 3, "on-gpu", "ns" },       { 4, "mem-alloc", "bytes" },
		{ 5, "mem-inuse", "bytes" }, { 6, "hbm-alloc", "bytes" },
		{ 7, "hbm-inuse", "bytes" }, { 8, "rdma", "bytes" },
		{ 9, "run-queue", "ns" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_string_equal(event_type_name(cases[i].number), cases[i].name);
		assert_string_equal(event_type_unit(cases[i].number), cases[i].unit);
		assert_int_equal(event_type_from_name(cases[i].name), cases[i].number);
		assert_int_equal(event_type_answer_divisor(cases[i].number),
				 strcmp(cases[i].unit, "ns") == 0 ? 1000 : 1);
	}
}

static void unknown_types_have_no_name(void **state)
{
	static const unsigned int numbers[] = { 0, EVENT_TYPE_END, 1000, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		assert_null(event_type_name(numbers[i]));
		assert_null(event_type_unit(numbers[i]));
	}
	assert_int_equal(event_type_from_name(""), EVENT_NONE);
	assert_int_equal(event_type_from_name("On-CPU"), EVENT_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_names_and_units_are_consistent),
		cmocka_unit_test(unknown_types_have_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
