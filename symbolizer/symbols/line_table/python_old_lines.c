/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line tables of CPython 3.8 to 3.10, after a byte that the agent adds: the minor version. Both
 * forms are a list of pairs of bytes: the number of bytes by which the offset in the bytecode
 * rises, and a signed difference of the line (CPython, Objects/lnotab_notes.txt).
 *
 *   3.8, 3.9   the line changes at the new offset; the code after the last pair has the last line
 *   3.10       the code up to the new offset has the new line, or none if the difference is -128
 */
#include "symbolizer/symbols/line_table/line_table.h"

#define FIRST_VERSION_OF_RANGES 10

#define NO_LINE (-128)

struct pair {
	uint8_t bytes;
	int8_t lines;
};

static bool read_pair(struct bytes_reader *reader, struct pair *ret_pair)
{
	if (reader->end - reader->next < 2)
		return false;
	ret_pair->bytes = reader->next[0];
	ret_pair->lines = (int8_t)reader->next[1];
	reader->next += 2;
	return true;
}

static uint32_t line_or(int64_t line, uint32_t otherwise)
{
	return line > 0 && line <= UINT32_MAX ? (uint32_t)line : otherwise;
}

static uint32_t find_by_changes(struct bytes_reader *pairs, uint32_t first_line, uint64_t position)
{
	int64_t line = first_line;
	uint64_t at = 0;
	struct pair pair;

	while (read_pair(pairs, &pair)) {
		at += pair.bytes;
		if (at > position)
			break;
		line += pair.lines;
	}
	return line_or(line, first_line);
}

static uint32_t find_by_ranges(struct bytes_reader *pairs, uint32_t first_line, uint64_t position)
{
	uint32_t found = first_line;
	int64_t line = first_line;
	uint64_t end = 0;
	struct pair pair;

	while (read_pair(pairs, &pair)) {
		end += pair.bytes;
		/* Code without a line belongs to that before it. */
		if (pair.lines != NO_LINE) {
			line += pair.lines;
			found = line_or(line, found);
		}
		if (position < end)
			return found;
	}
	return first_line;
}

uint32_t python_old_line_find(const struct line_table *table, uint64_t position)
{
	struct bytes_reader reader = bytes_reader_of(table->bytes);

	if (reader.next == reader.end)
		return table->first_line;
	return *reader.next++ < FIRST_VERSION_OF_RANGES
		       ? find_by_changes(&reader, table->first_line, position)
		       : find_by_ranges(&reader, table->first_line, position);
}
