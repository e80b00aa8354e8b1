/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's compressed line number table (src/hotspot/share/code/compressedStream.cpp), after a
 * byte that the agent adds: 1 if the numbers exclude the byte 0 (JDK 20 and later), else 0. The
 * table is a list of steps of (byte code index, line), both of which begin at 0:
 *
 *   0            the end
 *   1 ... 254    the index rises by byte / 8, the line by byte % 8
 *   255          two signed numbers follow: the differences of index and line
 *
 * A number has up to five bytes, the lowest first, with 6 bits per byte. Bytes below 192 (191 if 0
 * is excluded) end it. The lowest bit of a signed number is its sign.
 */
#include "symbolizer/symbols/line_table/line_table.h"

#define END    0
#define ESCAPE 255

#define MAX_NUMBER_BYTES 5
#define LOW_CODES        192
#define NUMBER_BITS      6

struct java_reader {
	struct bytes_reader bytes;
	uint8_t excluded; /* number of byte values that no number contains */
};

static uint32_t read_number(struct java_reader *reader)
{
	uint32_t number = 0;

	for (unsigned int i = 0; i < MAX_NUMBER_BYTES; i++) {
		uint32_t byte;

		if (reader->bytes.next == reader->bytes.end ||
		    *reader->bytes.next < reader->excluded)
			break;
		byte = (uint32_t)*reader->bytes.next++ - reader->excluded;
		number += byte << (NUMBER_BITS * i);
		if (byte < LOW_CODES - (uint32_t)reader->excluded || i == MAX_NUMBER_BYTES - 1)
			return number;
	}
	reader->bytes.error = -EBADMSG;
	return 0;
}

static int64_t read_signed(struct java_reader *reader)
{
	uint32_t number = read_number(reader);

	return number & 1 ? -(int64_t)(number >> 1) - 1 : (int64_t)(number >> 1);
}

/* Adds the next step. False: the table has ended, or is malformed. */
static bool read_step(struct java_reader *reader, int64_t *index, int64_t *line)
{
	uint8_t first;

	if (reader->bytes.next == reader->bytes.end)
		return false;
	first = *reader->bytes.next++;
	if (first == END)
		return false;
	if (first == ESCAPE) {
		*index += read_signed(reader);
		*line += read_signed(reader);
	} else {
		*index += first >> 3;
		*line += first & 7;
	}
	return reader->bytes.error == 0;
}

/*
 * The steps need not be in the order of the code: the line is that of the highest index up to
 * @position.
 */
uint32_t java_line_find(const struct line_table *table, uint64_t position)
{
	struct java_reader reader = { .bytes = bytes_reader_of(table->bytes) };
	uint32_t found = table->first_line;
	int64_t index = 0, line = 0, best = -1;

	if (table->bytes.size == 0 || *reader.bytes.next > 1)
		return table->first_line;
	reader.excluded = *reader.bytes.next++;
	while (read_step(&reader, &index, &line)) {
		if (index < 0 || index < best || (uint64_t)index > position || line <= 0 ||
		    line > UINT32_MAX)
			continue;
		best = index;
		found = (uint32_t)line;
	}
	return found;
}
