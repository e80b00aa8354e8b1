/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/line_table/line_table.h"

#include "tests/support/unit.h"

static void code_without_a_table_has_its_first_line(void **state)
{
	const struct line_table tables[] = {
		{ .language = "python", .first_line = 12 },
		{ .language = "bpf", .first_line = 12 },
		{ .language = "", .first_line = 12 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		assert_int_equal(line_table_find(&tables[i], 40), 12);
}

static void a_table_is_decoded_by_its_language(void **state)
{
	/* Eight units at the first line, then one unit two lines below. */
	static const uint8_t bytes[] = { 0x80 | 13 << 3 | 7, 0, 0x80 | 13 << 3, 4 };
	struct line_table table = {
		.language = "python",
		.first_line = 100,
		.bytes = { bytes, sizeof(bytes) },
	};

	(void)state;
	assert_int_equal(line_table_find(&table, 15), 100);
	assert_int_equal(line_table_find(&table, 16), 102);
	assert_true(line_table_is_known("python"));
	assert_false(line_table_is_known("jit"));
	table.language = "javascript";
	assert_int_equal(line_table_find(&table, 16), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_without_a_table_has_its_first_line),
		cmocka_unit_test(a_table_is_decoded_by_its_language),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
