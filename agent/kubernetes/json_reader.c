/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/kubernetes/json_reader.h"

#include <string.h>

#include "common/utf8.h"

static void fail(struct json_reader *reader)
{
	reader->failed = true;
}

/* The next character that is no white space, or '\0' at the end and after an error. */
static char peek(struct json_reader *reader)
{
	while (reader->next < reader->end && *reader->next && strchr(" \t\r\n", *reader->next))
		reader->next++;
	return !reader->failed && reader->next < reader->end ? *reader->next : '\0';
}

static bool take(struct json_reader *reader, char character)
{
	if (peek(reader) != character)
		return false;
	reader->next++;
	return true;
}

static void enter(struct json_reader *reader, char bracket)
{
	if (reader->depth >= JSON_MAX_DEPTH || !take(reader, bracket)) {
		fail(reader);
		return;
	}
	reader->depth++;
	reader->is_first = true;
}

void json_enter_object(struct json_reader *reader)
{
	enter(reader, '{');
}

void json_enter_array(struct json_reader *reader)
{
	enter(reader, '[');
}

bool json_is_null(struct json_reader *reader)
{
	return peek(reader) == 'n';
}

/* Whether the object or array has another value; it is left if not. */
static bool has_next(struct json_reader *reader, char bracket)
{
	if (reader->failed || reader->depth == 0)
		return false;
	if (take(reader, bracket)) {
		reader->depth--;
		reader->is_first = false;
		return false;
	}
	if (!reader->is_first && !take(reader, ','))
		fail(reader);
	reader->is_first = false;
	return !reader->failed;
}

bool json_next_key(struct json_reader *reader, char *key, size_t key_size)
{
	if (!has_next(reader, '}'))
		return false;
	json_read_text(reader, key, key_size);
	if (!take(reader, ':'))
		fail(reader);
	return !reader->failed;
}

bool json_next_item(struct json_reader *reader)
{
	return has_next(reader, ']');
}

static int hex_digit(char character)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = character ? strchr(digits, character | 0x20) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* Reads the four digits after "\u". */
static uint32_t read_unit(struct json_reader *reader)
{
	uint32_t unit = 0;

	if (reader->end - reader->next < 4) {
		fail(reader);
		return 0;
	}
	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(*reader->next++);

		if (digit < 0)
			fail(reader);
		unit = unit << 4 | (uint32_t)(digit & 0xf);
	}
	return unit;
}

/* Two units, of which the first is a high surrogate, are one character. */
static uint32_t read_character(struct json_reader *reader)
{
	uint32_t high = read_unit(reader);
	uint32_t low;

	if ((high & 0xfc00) != 0xd800 || reader->end - reader->next < 2 ||
	    memcmp(reader->next, "\\u", 2) != 0)
		return high;
	reader->next += 2;
	low = read_unit(reader);
	/* utf8_encode() replaces a surrogate without its partner. */
	if ((low & 0xfc00) != 0xdc00)
		return high;
	return 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff));
}

/* Reads what follows a backslash. Returns its size in @to. */
static size_t read_escape(struct json_reader *reader, uint8_t to[4])
{
	static const char names[] = "\"\\/bfnrt";
	static const char characters[] = "\"\\/\b\f\n\r\t";
	const char *name;

	if (reader->next == reader->end) {
		fail(reader);
		return 0;
	}
	if (*reader->next == 'u') {
		reader->next++;
		return utf8_encode(read_character(reader), to);
	}
	name = *reader->next ? strchr(names, *reader->next) : NULL;
	if (!name) {
		fail(reader);
		return 0;
	}
	reader->next++;
	to[0] = (uint8_t)characters[name - names];
	return 1;
}

void json_read_text(struct json_reader *reader, char *text, size_t size)
{
	size_t length = 0;
	bool fits = true;

	text[0] = '\0';
	if (!take(reader, '"')) {
		fail(reader);
		return;
	}
	while (!reader->failed && reader->next < reader->end && *reader->next != '"') {
		uint8_t piece[4] = { (uint8_t)*reader->next++ };
		size_t n = piece[0] == '\\' ? read_escape(reader, piece) : 1;

		fits = fits && length + n < size && piece[0] != '\0';
		if (fits)
			memcpy(text + length, piece, n);
		length += n;
	}
	if (!take(reader, '"'))
		fail(reader);
	text[fits && !reader->failed ? length : 0] = '\0';
}

static void skip_word(struct json_reader *reader)
{
	const char *start = reader->next;

	while (reader->next < reader->end && *reader->next &&
	       strchr("+-.0123456789Eeaflnrstu", *reader->next))
		reader->next++;
	if (reader->next == start)
		fail(reader);
}

/* Recursion ends at JSON_MAX_DEPTH, because json_enter_*() fail there. */
void json_skip(struct json_reader *reader)
{
	char nothing[1];

	switch (peek(reader)) {
	case '{':
		json_enter_object(reader);
		while (json_next_key(reader, nothing, sizeof(nothing)))
			json_skip(reader);
		break;
	case '[':
		json_enter_array(reader);
		while (json_next_item(reader))
			json_skip(reader);
		break;
	case '"':
		json_read_text(reader, nothing, sizeof(nothing));
		break;
	default:
		skip_word(reader);
	}
}
