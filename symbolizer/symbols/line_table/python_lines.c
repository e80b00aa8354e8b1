/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython 3.11 and later (Objects/locations.md): the table is a list of entries, each for 1 to 8
 * adjacent units of bytecode of 2 bytes. The first byte of an entry has bit 7 set, a code in bits
 * 3 to 6, and the number of units minus 1 in bits 0 to 2. The code says which fields follow. All
 * other bytes have bit 7 clear.
 *
 *   code      line                      further fields
 *   0 ... 9   as before                 a byte with columns
 *   10 ... 12 code - 10 after before    two bytes with columns
 *   13        a signed difference       none
 *   14        a signed difference       three numbers: end line, columns
 *   15        none                      none
 *
 * A number is a sequence of bytes with 6 bits each, the lowest first; bit 6: more follow. The
 * lowest bit of a signed number is its sign.
 */
#include "symbolizer/symbols/line_table/line_table.h"

#define UNIT_BYTES 2

/* Bit of the first byte of each entry. */
#define ENTRY 0x80

enum {
	CODE_SHORT_END = 10,
	CODE_ONE_LINE_END = 13,
	CODE_NO_COLUMNS = 13,
	CODE_LONG = 14,
	CODE_NONE = 15,
};

static uint32_t read_number(struct bytes_reader *reader)
{
	uint32_t number = 0;

	for (unsigned int shift = 0; shift < 32; shift += 6) {
		uint8_t byte;

		if (reader->next == reader->end)
			break;
		byte = *reader->next++;
		number |= (uint32_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			return number;
	}
	reader->error = -EBADMSG;
	return 0;
}

static int64_t read_signed(struct bytes_reader *reader)
{
	uint32_t number = read_number(reader);

	return number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

static void skip(struct bytes_reader *reader, size_t size)
{
	if ((size_t)(reader->end - reader->next) < size)
		reader->error = -EBADMSG;
	else
		reader->next += size;
}

/* Reads the fields after the first byte of an entry. Returns the difference of the line. */
static int64_t read_fields(struct bytes_reader *reader, unsigned int code)
{
	int64_t difference = 0;

	if (code < CODE_SHORT_END) {
		skip(reader, 1);
	} else if (code < CODE_ONE_LINE_END) {
		difference = code - CODE_SHORT_END;
		skip(reader, 2);
	} else if (code != CODE_NONE) {
		difference = read_signed(reader);
		for (int i = 0; code == CODE_LONG && i < 3; i++)
			(void)read_number(reader);
	}
	return difference;
}

uint32_t python_line_find(const struct line_table *table, uint64_t position)
{
	struct bytes_reader reader = bytes_reader_of(table->bytes);
	int64_t line = table->first_line;
	uint32_t found = table->first_line;
	uint64_t end = 0;

	if (table->bytes.size > 0 && !(table->bytes.data[0] & ENTRY))
		return python_old_line_find(table, position);
	while (reader.next < reader.end && reader.error == 0) {
		uint8_t first = *reader.next++;
		unsigned int code = first >> 3 & 15;

		end += ((first & 7) + 1U) * UNIT_BYTES;
		line += read_fields(&reader, code);
		if (reader.error < 0 || !(first & ENTRY))
			break;
		/* Code without a line belongs to that before it. */
		if (code != CODE_NONE && line > 0 && line <= UINT32_MAX)
			found = (uint32_t)line;
		if (position < end)
			return found;
	}
	return table->first_line;
}
