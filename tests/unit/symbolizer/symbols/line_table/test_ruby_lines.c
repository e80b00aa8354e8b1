/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/line_table/line_table.h"

#include "common/frame.h"
#include "tests/support/unit.h"

/* From position 0 on line 100, from 300 on 98, from 302 on 240. */
static const uint8_t bytes[] = { 0, 0xc8, 1, 0xac, 2, 3, 2, 0x9c, 2 };

static uint32_t line_at(uint64_t position, size_t size)
{
	const struct line_table table = {
		.language = "ruby",
		.first_line = 99,
		.bytes = { bytes, size },
	};

	return line_table_find(&table, position);
}

static void a_line_holds_up_to_the_next_position(void **state)
{
	(void)state;
	assert_true(line_table_is_known("ruby"));
	assert_int_equal(line_at(0, sizeof(bytes)), 100);
	assert_int_equal(line_at(299, sizeof(bytes)), 100);
	assert_int_equal(line_at(300, sizeof(bytes)), 98);
	assert_int_equal(line_at(301, sizeof(bytes)), 98);
	assert_int_equal(line_at(302, sizeof(bytes)), 240);
	assert_int_equal(line_at(UINT64_MAX, sizeof(bytes)), 240);
}

static void a_cut_table_has_the_lines_before_the_cut(void **state)
{
	(void)state;
	assert_int_equal(line_at(302, 0), 99);
	assert_int_equal(line_at(302, 1), 99);
	assert_int_equal(line_at(302, 2), 99);
	assert_int_equal(line_at(302, 4), 100);
	assert_int_equal(line_at(302, 6), 98);
	assert_int_equal(line_at(302, 8), 98);
}

static void an_unknown_position_has_the_first_line(void **state)
{
	(void)state;
	assert_int_equal(line_at(FRAME_CODE_UNKNOWN_OFFSET, sizeof(bytes)), 99);
	assert_int_equal(line_at(FRAME_CODE_UNKNOWN_OFFSET - 1, sizeof(bytes)), 240);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_holds_up_to_the_next_position),
		cmocka_unit_test(a_cut_table_has_the_lines_before_the_cut),
		cmocka_unit_test(an_unknown_position_has_the_first_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
