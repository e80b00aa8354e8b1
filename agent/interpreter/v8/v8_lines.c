/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/v8/v8_lines.h"

#include <string.h>

static struct v8_script_lines *script_of(struct v8_lines *lines, uint64_t address)
{
	struct v8_script_lines *script;

	for (size_t i = 0; i < V8_MAX_SCRIPTS; i++)
		if (lines->scripts[i].address == address)
			return &lines->scripts[i];
	script = &lines->scripts[lines->next];
	lines->next = (lines->next + 1) % V8_MAX_SCRIPTS;
	script->address = address;
	script->n_known = 1;
	script->n_before[0] = 0;
	return script;
}

static uint32_t count_bytes(const uint8_t *text, size_t size)
{
	const uint8_t *at = text, *end = text + size;
	uint32_t count = 0;

	while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
		count++;
		at++;
	}
	return count;
}

static uint32_t count_units(const uint8_t *text, size_t n_units)
{
	uint32_t count = 0;
	uint16_t unit;

	for (size_t i = 0; i < n_units; i++) {
		memcpy(&unit, text + i * sizeof(unit), sizeof(unit));
		/* LINE SEPARATOR and PARAGRAPH SEPARATOR end a line too (ECMA-262, 12.3). */
		count += unit == '\n' || unit == 0x2028 || unit == 0x2029;
	}
	return count;
}

/* Counts the ends of lines in the first @n_characters of piece @piece. False: it cannot be read. */
static bool count_piece(const struct v8_memory *memory, struct v8_lines *lines,
			const struct v8_string *text, uint32_t piece, uint32_t n_characters,
			uint32_t *ret_count)
{
	uint8_t buffer[V8_PIECE_CHARACTERS * sizeof(uint16_t)];
	const uint64_t first = (uint64_t)piece * V8_PIECE_CHARACTERS;
	const size_t size = (size_t)n_characters << text->has_two_bytes;

	lines->bytes_read += size;
	if (lines->bytes_read > V8_MAX_TEXT_BYTES)
		return false;
	if (size > 0 && memory->read(memory->arg, text->address + (first << text->has_two_bytes),
				     buffer, size) < 0)
		return false;
	*ret_count =
		text->has_two_bytes ? count_units(buffer, n_characters) : count_bytes(buffer, size);
	return true;
}

uint32_t v8_line_find(const struct v8_memory *memory, struct v8_lines *lines,
		      const struct v8_string *text, uint32_t position)
{
	const uint32_t piece = position / V8_PIECE_CHARACTERS;
	struct v8_script_lines *script;
	uint32_t count;

	if (position > text->length || piece >= V8_MAX_PIECES || text->address == 0)
		return 0;
	script = script_of(lines, text->address);
	for (; script->n_known <= piece; script->n_known++) {
		const uint32_t last = script->n_known - 1;

		if (!count_piece(memory, lines, text, last, V8_PIECE_CHARACTERS, &count))
			return 0;
		script->n_before[script->n_known] = script->n_before[last] + count;
	}
	if (!count_piece(memory, lines, text, piece, position % V8_PIECE_CHARACTERS, &count))
		return 0;
	return script->n_before[piece] + count + 1;
}

uint32_t v8_script_line(const struct v8_memory *memory, struct v8_lines *lines,
			const uint64_t script[V8_SCRIPT_WORDS], uint32_t position)
{
	struct v8_string text;
	uint32_t line;

	if (v8_string_find(memory, script[1], &text) < 0)
		return 0;
	line = v8_line_find(memory, lines, &text, position);
	if (line != 0 && v8_is_smi(script[3]) && v8_smi(script[3]) < UINT32_MAX / 2 - line)
		line += v8_smi(script[3]);
	return line;
}

uint32_t v8_script_line_find(const struct v8_memory *memory, struct v8_lines *lines,
			     uint64_t pointer, uint32_t position)
{
	uint64_t script[V8_SCRIPT_WORDS];
	uint16_t type;

	if (v8_object_read(memory, pointer, script, ARRAY_SIZE(script), &type) < 0 ||
	    type != memory->layout->script_type)
		return 0;
	return v8_script_line(memory, lines, script, position);
}
