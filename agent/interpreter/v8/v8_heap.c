/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings: src/objects/string.h and instance-type.h of V8. The lowest bits of the instance type are
 * the representation; the fields of a string are its hash and its length, 4 bytes each, and then
 *
 *   sequential   the characters
 *   cons         two strings; when the string is used, the first one becomes the whole and the
 *                second one empty
 *   external     a resource of the embedder, the address of the characters
 *   sliced       the string of which it is a part, and the first character's index there
 *   thin         another string with the same characters
 */
#include "agent/interpreter/v8/v8_heap.h"

#include <string.h>

#include "common/utf8.h"

#define V8_TAG      1
#define V8_TAG_BITS 3

/* In a map, after its pointer to its own map and four bytes. */
#define MAP_INSTANCE_TYPE 12

#define TYPE_REPRESENTATION 0x07
#define TYPE_ONE_BYTE       0x08
#define TYPE_UNCACHED       0x10 /* external: there is no address of the characters */

enum representation {
	STRING_SEQUENTIAL = 0,
	STRING_CONS = 1,
	STRING_EXTERNAL = 2,
	STRING_SLICED = 3,
	STRING_THIN = 5,
};

/* Words of a string: map, hash and length, and two more. */
#define STRING_WORDS 4

/* A slice of a slice does not exist; a thin string may lead to each of the others. */
#define MAX_STRING_HOPS 4

/* The longest piece of a text that is read. */
#define TEXT_CHARACTERS 4096

/* Of one text. V8 concatenates the parts of a derived name, as in "exports.handler". */
#define MAX_CONCATENATIONS 8

int v8_object_read(const struct v8_memory *memory, uint64_t pointer, uint64_t *words,
		   size_t n_words, uint16_t *ret_type)
{
	int r;

	if ((pointer & V8_TAG_BITS) != V8_TAG)
		return -EBADMSG;
	r = memory->read(memory->arg, pointer - V8_TAG, words, n_words * sizeof(*words));
	if (r < 0)
		return r;
	if ((words[0] & V8_TAG_BITS) != V8_TAG)
		return -EBADMSG;
	return memory->read(memory->arg, words[0] - V8_TAG + MAP_INSTANCE_TYPE, ret_type,
			    sizeof(*ret_type));
}

uint32_t v8_string_length(const struct v8_memory *memory, uint64_t pointer)
{
	uint64_t words[2];
	uint16_t type;

	if (v8_object_read(memory, pointer, words, ARRAY_SIZE(words), &type) < 0 ||
	    type >= V8_FIRST_OTHER_TYPE)
		return 0;
	return (uint32_t)(words[1] >> 32);
}

int v8_string_find(const struct v8_memory *memory, uint64_t pointer, struct v8_string *ret_string)
{
	uint64_t words[STRING_WORDS], skip = 0;
	uint32_t length = 0;

	for (int hop = 0; hop < MAX_STRING_HOPS; hop++) {
		uint16_t type;
		int r = v8_object_read(memory, pointer, words, ARRAY_SIZE(words), &type);

		if (r < 0)
			return r;
		if (type >= V8_FIRST_OTHER_TYPE)
			return -EBADMSG;
		if (hop == 0)
			length = (uint32_t)(words[1] >> 32);
		ret_string->length = length;
		ret_string->has_two_bytes = !(type & TYPE_ONE_BYTE);
		switch (type & TYPE_REPRESENTATION) {
		case STRING_SEQUENTIAL:
			ret_string->address = pointer - V8_TAG + 2 * sizeof(uint64_t) +
					      (skip << ret_string->has_two_bytes);
			return 0;
		case STRING_EXTERNAL:
			ret_string->address = words[3] + (skip << ret_string->has_two_bytes);
			return type & TYPE_UNCACHED ? -EBADMSG : 0;
		case STRING_CONS:
			if (v8_string_length(memory, words[3]) != 0)
				return -EBADMSG;
			break;
		case STRING_SLICED:
			skip = v8_smi(words[3]);
			break;
		case STRING_THIN:
			break;
		default:
			return -EBADMSG;
		}
		pointer = words[2];
	}
	return -EBADMSG;
}

/* The character at *@index, which moves behind it. Half of a surrogate pair remains a surrogate. */
static uint32_t take_character(const uint8_t *text, size_t n_characters, bool has_two_bytes,
			       size_t *index)
{
	uint16_t unit, next = 0;
	size_t at = (*index)++;

	if (!has_two_bytes)
		return text[at];
	memcpy(&unit, text + at * sizeof(unit), sizeof(unit));
	if (unit < 0xd800 || unit >= 0xe000)
		return unit;
	if (*index < n_characters)
		memcpy(&next, text + *index * sizeof(next), sizeof(next));
	if (unit >= 0xdc00 || next < 0xdc00 || next >= 0xe000)
		return unit;
	(*index)++;
	return 0x10000 + ((uint32_t)(unit - 0xd800) << 10 | (uint32_t)(next - 0xdc00));
}

/* Where a string is written. */
struct text {
	uint8_t *to;
	size_t max_bytes, used;
	int n_pieces; /* that may still be read */
};

/* Appends a string whose characters are in one piece. */
static int append_piece(const struct v8_memory *memory, const struct v8_string *string,
			struct text *text)
{
	uint8_t characters[TEXT_CHARACTERS * sizeof(uint16_t)];
	const size_t max = MIN(text->max_bytes - text->used, (size_t)TEXT_CHARACTERS);
	const size_t count = MIN(max, (size_t)string->length);
	size_t index = 0;
	int r = count > 0 ? memory->read(memory->arg, string->address, characters,
					 count << string->has_two_bytes)
			  : 0;

	if (r < 0)
		return r;
	while (index < count) {
		uint8_t character[4];
		size_t size = utf8_encode(
			take_character(characters, count, string->has_two_bytes, &index),
			character);

		if (size > text->max_bytes - text->used)
			break;
		memcpy(text->to + text->used, character, size);
		text->used += size;
	}
	return 0;
}

/* Appends a string, whose first piece may be a concatenation too. */
static int append(const struct v8_memory *memory, uint64_t pointer, struct text *text)
{
	uint64_t words[STRING_WORDS];
	struct v8_string string;
	uint16_t type;
	int r = v8_string_find(memory, pointer, &string);

	if (r == 0)
		return append_piece(memory, &string, text);
	if (r != -EBADMSG || text->n_pieces-- == 0)
		return r;
	r = v8_object_read(memory, pointer, words, ARRAY_SIZE(words), &type);
	if (r < 0)
		return r;
	if (type >= V8_FIRST_OTHER_TYPE || (type & TYPE_REPRESENTATION) != STRING_CONS)
		return -EBADMSG;
	r = append(memory, words[2], text);
	return r < 0 ? r : append(memory, words[3], text);
}

int v8_string_read(const struct v8_memory *memory, uint64_t pointer, size_t max_bytes, uint8_t *to,
		   uint32_t *ret_bytes)
{
	struct text text = { .to = to, .max_bytes = max_bytes, .n_pieces = MAX_CONCATENATIONS };
	int r = append(memory, pointer, &text);

	if (r < 0)
		return r;
	*ret_bytes = (uint32_t)text.used;
	return 0;
}
