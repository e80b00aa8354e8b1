/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/php/php_code.h"

#include <string.h>

#include "agent/interpreter/runtime/words.h"
#include "common/utf8.h"

/* zend_function: its type is the first byte. */
#define FUNCTION_USER  2
#define FUNCTION_EVAL  4
#define FUNCTION_NAME  8
#define FUNCTION_SCOPE 16

/* Bytes of a function that are read: all fields of the layout are before. */
#define FUNCTION_BYTES 192

/* zend_class_entry: its type is the first byte. */
#define CLASS_INTERNAL 1
#define CLASS_USER     2
#define CLASS_NAME     8
#define CLASS_BYTES    16

/* zend_string: type_info, length, the text and a NUL. */
#define STRING_TYPE  4
#define STRING_BYTES 16
#define STRING_TEXT  24

/* The lowest bits of type_info. */
#define TYPE_MASK 15
#define IS_STRING 6

/* No PHP string of a name is longer. */
#define MAX_STRING_BYTES (64 * KIB)

#define CLOSURE "{closure"

/* Reads the string at @address to @to, as UTF-8 up to a NUL. 0 or a negative errno. */
static int read_string(const struct php_memory *memory, uint64_t address, size_t max_bytes,
		       uint8_t *to, uint32_t *ret_bytes)
{
	uint8_t head[STRING_TEXT];
	char text[CODE_FILE_BYTES];
	uint64_t length;
	size_t size;
	int r;

	static_assert(sizeof(text) >= CODE_NAME_BYTES, "room for all texts");
	if (address == 0 || address % sizeof(uint64_t) != 0)
		return -EBADMSG;
	r = memory->read(memory->arg, address, head, sizeof(head));
	if (r < 0)
		return r;
	length = word_at(head, STRING_BYTES);
	if ((half_at(head, STRING_TYPE) & TYPE_MASK) != IS_STRING || length == 0 ||
	    length > MAX_STRING_BYTES)
		return -EBADMSG;
	size = (size_t)MIN(length, (uint64_t)max_bytes);
	r = memory->read(memory->arg, address + STRING_TEXT, text, size);
	if (r < 0)
		return r;
	/* The name of an anonymous class has its address after a NUL. */
	size = strnlen(text, size);
	*ret_bytes = (uint32_t)utf8_repair(text, size, (char *)to, max_bytes);
	return *ret_bytes > 0 ? 0 : -EBADMSG;
}

/*
 * The name without class. The name of a closure is "{closure}" behind its namespace, and since PHP
 * 8.4 "{closure:" with file and line. No other name contains a brace.
 */
static int read_name(const struct php_memory *memory, const uint8_t *function, uint8_t *to,
		     uint32_t *ret_bytes)
{
	const uint64_t name = word_at(function, FUNCTION_NAME);
	int r;

	if (name == 0) {
		*ret_bytes = read_code_put(function[0] == FUNCTION_EVAL ? "{eval}" : "{main}", to);
		return 0;
	}
	r = read_string(memory, name, CODE_NAME_BYTES, to, ret_bytes);
	if (r == 0 && memmem(to, *ret_bytes, CLOSURE, strlen(CLOSURE)))
		*ret_bytes = read_code_put(CLOSURE "}", to);
	return r;
}

/* Reads the name of the class at @scope, and two colons. */
static int read_class(const struct php_memory *memory, uint64_t scope, uint8_t *to,
		      uint32_t *ret_bytes)
{
	uint8_t head[CLASS_BYTES];
	int r;

	if (scope % sizeof(uint64_t) != 0)
		return -EBADMSG;
	r = memory->read(memory->arg, scope, head, sizeof(head));
	if (r < 0)
		return r;
	if (head[0] != CLASS_INTERNAL && head[0] != CLASS_USER)
		return -EBADMSG;
	r = read_string(memory, word_at(head, CLASS_NAME), CODE_NAME_BYTES - 2, to, ret_bytes);
	if (r == 0)
		*ret_bytes += read_code_put("::", to + *ret_bytes);
	return r;
}

static int read_qualified_name(const struct php_memory *memory, const uint8_t *function,
			       struct read_code *code, uint8_t *content)
{
	const uint64_t scope = word_at(function, FUNCTION_SCOPE);
	int r;

	/* Code of a file that a method includes has the class of the method. */
	if (scope != 0 && word_at(function, FUNCTION_NAME) != 0) {
		r = read_class(memory, scope, content + code->function_bytes,
			       &code->qualified_name_bytes);
		if (r < 0)
			return r;
	}
	read_code_qualify(code, content);
	return 0;
}

static uint64_t mark_of(const struct php_code_layout *layout, const uint8_t *function)
{
	const uint64_t parts[] = {
		word_at(function, FUNCTION_NAME),
		word_at(function, FUNCTION_SCOPE),
		word_at(function, layout->function_file),
		word_at(function, layout->function_first_line),
	};

	return read_code_mark(parts, sizeof(parts));
}

/* Whether the bytes may be a function that was compiled of a script. */
static bool is_plausible(const struct php_code_layout *layout, const uint8_t *function)
{
	const uint32_t first_line = half_at(function, layout->function_first_line);
	const uint32_t last_line = half_at(function, layout->function_first_line + 4);

	return (function[0] == FUNCTION_USER || function[0] == FUNCTION_EVAL) &&
	       first_line <= last_line && last_line <= INT32_MAX;
}

int php_code_read(const struct php_memory *memory, uint64_t address, uint64_t known_mark,
		  struct read_code *ret_code, uint8_t *content)
{
	const struct php_code_layout *layout = memory->layout;
	uint8_t function[FUNCTION_BYTES];
	struct read_code code = {};
	int r;

	r = memory->read(memory->arg, address, function, sizeof(function));
	if (r < 0)
		return r;
	if (!is_plausible(layout, function))
		return -EBADMSG;
	code.mark = mark_of(layout, function);
	if (code.mark == known_mark)
		return 0;
	code.first_line = half_at(function, layout->function_first_line);
	r = read_name(memory, function, content, &code.function_bytes);
	if (r == 0)
		r = read_qualified_name(memory, function, &code, content);
	if (r < 0)
		return r;
	content += code.function_bytes + code.qualified_name_bytes;
	r = read_string(memory, word_at(function, layout->function_file), CODE_FILE_BYTES, content,
			&code.file_bytes);
	if (r < 0)
		return r;
	*ret_code = code;
	return 1;
}
