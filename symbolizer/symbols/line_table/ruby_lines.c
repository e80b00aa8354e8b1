/* SPDX-License-Identifier: Apache-2.0 */
/* The agent makes the table (agent/interpreter/ruby/ruby_lines.h). */
#include "symbolizer/symbols/line_table/line_table.h"

#include "common/frame.h"

uint32_t ruby_line_find(const struct line_table *table, uint64_t position)
{
	struct bytes_reader reader = bytes_reader_of(table->bytes);
	uint32_t found = table->first_line;
	uint64_t at = 0;
	uint32_t line = 0;

	if (position == FRAME_CODE_UNKNOWN_OFFSET)
		return found;
	while (reader.next < reader.end) {
		uint64_t distance = bytes_read_varint(&reader);
		uint64_t change = bytes_read_varint(&reader);

		if (reader.error || distance > position - at)
			return found;
		at += distance;
		/* A sum that is too large belongs to a malformed table, and is no line. */
		line += (uint32_t)(change & 1 ? -((change + 1) / 2) : change / 2);
		if (line != 0)
			found = line;
	}
	return found;
}
