/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/python/python_code.h"

#include "agent/interpreter/runtime/words.h"
#include "common/utf8.h"

/* The fields of a code object that are read are in its first bytes. */
#define CODE_BYTES 192

/* PyASCIIObject or PyCompactUnicodeObject, whichever is larger. */
#define TEXT_BYTES 72

/* PyASCIIObject.state: bits 2 to 4 are the bytes of a character, then two flags. */
#define STATE_KIND(state)       ((state) >> 2 & 7)
#define STATE_IS_COMPACT(state) ((state) >> 5 & 1)
#define STATE_IS_ASCII(state)   ((state) >> 6 & 1)

/* A character of @kind bytes. */
static uint32_t character_at(const uint8_t *text, size_t index, uint32_t kind)
{
	uint16_t two;

	if (kind == 1)
		return text[index];
	if (kind == 4)
		return half_at(text, index * 4);
	memcpy(&two, text + index * 2, sizeof(two));
	return two;
}

static size_t convert(const uint8_t *text, size_t n_characters, uint32_t kind, size_t max_bytes,
		      uint8_t *to)
{
	size_t used = 0;

	for (size_t i = 0; i < n_characters; i++) {
		uint8_t character[4];
		size_t size = utf8_encode(character_at(text, i, kind), character);

		if (size > max_bytes - used)
			break;
		memcpy(to + used, character, size);
		used += size;
	}
	return used;
}

/* Reads the str object at @address to @to, as UTF-8. 0 or negative errno. */
static int read_text(const struct python_memory *memory, uint64_t address, size_t max_bytes,
		     uint8_t *to, uint32_t *ret_bytes)
{
	const struct python_code_layout *layout = memory->layout;
	uint8_t head[TEXT_BYTES];
	uint8_t text[CODE_FILE_BYTES];
	size_t n_characters;
	uint32_t state, kind;
	int r;

	static_assert(sizeof(text) >= CODE_NAME_BYTES && sizeof(text) >= CODE_FILE_BYTES,
		      "room for all texts");
	r = memory->read(memory->arg, address, head, layout->text_state + sizeof(state));
	if (r < 0)
		return r;
	state = half_at(head, layout->text_state);
	kind = STATE_KIND(state);
	if (!STATE_IS_COMPACT(state) || (kind != 1 && kind != 2 && kind != 4))
		return -EBADMSG;
	n_characters = (size_t)MIN(word_at(head, layout->text_length), (uint64_t)max_bytes / kind);
	address += STATE_IS_ASCII(state) ? layout->text_ascii : layout->text_other;
	r = n_characters > 0 ? memory->read(memory->arg, address, text, n_characters * kind) : 0;
	if (r < 0)
		return r;
	*ret_bytes = (uint32_t)convert(text, n_characters, kind, max_bytes, to);
	return 0;
}

/*
 * Reads the bytes object at @address, behind the mark of its version if there is one. A larger one
 * than the limit counts as empty.
 */
static int read_line_table(const struct python_memory *memory, uint64_t address, uint8_t *to,
			   uint32_t *ret_bytes)
{
	const size_t size_at = memory->layout->bytes_data - 2 * sizeof(uint64_t);
	const size_t mark_bytes = memory->layout->line_table_mark ? 1 : 0;
	uint64_t size;
	int r;

	r = memory->read(memory->arg, address + size_at, &size, sizeof(size));
	if (r < 0)
		return r;
	if (size == 0 || size > MAX_LINE_TABLE_BYTES - mark_bytes) {
		*ret_bytes = 0;
		return 0;
	}
	to[0] = (uint8_t)memory->layout->line_table_mark;
	r = memory->read(memory->arg, address + memory->layout->bytes_data, to + mark_bytes,
			 (size_t)size);
	if (r < 0)
		return r;
	*ret_bytes = (uint32_t)(mark_bytes + size);
	return 0;
}

static uint64_t mark_of(const struct python_code_layout *layout, const uint8_t *head)
{
	const uint64_t parts[] = {
		word_at(head, layout->code_file),       word_at(head, layout->code_name),
		word_at(head, layout->code_line_table), word_at(head, layout->code_qualified_name),
		half_at(head, layout->code_first_line),
	};

	return read_code_mark(parts, sizeof(parts));
}

int python_code_read(const struct python_memory *memory, uint64_t address, uint64_t known_mark,
		     struct read_code *ret_code, uint8_t *content)
{
	const struct python_code_layout *layout = memory->layout;
	struct read_code code = {};
	uint8_t head[CODE_BYTES];
	int r;

	r = memory->read(memory->arg, address, head, sizeof(head));
	if (r < 0)
		return r;
	code.mark = mark_of(layout, head);
	if (code.mark == known_mark)
		return 0;
	code.first_line = half_at(head, layout->code_first_line);
	r = read_text(memory, word_at(head, layout->code_name), CODE_NAME_BYTES, content,
		      &code.function_bytes);
	if (r < 0)
		return r;
	content += code.function_bytes;
	r = read_text(memory, word_at(head, layout->code_qualified_name), CODE_NAME_BYTES, content,
		      &code.qualified_name_bytes);
	if (r < 0)
		return r;
	content += code.qualified_name_bytes;
	r = read_text(memory, word_at(head, layout->code_file), CODE_FILE_BYTES, content,
		      &code.file_bytes);
	if (r < 0)
		return r;
	content += code.file_bytes;
	r = read_line_table(memory, word_at(head, layout->code_line_table), content,
			    &code.line_table_bytes);
	if (r < 0)
		return r;
	*ret_code = code;
	return 1;
}
