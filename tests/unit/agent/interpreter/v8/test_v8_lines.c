/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/v8/v8_lines.h"

#include "tests/support/unit.h"

#define TEXT_START UINT64_C(0x1000)

/* Memory that has @size bytes at TEXT_START, and counts the bytes that were read. */
struct text_memory {
	const void *text;
	size_t size, n_read;
};

static int read_text(void *arg, uint64_t address, void *buffer, size_t size)
{
	struct text_memory *memory = arg;

	if (address < TEXT_START || address - TEXT_START > memory->size ||
	    memory->size - (address - TEXT_START) < size)
		return -EFAULT;
	memcpy(buffer, (const uint8_t *)memory->text + (address - TEXT_START), size);
	memory->n_read += size;
	return 0;
}

/* Line i, from 1, has i % 90 other characters. */
static size_t make_text(char *text, size_t size)
{
	size_t at = 0;

	for (size_t line = 1; at + line % 90 + 1 <= size; line++) {
		memset(text + at, 'x', line % 90);
		at += line % 90;
		text[at++] = '\n';
	}
	return at;
}

static void lines_are_those_of_a_simple_count(void **state)
{
	static char text[4 * V8_PIECE_CHARACTERS];
	static uint16_t wide[ARRAY_SIZE(text)];
	const size_t size = make_text(text, sizeof(text));
	struct text_memory narrow_memory = { text, size, 0 };
	struct text_memory wide_memory = { wide, size * 2, 0 };
	const struct v8_memory narrow = { .read = read_text, .arg = &narrow_memory };
	const struct v8_memory two_bytes = { .read = read_text, .arg = &wide_memory };
	struct v8_string string = { .address = TEXT_START, .length = (uint32_t)size };
	struct v8_lines *lines = calloc(2, sizeof(*lines));
	uint32_t expected = 1;

	(void)state;
	assert_non_null(lines);
	for (size_t i = 0; i < size; i++)
		wide[i] = (uint8_t)text[i];
	for (uint32_t i = 0; i < size; i++) {
		if (i % 251 == 0 || text[i] == '\n') {
			string.has_two_bytes = false;
			assert_int_equal(v8_line_find(&narrow, &lines[0], &string, i), expected);
			lines[0].bytes_read = 0;
			string.has_two_bytes = true;
			assert_int_equal(v8_line_find(&two_bytes, &lines[1], &string, i), expected);
			lines[1].bytes_read = 0;
		}
		expected += text[i] == '\n';
	}
	/* The last call: pieces before its own are not read again. */
	narrow_memory.n_read = 0;
	string.has_two_bytes = false;
	assert_true(v8_line_find(&narrow, &lines[0], &string, (uint32_t)size - 1) > 1);
	assert_true(narrow_memory.n_read < V8_PIECE_CHARACTERS);
	free(lines);
}

static void separators_of_unicode_end_lines(void **state)
{
	static const uint16_t text[] = { 'a', 0x2028, 'b', 0x2029, 'c', '\n', 'd' };
	struct text_memory content = { text, sizeof(text), 0 };
	const struct v8_memory memory = { .read = read_text, .arg = &content };
	const struct v8_string string = { TEXT_START, ARRAY_SIZE(text), true };
	struct v8_lines *lines = calloc(1, sizeof(*lines));

	(void)state;
	assert_non_null(lines);
	assert_int_equal(v8_line_find(&memory, lines, &string, 0), 1);
	assert_int_equal(v8_line_find(&memory, lines, &string, 2), 2);
	assert_int_equal(v8_line_find(&memory, lines, &string, 4), 3);
	assert_int_equal(v8_line_find(&memory, lines, &string, 6), 4);
	free(lines);
}

static void the_work_is_bounded(void **state)
{
	static char text[V8_PIECE_CHARACTERS];
	struct text_memory content = { text, sizeof(text), 0 };
	const struct v8_memory memory = { .read = read_text, .arg = &content };
	struct v8_string string = { .address = TEXT_START, .length = UINT32_MAX };
	struct v8_lines *lines = calloc(1, sizeof(*lines));
	uint32_t n_found = 0;

	(void)state;
	assert_non_null(lines);
	/* After the end of the memory, of the text, and of the longest text. */
	assert_int_equal(v8_line_find(&memory, lines, &string, V8_PIECE_CHARACTERS + 1), 0);
	assert_int_equal(v8_line_find(&memory, lines, &string, UINT32_MAX - 1), 0);
	string.length = 100;
	assert_int_equal(v8_line_find(&memory, lines, &string, 101), 0);
	assert_int_equal(v8_line_find(&memory, lines, &string, 100), 1);
	/* One request reads at most V8_MAX_TEXT_BYTES. */
	string.length = V8_PIECE_CHARACTERS;
	content.n_read = 0;
	while (v8_line_find(&memory, lines, &string, V8_PIECE_CHARACTERS - 1) == 1)
		n_found++;
	assert_true(n_found > 0 && content.n_read <= V8_MAX_TEXT_BYTES);
	free(lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_those_of_a_simple_count),
		cmocka_unit_test(separators_of_unicode_end_lines),
		cmocka_unit_test(the_work_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
