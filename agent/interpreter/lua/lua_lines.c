/* SPDX-License-Identifier: Apache-2.0 */
/* ldebug.c of Lua, luaG_getfuncline(). */
#include "agent/interpreter/lua/lua_lines.h"

#include "agent/interpreter/lua/lua_object.h"

/* The line of the instruction is in the other array: struct AbsLineInfo. */
#define ABSOLUTE            (-0x80)
#define ABSOLUTE_LINE_BYTES 8

/* Two numbers of up to 32 bits. */
#define MAX_CHANGE_BYTES 10

/* Bytes of the array that are read at once. */
#define PIECE_BYTES 4096

struct writer {
	uint8_t *to;
	size_t size, max_bytes;
	uint32_t position; /* of the last change */
	uint32_t line;
};

/* Where the lines are. */
struct source {
	const struct lua_memory *memory;
	uint64_t lines, absolute;
	uint32_t n_lines, n_absolute;
	uint32_t next_absolute;
};

static void put_number(struct writer *writer, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		writer->to[writer->size++] = (uint8_t)(value | 0x80);
	writer->to[writer->size++] = (uint8_t)value;
}

/* Notes that instructions from @position on are of @line. 0 or -ENOSPC. */
static int put_line(struct writer *writer, uint32_t position, uint32_t line)
{
	if (line == writer->line || line > LUA_MAX_LINE)
		return 0;
	if (writer->max_bytes - writer->size < MAX_CHANGE_BYTES)
		return -ENOSPC;
	put_number(writer, position - writer->position);
	/* Twice the distance, or twice that minus 1 if the line is smaller. */
	put_number(writer, line > writer->line ? (uint64_t)(line - writer->line) * 2
					       : (uint64_t)(writer->line - line) * 2 - 1);
	writer->position = position;
	writer->line = line;
	return 0;
}

/* Reads the line of instruction @position from the array with some of them. 0 or an errno. */
static int read_absolute(struct source *source, uint32_t position, uint32_t *line)
{
	uint32_t entry[2];
	int r;

	if (source->next_absolute >= source->n_absolute)
		return -EBADMSG;
	r = lua_read(source->memory,
		     source->absolute + (uint64_t)source->next_absolute * ABSOLUTE_LINE_BYTES,
		     entry, sizeof(entry));
	if (r < 0)
		return r;
	source->next_absolute++;
	if (entry[0] != position)
		return -EBADMSG;
	*line = entry[1];
	return 0;
}

/* The line after @line by a byte of the array. */
static int next_line(struct source *source, uint32_t position, uint8_t byte, uint32_t *line)
{
	const int8_t change = (int8_t)byte;

	if (change == ABSOLUTE)
		return read_absolute(source, position, line);
	*line = (uint32_t)((int64_t)*line + change);
	return 0;
}

static int add_piece(struct source *source, struct writer *writer, const uint8_t *piece,
		     uint32_t first, uint32_t n, uint32_t *line)
{
	const size_t line_bytes = source->memory->layout->code.line_bytes;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		if (line_bytes == sizeof(*line))
			*line = half_at(piece, i * line_bytes);
		else
			r = next_line(source, first + i, piece[i], line);
		if (r == 0)
			r = put_line(writer, first + i, *line);
	}
	return r;
}

int lua_lines_read(const struct lua_memory *memory, const uint8_t *proto, uint8_t *to,
		   size_t max_bytes)
{
	const struct lua_code_layout *layout = &memory->layout->code;
	struct source source = {
		.memory = memory,
		.lines = word_at(proto, layout->lines),
		.n_lines =
			MIN(half_at(proto, layout->n_lines), lua_proto_instructions(memory, proto)),
	};
	struct writer writer = { .to = to, .max_bytes = max_bytes };
	uint32_t line = half_at(proto, layout->first_line), first = 0;
	uint8_t piece[PIECE_BYTES];
	int r = 0;

	if (layout->absolute_lines) {
		source.absolute = word_at(proto, layout->absolute_lines);
		source.n_absolute = half_at(proto, layout->n_absolute_lines);
	}
	while (r == 0 && first < source.n_lines) {
		uint32_t n =
			MIN(source.n_lines - first, (uint32_t)(PIECE_BYTES / layout->line_bytes));

		r = lua_read(memory, source.lines + (uint64_t)first * layout->line_bytes, piece,
			     (size_t)n * layout->line_bytes);
		if (r == 0)
			r = add_piece(&source, &writer, piece, first, n, &line);
		first += n;
	}
	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	return (int)writer.size;
}
