/* SPDX-License-Identifier: Apache-2.0 */
#include "common/utf8.h"

#include <string.h>

#define MAX_CHARACTER 0x10ffff

static bool is_continuation(uint8_t byte)
{
	return (byte & 0xc0) == 0x80;
}

size_t utf8_sequence_length(const uint8_t *text, size_t size)
{
	uint8_t first = text[0];
	uint8_t lowest = 0x80, highest = 0xbf;
	size_t length;

	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		length = 2;
	else if (first >= 0xe0 && first <= 0xef)
		length = 3;
	else if (first >= 0xf0 && first <= 0xf4)
		length = 4;
	else
		return 0;
	if (size < length)
		return 0;

	/* Excludes overlong forms, surrogates, and code points above U+10FFFF. */
	if (first == 0xe0)
		lowest = 0xa0;
	else if (first == 0xf0)
		lowest = 0x90;
	else if (first == 0xed)
		highest = 0x9f;
	else if (first == 0xf4)
		highest = 0x8f;
	if (text[1] < lowest || text[1] > highest)
		return 0;
	for (size_t i = 2; i < length; i++)
		if (!is_continuation(text[i]))
			return 0;
	return length;
}

size_t utf8_valid_length(const char *text, size_t size)
{
	size_t at = 0;

	while (at < size) {
		size_t length = utf8_sequence_length((const uint8_t *)text + at, size - at);

		if (length == 0)
			break;
		at += length;
	}
	return at;
}

size_t utf8_repair(const char *text, size_t size, char *to, size_t capacity)
{
	size_t written = 0;

	for (size_t at = 0; at < size;) {
		size_t length = utf8_sequence_length((const uint8_t *)text + at, size - at);
		const char *from = length ? text + at : UTF8_REPLACEMENT;
		size_t needed = length ? length : UTF8_REPLACEMENT_SIZE;

		if (needed > capacity - written)
			break;
		memcpy(to + written, from, needed);
		written += needed;
		at += length ? length : 1;
	}
	return written;
}

size_t utf8_encode(uint32_t character, uint8_t to[4])
{
	if (character == 0 || character > MAX_CHARACTER ||
	    (character >= 0xd800 && character < 0xe000))
		character = '?';
	if (character < 0x80) {
		to[0] = (uint8_t)character;
		return 1;
	}
	if (character < 0x800) {
		to[0] = (uint8_t)(0xc0 | character >> 6);
		to[1] = (uint8_t)(0x80 | (character & 0x3f));
		return 2;
	}
	if (character < 0x10000) {
		to[0] = (uint8_t)(0xe0 | character >> 12);
		to[1] = (uint8_t)(0x80 | (character >> 6 & 0x3f));
		to[2] = (uint8_t)(0x80 | (character & 0x3f));
		return 3;
	}
	to[0] = (uint8_t)(0xf0 | character >> 18);
	to[1] = (uint8_t)(0x80 | (character >> 12 & 0x3f));
	to[2] = (uint8_t)(0x80 | (character >> 6 & 0x3f));
	to[3] = (uint8_t)(0x80 | (character & 0x3f));
	return 4;
}
