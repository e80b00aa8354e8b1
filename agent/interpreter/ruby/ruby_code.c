/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct rb_iseq_constant_body (vm_core.h) begins with the kind of code, the number of words of the
 * code, its address, and the parameters. rb_iseq_location_t follows: file, name, label, first line.
 */
#include "agent/interpreter/ruby/ruby_code.h"

#include <string.h>

#include "agent/interpreter/ruby/ruby_lines.h"
#include "agent/interpreter/runtime/words.h"
#include "common/utf8.h"

/* The fields of a body that are read are in its first bytes. */
#define BODY_BYTES 152

#define BODY_KIND  0
#define BODY_WORDS 4
#define BODY_CODE  8
#define BODY_FILE  64
#define BODY_NAME  72
#define BODY_LABEL 80

/* enum iseq_type has 9 values. */
#define MAX_KIND 15

/* Lines from which no code has more. */
#define MAX_LINE (1U << 30)

/* RBasic: flags and class. The lowest five bits of the flags are the type of the object. */
#define OBJECT_WORDS   5
#define TYPE_BITS      0x1f
#define TYPE_STRING    5
#define TYPE_ARRAY     7
#define USER_1         (1U << 13)
#define IS_OUTSIDE     USER_1 /* of a string: the bytes are not in the object */
#define IS_INSIDE      USER_1 /* of an array: the elements are */
#define LENGTH_SHIFT   14     /* of a string in an object without length */
#define LENGTH_BITS    0x1f
#define OBJECT_LENGTH  2 /* the word after RBasic, */
#define STRING_ADDRESS 3 /* and the next one */
#define ARRAY_ADDRESS  4

/* Reads the object at @value, of a type. 0; -EBADMSG: it is no such object. */
static int read_object(const struct ruby_memory *memory, uint64_t value, uint32_t type,
		       uint64_t words[OBJECT_WORDS])
{
	int r;

	/* Objects are aligned; other values, such as nil, are no addresses. */
	if (value & 7 || value < 4096)
		return -EBADMSG;
	r = memory->read(memory->arg, value, words, OBJECT_WORDS * sizeof(words[0]));
	if (r < 0)
		return r;
	return (words[0] & TYPE_BITS) == type ? 0 : -EBADMSG;
}

/* Reads the String @value to @to, as UTF-8. 0 or a negative errno. */
static int read_text(const struct ruby_memory *memory, uint64_t value, size_t max_bytes,
		     uint8_t *to, uint32_t *ret_bytes)
{
	uint64_t words[OBJECT_WORDS], length, address = value + OBJECT_LENGTH * sizeof(words[0]);
	char text[CODE_FILE_BYTES];
	size_t size;
	int r = read_object(memory, value, TYPE_STRING, words);

	static_assert(sizeof(text) >= CODE_NAME_BYTES, "room for all texts");
	if (r < 0)
		return r;
	length = words[OBJECT_LENGTH];
	if (words[0] & IS_OUTSIDE)
		address = words[STRING_ADDRESS];
	else if (memory->layout->text_has_length)
		address += sizeof(words[0]);
	else
		length = words[0] >> LENGTH_SHIFT & LENGTH_BITS;
	size = (size_t)MIN(length, (uint64_t)max_bytes);
	r = size > 0 ? memory->read(memory->arg, address, text, size) : 0;
	if (r < 0)
		return r;
	for (size_t i = 0; i < size; i++)
		if (text[i] == '\0')
			text[i] = '?';
	*ret_bytes = (uint32_t)utf8_repair(text, size, (char *)to, max_bytes);
	return 0;
}

/* Reads the file: a String, or an Array of it and of its absolute path, which may be nil. */
static int read_file(const struct ruby_memory *memory, uint64_t value, uint8_t *to,
		     uint32_t *ret_bytes)
{
	uint64_t words[OBJECT_WORDS], files[2], address = value + OBJECT_LENGTH * sizeof(words[0]);
	int r = read_object(memory, value, TYPE_ARRAY, words);

	if (r == -EBADMSG)
		return read_text(memory, value, CODE_FILE_BYTES, to, ret_bytes);
	if (r == 0 && !(words[0] & IS_INSIDE))
		address = words[ARRAY_ADDRESS];
	if (r == 0)
		r = memory->read(memory->arg, address, files, sizeof(files));
	if (r < 0)
		return r;
	r = read_text(memory, files[1], CODE_FILE_BYTES, to, ret_bytes);
	return r == -EBADMSG ? read_text(memory, files[0], CODE_FILE_BYTES, to, ret_bytes) : r;
}

/* 0: it is not known. */
static uint32_t first_line(const struct ruby_layout *layout, const uint8_t *body)
{
	uint64_t line = half_at(body, layout->first_line);

	if (layout->line_is_fixnum)
		line = word_at(body, layout->first_line) >> 1;
	return line < MAX_LINE ? (uint32_t)line : 0;
}

static uint64_t mark_of(const struct ruby_layout *layout, const uint8_t *body)
{
	const uint64_t parts[] = {
		word_at(body, BODY_CODE),
		word_at(body, BODY_FILE),
		word_at(body, BODY_NAME),
		word_at(body, BODY_LABEL),
		word_at(body, layout->lines_body),
		word_at(body, layout->lines_positions),
		(uint64_t)half_at(body, BODY_WORDS) << 32 | first_line(layout, body),
	};

	return read_code_mark(parts, sizeof(parts));
}

static int read_lines(const struct ruby_memory *memory, const uint8_t *body, uint8_t *to,
		      uint32_t *ret_bytes)
{
	const struct ruby_layout *layout = memory->layout;
	const struct ruby_lines lines = {
		.entries = word_at(body, layout->lines_body),
		.positions = word_at(body, layout->lines_positions),
		.n_entries = half_at(body, layout->lines_size),
		.n_words = half_at(body, BODY_WORDS),
	};
	int r = ruby_lines_read(memory, &lines, to, MAX_LINE_TABLE_BYTES);

	*ret_bytes = r > 0 ? (uint32_t)r : 0;
	return r < 0 ? r : 0;
}

static bool is_body(const uint8_t *body)
{
	return half_at(body, BODY_KIND) <= MAX_KIND && half_at(body, BODY_WORDS) > 0 &&
	       word_at(body, BODY_CODE) != 0 && word_at(body, BODY_CODE) % sizeof(uint64_t) == 0;
}

int ruby_code_read(const struct ruby_memory *memory, uint64_t address, uint64_t known_mark,
		   struct read_code *ret_code, uint8_t *content)
{
	struct read_code code = {};
	uint8_t body[BODY_BYTES];
	int r = memory->read(memory->arg, address, body, sizeof(body));

	if (r < 0)
		return r;
	if (!is_body(body))
		return -EBADMSG;
	code.mark = mark_of(memory->layout, body);
	if (code.mark == known_mark)
		return 0;
	code.first_line = first_line(memory->layout, body);
	r = read_text(memory, word_at(body, BODY_NAME), CODE_NAME_BYTES, content,
		      &code.function_bytes);
	if (r == 0 && code.function_bytes == 0)
		r = -EBADMSG;
	if (r < 0)
		return r;
	content += code.function_bytes;
	r = read_text(memory, word_at(body, BODY_LABEL), CODE_NAME_BYTES, content,
		      &code.qualified_name_bytes);
	if (r < 0)
		return r;
	content += code.qualified_name_bytes;
	r = read_file(memory, word_at(body, BODY_FILE), content, &code.file_bytes);
	if (r < 0)
		return r;
	content += code.file_bytes;
	r = read_lines(memory, body, content, &code.line_table_bytes);
	if (r < 0)
		return r;
	*ret_code = code;
	return 1;
}
