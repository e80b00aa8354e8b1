/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the lines with those that CPython itself finds, for all functions of several modules. */
#include "common/hash.h"
#include "symbolizer/symbols/line_table/line_table.h"

#include "tests/support/unit.h"

/*
 * For each code object its first line and table, and then lines "start end line"; -1: no line. The
 * agent adds the minor version to tables of versions before 3.11.
 */
#define SCRIPT                                                                                     \
	"import argparse, ast, difflib, inspect, json.decoder, pathlib, typing, types, dis, sys\n" \
	"minor = sys.version_info[1]\n"                                                            \
	"def lines(code):\n"                                                                       \
	"  if minor >= 10: return code.co_lines()\n"                                               \
	"  starts = list(dis.findlinestarts(code))\n"                                              \
	"  ends = [start for start, line in starts[1:]] + [len(code.co_code)]\n"                   \
	"  return [(start, end, line) for (start, line), end in zip(starts, ends)]\n"              \
	"def show(code):\n"                                                                        \
	"  table = code.co_linetable if minor >= 10 else code.co_lnotab\n"                         \
	"  if minor < 11: table = bytes([minor]) + table\n"                                        \
	"  print('code', code.co_firstlineno, table.hex())\n"                                      \
	"  for start, end, line in lines(code):\n"                                                 \
	"    print(start, end, -1 if line is None else line)\n"                                    \
	"  for constant in code.co_consts:\n"                                                      \
	"    if isinstance(constant, types.CodeType): show(constant)\n"                            \
	"for module in (argparse, ast, difflib, inspect, json.decoder, pathlib, typing):\n"        \
	"  show(compile(open(module.__file__).read(), module.__file__, 'exec'))\n"

#define MAX_TABLE_BYTES 65536

/* 1, or 0: there is no such version here. */
static int compare_with(const char *python, uint64_t least_positions)
{
	static uint8_t bytes[MAX_TABLE_BYTES];
	static char line[2 * MAX_TABLE_BYTES + 64];
	static char hex[2 * MAX_TABLE_BYTES + 1];
	struct line_table table = { .language = "python" };
	uint64_t n_positions = 0, n_codes = 0;
	static char command[sizeof(SCRIPT) + 64];
	FILE *output;

	if (access(python, X_OK) != 0)
		return 0;
	(void)snprintf(command, sizeof(command), "%s -c \"%s\"", python, SCRIPT);
	output = popen(command, "r");
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
	assert_true(n_codes > 500 && n_positions > least_positions);
	return 1;
}

static void lines_are_those_of_python(void **state)
{
	static const struct {
		const char *path;
		uint64_t least_positions; /* 3.11 has caches in the bytecode */
	} pythons[] = {
		{ "/usr/bin/python3.8", 50000 },
		{ "/usr/bin/python3.9", 50000 },
		{ "/usr/bin/python3.10", 50000 },
		{ "/usr/bin/python3.11", 100000 },
	};
	int n_compared = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pythons); i++)
		n_compared += compare_with(pythons[i].path, pythons[i].least_positions);
	if (n_compared == 0)
		skip();
}

/*
 * Tables that CPython 3.8.18, 3.9.18 and 3.10.13 made for one function, and the lines that
 * dis.findlinestarts() and co_lines() report, each up to the next one; 0: none. The function has a
 * call in several lines, lines of more than 255 bytes of code, and distances of more than 127 lines
 * in both directions.
 */
struct recorded {
	uint64_t code_bytes;
	struct bytes_view table;
	struct {
		uint64_t start;
		uint32_t line;
	} lines[20];
};

#define FIRST_LINE 2

#define TABLE(...)                                                                                 \
	{                                                                                          \
		.data = (const uint8_t[]){ __VA_ARGS__ },                                          \
		.size = sizeof((const uint8_t[]){ __VA_ARGS__ })                                   \
	}

/* clang-format off */
static const struct recorded recorded[] = {
	{ 692,
	  TABLE(0x08, 0x00, 0x02, 0x02, 0x01, 0x06, 0x01, 0x02, 0xff, 0x02, 0xff, 0x04, 0x03, 0x0c, 0x01, 0x0a,
		0x7f, 0x00, 0x19, 0xff, 0x00, 0xff, 0x00, 0x42, 0x01, 0x04, 0x01, 0x04, 0x7f, 0x00, 0x0f, 0x02,
		0x80, 0x00, 0xf2, 0x0e, 0x7f, 0x00, 0x10, 0x12, 0x01, 0x1c, 0x02),
	  { { 0, 4 }, { 2, 5 }, { 8, 6 }, { 10, 5 }, { 12, 4 }, { 16, 7 }, { 28, 8 }, { 38, 160 }, { 614, 161 },
	    { 618, 162 }, { 622, 304 }, { 624, 162 }, { 638, 305 }, { 656, 306 }, { 684, 308 } } },
	{ 696,
	  TABLE(0x09, 0x00, 0x02, 0x02, 0x01, 0x06, 0x01, 0x02, 0xff, 0x02, 0xff, 0x04, 0x03, 0x0c, 0x01, 0x0a,
		0x7f, 0x00, 0x19, 0xff, 0x00, 0xff, 0x00, 0x42, 0x01, 0x04, 0x01, 0x04, 0x7f, 0x00, 0x0f, 0x02,
		0x80, 0x00, 0xf2, 0x06, 0x7f, 0x00, 0x13, 0x02, 0x80, 0x00, 0xee, 0x06, 0x7f, 0x00, 0x10, 0x10,
		0x01, 0x1e, 0x02),
	  { { 0, 4 }, { 2, 5 }, { 8, 6 }, { 10, 5 }, { 12, 4 }, { 16, 7 }, { 28, 8 }, { 38, 160 }, { 614, 161 },
	    { 618, 162 }, { 622, 304 }, { 624, 162 }, { 630, 308 }, { 632, 162 }, { 638, 305 }, { 654, 306 },
	    { 684, 308 } } },
	{ 1234,
	  TABLE(0x0a, 0x02, 0x02, 0x06, 0x01, 0x02, 0x01, 0x02, 0xff, 0x04, 0xff, 0x0c, 0x03, 0x0a, 0x01, 0x00,
		0x7f, 0xfe, 0x19, 0xfe, 0x00, 0xfe, 0x00, 0xfe, 0x00, 0x7c, 0x00, 0x04, 0x01, 0x04, 0x01, 0x00,
		0x7f, 0x02, 0x0f, 0x00, 0x81, 0x06, 0xf1, 0x00, 0x7f, 0x04, 0x13, 0x10, 0xfd, 0x06, 0x01, 0x08,
		0x80, 0x02, 0xff, 0x04, 0x03),
	  { { 0, 4 }, { 2, 5 }, { 8, 6 }, { 10, 5 }, { 12, 4 }, { 16, 7 }, { 28, 8 }, { 38, 160 }, { 1178, 161 },
	    { 1182, 162 }, { 1186, 304 }, { 1188, 162 }, { 1194, 308 }, { 1198, 305 }, { 1214, 306 }, { 1220, 0 },
	    { 1228, 305 }, { 1230, 308 } } },
};
/* clang-format on */

static void lines_of_older_versions_are_those_recorded(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(recorded); i++) {
		const struct line_table table = {
			.language = "python",
			.first_line = FIRST_LINE,
			.bytes = recorded[i].table,
		};
		uint32_t expected = 0;

		for (uint64_t at = 0, next = 0; at < recorded[i].code_bytes; at++) {
			if (next < ARRAY_SIZE(recorded[i].lines) &&
			    recorded[i].lines[next].start == at) {
				/* Code without a line belongs to that before it. */
				if (recorded[i].lines[next].line != 0)
					expected = recorded[i].lines[next].line;
				next++;
			}
			assert_int_equal(python_line_find(&table, at), expected);
		}
	}
}

static void a_line_of_an_older_version_that_is_no_line_is_ignored(void **state)
{
	static const uint8_t changes[] = { 9, 0, 0x80, 2, 127, 2, 127 };
	static const uint8_t ranges[] = { 10, 2, 1, 2, 0x81, 2, 127 };
	struct line_table table = { .language = "python", .first_line = 5 };

	(void)state;
	table.bytes = (struct bytes_view){ changes, sizeof(changes) };
	assert_int_equal(python_line_find(&table, 0), 5);
	assert_int_equal(python_line_find(&table, 2), 4);
	assert_int_equal(python_line_find(&table, UINT64_MAX), 131);
	table.bytes = (struct bytes_view){ ranges, sizeof(ranges) };
	assert_int_equal(python_line_find(&table, 1), 6);
	assert_int_equal(python_line_find(&table, 2), 6);
	assert_int_equal(python_line_find(&table, 4), 6);
	assert_int_equal(python_line_find(&table, 6), 5);
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

static void an_older_table_that_is_cut_anywhere_is_read_within_bounds(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(recorded); i++) {
		for (size_t size = 0; size <= recorded[i].table.size; size++) {
			scoped_free uint8_t *bytes = malloc(size ? size : 1);
			const struct line_table table = {
				.language = "python",
				.first_line = FIRST_LINE,
				.bytes = { bytes, size },
			};

			memcpy(bytes, recorded[i].table.data, size);
			for (uint64_t at = 0; at < recorded[i].code_bytes; at++)
				assert_true(python_line_find(&table, at) > 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_those_of_python),
		cmocka_unit_test(lines_of_older_versions_are_those_recorded),
		cmocka_unit_test(a_line_of_an_older_version_that_is_no_line_is_ignored),
		cmocka_unit_test(a_table_that_is_cut_anywhere_is_read_within_bounds),
		cmocka_unit_test(an_older_table_that_is_cut_anywhere_is_read_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
