/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nearly all labels are clean and are copied in one piece; others are rewritten character by
 * character. UTF-8 is checked as in RFC 3629: no overlong forms, no surrogates, no code points
 * above U+10FFFF.
 */

#include "symbolizer/flame/label.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
static const char ellipsis[] = "\xe2\x80\xa6";    /* U+2026 */

/* The smallest code point that needs a sequence of [index] bytes. */
static const uint32_t smallest_of_size[] = { 0, 0, 0x80, 0x800, 0x10000 };

static size_t sequence_size(uint8_t first)
{
	if (first < 0x80)
		return 1;
	if ((first & 0xe0) == 0xc0)
		return 2;
	if ((first & 0xf0) == 0xe0)
		return 3;
	if ((first & 0xf8) == 0xf0)
		return 4;
	return 0;
}

/* Returns the bytes of the character at @text; 0 if it is invalid or a control character (C0,
 * DEL or C1). */
static size_t character_size(const char *text, size_t length)
{
	uint8_t first = (uint8_t)text[0];
	size_t size = sequence_size(first);
	uint32_t code;

	if (size == 1)
		return first < 0x20 || first == 0x7f ? 0 : 1;
	if (size == 0 || size > length)
		return 0;

	code = first & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if (((uint8_t)text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | ((uint8_t)text[i] & 0x3f);
	}
	if (code < smallest_of_size[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
	    code < 0xa0)
		return 0;
	return size;
}

bool label_is_clean(const char *text, size_t length)
{
	if (length > LABEL_MAX_BYTES)
		return false;

	for (size_t i = 0; i < length;) {
		size_t size = character_size(text + i, length - i);

		if (size == 0 || text[i] == ';')
			return false;
		i += size;
	}
	return true;
}

int label_append(struct bytes *out, const char *text, size_t length)
{
	size_t end = out->size + LABEL_MAX_BYTES - (sizeof(ellipsis) - 1);

	if (label_is_clean(text, length))
		return bytes_append(out, text, length);

	for (size_t i = 0; i < length;) {
		size_t size = character_size(text + i, length - i);
		size_t needed = size ? size : sizeof(replacement) - 1;
		int r;

		if (out->size + needed > end)
			return bytes_append(out, ellipsis, sizeof(ellipsis) - 1);
		if (size == 0)
			r = bytes_append(out, replacement, sizeof(replacement) - 1);
		else if (text[i] == ';')
			r = bytes_append_byte(out, ':');
		else
			r = bytes_append(out, text + i, size);
		if (r < 0)
			return r;
		i += size ? size : 1;
	}
	return 0;
}

char label_type(const char *label)
{
	static const struct {
		char letter;
		char type;
	} prefixes[] = {
		{ 'p', 'P' }, { 'g', 'P' }, { 't', 'T' }, { 'k', 'K' }, { 'l', 'L' }, { 'c', 'C' },
	};

	if (label[0] != '[')
		return 'A';
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (label[1] == prefixes[i].letter && label[2] == ']' && label[3] == ' ')
			return prefixes[i].type;
	}
	return '?';
}
