/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the lines with those that CPython itself finds, for all functions of several modules. */
#include "common/hash.h"
#include "symbolizer/symbols/line_table/line_table.h"

#include "tests/support/unit.h"

#define PYTHON "/usr/bin/python3.11"

/* For each code object its first line and table, and then lines "start end line"; -1: no line. */
#define SCRIPT                                                                                     \
	"import argparse, ast, difflib, inspect, json.decoder, pathlib, typing, types\n"           \
	"def show(code):\n"                                                                        \
	"  print('code', code.co_firstlineno, code.co_linetable.hex())\n"                          \
	"  for start, end, line in code.co_lines():\n"                                             \
	"    print(start, end, -1 if line is None else line)\n"                                    \
	"  for constant in code.co_consts:\n"                                                      \
	"    if isinstance(constant, types.CodeType): show(constant)\n"                            \
	"for module in (argparse, ast, difflib, inspect, json.decoder, pathlib, typing):\n"        \
	"  show(compile(open(module.__file__).read(), module.__file__, 'exec'))\n"

#define MAX_TABLE_BYTES 65536

static void lines_are_those_of_python(void **state)
{
	static uint8_t bytes[MAX_TABLE_BYTES];
	static char line[2 * MAX_TABLE_BYTES + 64];
	static char hex[2 * MAX_TABLE_BYTES + 1];
	struct line_table table = { .language = "python" };
	uint64_t n_positions = 0, n_codes = 0;
	FILE *output;

	(void)state;
	if (access(PYTHON, X_OK) != 0)
		skip();
	output = popen(PYTHON " -c \"" SCRIPT "\"", "r");
	assert_non_null(output);
	while (fgets(line, sizeof(line), output)) {
		uint64_t start, end;
		int64_t expected;

		if (sscanf(line, "code %u %131072s", &table.first_line, hex) == 2) {
			int n = hex_decode(hex, strlen(hex), bytes, sizeof(bytes));

			assert_true(n > 0);
			table.bytes = (struct bytes_view){ bytes, (size_t)n };
			n_codes++;
			continue;
		}
		assert_int_equal(sscanf(line, "%zu %zu %zd", &start, &end, &expected), 3);
		for (uint64_t at = start; expected > 0 && at < end; at++, n_positions++)
			assert_int_equal(python_line_find(&table, at), expected);
	}
	assert_int_equal(pclose(output), 0);
	assert_true(n_codes > 500 && n_positions > 100000);
}

static void a_table_that_is_cut_anywhere_is_read_within_bounds(void **state)
{
	/* A long entry, columns, and an entry without a line. */
	static const uint8_t whole[] = { 0xf0, 0x41, 0x02, 0x01, 0x43, 0x07, 0x05, 0x80,
					 0x12, 0xd9, 0x01, 0x02, 0xff, 0xe8, 0x03 };

	(void)state;
	for (size_t size = 0; size <= sizeof(whole); size++) {
		scoped_free uint8_t *bytes = malloc(size ? size : 1);
		const struct line_table table = {
			.language = "python",
			.first_line = 10,
			.bytes = { bytes, size },
		};

		memcpy(bytes, whole, size);
		for (uint64_t at = 0; at < 64; at++)
			(void)python_line_find(&table, at);
		assert_int_equal(python_line_find(&table, UINT64_MAX), 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_those_of_python),
		cmocka_unit_test(a_table_that_is_cut_anywhere_is_read_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
