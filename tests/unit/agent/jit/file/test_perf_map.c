/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/jit/file/perf_map.h"

#include "tests/support/unit.h"

struct result {
	size_t n_handled;
	bool in_long_line;
	struct jit_codes codes;
};

static struct result *parse(const char *text, bool in_long_line, bool is_max_size)
{
	static struct result result;
	const struct perf_map_piece piece = {
		.text = { (const uint8_t *)text, strlen(text) },
		.offset = 1000,
		.in_long_line = in_long_line,
		.is_max_size = is_max_size,
	};

	result.codes.count = 0;
	result.n_handled = perf_map_parse(&piece, &result.codes, &result.in_long_line);
	return &result;
}

static void numbers_are_hexadecimal_with_or_without_0x(void **state)
{
	static const char *const lines[] = {
		"7f00001000 1c0 name\n",
		"0x7f00001000 0x1c0 name\n",
		"0000007F00001000 01C0 name\n",
		"7f00001000  1c0  name\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const struct bytes_view line = { (const uint8_t *)lines[i], strlen(lines[i]) };
		const struct result *result = parse(lines[i], false, false);
		struct bytes_view name;

		assert_int_equal(result->n_handled, line.size);
		assert_int_equal(result->codes.count, 1);
		assert_int_equal(result->codes.items[0].start, 0x7f00001000);
		assert_int_equal(result->codes.items[0].size, 0x1c0);
		assert_int_equal(result->codes.items[0].offset, 1000);
		assert_true(perf_map_name(line, &name));
		assert_bytes_equal_text(&name, "name");
	}
}

static void lines_of_another_form_are_skipped(void **state)
{
	static const char *const lines[] = {
		"\n",
		"name\n",
		"7f00001000\n",
		"7f00001000 \n",
		"7f00001000 1c0\n",
		"7f00001000 1c0 \n",
		"7f00001000 xyz name\n",
		"-7f00001000 1c0 name\n",
		"17f00001000fffff0 1c0 name\n", /* more than 64 bits */
		"7f00001000 0 name\n",          /* no code */
		"0 ffffffffffffffff name\n",    /* larger than code can be */
		"ffffffffffffff00 100 name\n",  /* the end wraps */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const struct result *result = parse(lines[i], false, false);

		assert_int_equal(result->n_handled, strlen(lines[i]));
		assert_int_equal(result->codes.count, 0);
	}
}

static void a_last_line_without_end_is_left(void **state)
{
	const struct result *result = parse("1000 10 first\n2000 10 sec", false, false);

	(void)state;
	assert_int_equal(result->codes.count, 1);
	assert_int_equal(result->n_handled, strlen("1000 10 first\n"));
	assert_false(result->in_long_line);
}

static void a_line_longer_than_a_piece_is_skipped(void **state)
{
	const struct result *result = parse("1000 10 a very long name", false, true);

	(void)state;
	assert_int_equal(result->n_handled, strlen("1000 10 a very long name"));
	assert_true(result->in_long_line);
	assert_int_equal(result->codes.count, 0);

	result = parse("2000 10 and its end\n3000 10 next\n", true, true);
	assert_false(result->in_long_line);
	assert_int_equal(result->codes.count, 1);
	assert_int_equal(result->codes.items[0].start, 0x3000);
	assert_int_equal(result->codes.items[0].offset, 1000 + strlen("2000 10 and its end\n"));
}

static void a_piece_ends_when_its_entries_are_full(void **state)
{
	static char text[(JIT_MAX_CODES + 5) * 10 + 1];
	const struct result *result;

	(void)state;
	for (size_t i = 0; i < JIT_MAX_CODES + 5; i++)
		memcpy(text + i * 10, "1000 10 n\n", 10);
	result = parse(text, false, false);
	assert_int_equal(result->codes.count, JIT_MAX_CODES);
	assert_int_equal(result->n_handled, JIT_MAX_CODES * 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_hexadecimal_with_or_without_0x),
		cmocka_unit_test(lines_of_another_form_are_skipped),
		cmocka_unit_test(a_last_line_without_end_is_left),
		cmocka_unit_test(a_line_longer_than_a_piece_is_skipped),
		cmocka_unit_test(a_piece_ends_when_its_entries_are_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
