/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/line_table/line_table.h"

#include "tests/support/unit.h"

/*
 * Lines 100, 103, 101 at 0, 5 and 37; line 400 at 237: the differences are (0, 100), (5, 3), (32,
 * -2) and (200, 299). The first one in the form of JDK 17, the second one in that of JDK 20.
 */
static const uint8_t table_17[] = { 0, 255, 0,   200, 0,   5 << 3 | 3, 255, 64,
				    3, 255, 208, 3,   214, 6,          0 };
static const uint8_t table_20[] = { 1, 255, 1,   201, 1,   5 << 3 | 3, 255, 65,
				    4, 255, 209, 4,   215, 7,          0 };

static void lines_follow_the_steps_of_the_table(void **state)
{
	static const struct {
		uint64_t position;
		uint32_t line;
	} cases[] = {
		{ 0, 100 },  { 4, 100 },   { 5, 103 },   { 36, 103 },
		{ 37, 101 }, { 236, 101 }, { 237, 400 }, { 70000, 400 },
	};
	const struct line_table tables[] = {
		{ .language = "java", .bytes = { table_17, sizeof(table_17) } },
		{ .language = "java", .bytes = { table_20, sizeof(table_20) } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (size_t at = 0; at < ARRAY_SIZE(cases); at++)
			assert_int_equal(line_table_find(&tables[i], cases[at].position),
					 cases[at].line);
}

static void steps_may_go_back(void **state)
{
	/* Line 10 at 20, then line 5 at 0: a loop whose condition the compiler has moved. */
	static const uint8_t bytes[] = { 0, 20 << 3 | 7, 0 << 3 | 3, 255, 39, 9, 0 };
	const struct line_table table = { .language = "java", .bytes = { bytes, sizeof(bytes) } };

	(void)state;
	assert_int_equal(java_line_find(&table, 0), 5);
	assert_int_equal(java_line_find(&table, 19), 5);
	assert_int_equal(java_line_find(&table, 20), 10);
}

static void a_table_that_is_cut_or_wrong_is_read_within_bounds(void **state)
{
	(void)state;
	for (size_t size = 0; size <= sizeof(table_17); size++) {
		scoped_free uint8_t *bytes = malloc(size ? size : 1);
		const struct line_table table = {
			.language = "java",
			.first_line = 10,
			.bytes = { bytes, size },
		};

		memcpy(bytes, table_17, size);
		for (uint64_t at = 0; at < 300; at++)
			(void)java_line_find(&table, at);
		/* Without the first step, the first line is all that is known. */
		if (size < 5)
			assert_int_equal(java_line_find(&table, UINT64_MAX), 10);
	}
}

static void a_table_of_an_unknown_form_gives_the_first_line(void **state)
{
	static const uint8_t bytes[] = { 2, 255, 0, 200, 0, 0 };
	const struct line_table table = {
		.language = "java",
		.first_line = 7,
		.bytes = { bytes, sizeof(bytes) },
	};

	(void)state;
	assert_int_equal(java_line_find(&table, 3), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_follow_the_steps_of_the_table),
		cmocka_unit_test(steps_may_go_back),
		cmocka_unit_test(a_table_that_is_cut_or_wrong_is_read_within_bounds),
		cmocka_unit_test(a_table_of_an_unknown_form_gives_the_first_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
