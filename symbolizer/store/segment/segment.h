/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A segment: the samples of one service and event type in a range of time, with the definitions
 * that they need, so that removing a segment removes its definitions.
 *
 * In memory a segment consists of tables with columns of u64 (segment_tables.def). Rows refer to
 * each other by index, which is valid within the segment only. As bytes, each column is a sequence
 * of byte planes: first the low bytes of all values, then the next bytes, as many as the largest
 * value needs. A plane has similar bytes, so zstd compresses it well, and decoding has no branch
 * per value. A reader decodes only the tables that it needs.
 *
 *   "HSEG", u8 format, u64 little-endian XXH3 of the bytes after it
 *   for each table:  varint number of rows
 *   for each column: varint width in bytes (0: all values are zero), varint divisor of the values,
 *                    then for each plane the
 *                    varint size of its bytes (0: all bytes are zero; the number of rows: not
 *                    compressed; else a zstd frame)
 *   varint size of all texts, varint size of their bytes below
 *   the planes, then the texts
 *
 * Pure functions. Decoders accept bytes of any origin: they check all references, and allocate in
 * the caller's arena only.
 */

#include "common/arena.h"
#include "common/bytes.h"
#include "common/event_type.h"

/*
 * Format 2: segments of samples have TOTAL too, so that a query does not read all rows to learn
 * when a series has samples. Segments of format 1 stay readable.
 */
#define SEGMENT_FORMAT        2
#define SEGMENT_OLDEST_FORMAT 1

/*
 * Most rows of a table: an hour of a service on 100 hosts at 20 samples/s. A segment with more is
 * written as several.
 */
#define SEGMENT_MAX_ROWS (8u << 20)

/* Most bytes of all texts of a segment. */
#define SEGMENT_MAX_TEXT_BYTES (64 * MIB)

enum segment_kind {
	SEGMENT_SAMPLES = 0,
	SEGMENT_ROLLUP = 1,
};

/* Class of objects that are code objects. Others have an enum executable_id_kind. */
#define SEGMENT_CODE_OBJECT 128
/* Class of objects that are only a name, for frames of format 1. ID: the key of the name. */
#define SEGMENT_NAMED_FRAME 129

/* Bits of PROCESS_FLAGS. */
#define SEGMENT_KERNEL_THREAD  1u
#define SEGMENT_WITHOUT_STACKS 2u

enum segment_table {
#define TABLE(table) SEGMENT_##table,
#define COLUMN(table, column, coding, reference, target)
#include "symbolizer/store/segment/segment_tables.def"
#undef TABLE
#undef COLUMN
	SEGMENT_TABLE_COUNT,
};

enum segment_column {
#define TABLE(table)
#define COLUMN(table, column, coding, reference, target) table##_##column,
#include "symbolizer/store/segment/segment_tables.def"
#undef TABLE
#undef COLUMN
	SEGMENT_COLUMN_COUNT,
};

_Static_assert(SEGMENT_COLUMN_COUNT <= 64, "a set of columns is a u64");

/* Sets of tables. */
#define SEGMENT_SET(table) (1u << (table))
#define SEGMENT_ALL        (SEGMENT_SET(SEGMENT_TABLE_COUNT) - 1)

/*
 * A set with one column. TEXT_END stands for the texts too. NODE_FRAME needs NODE_PARENT in the
 * same set.
 */
#define SEGMENT_COLUMN_SET(column) (UINT64_C(1) << (column))

/*
 * A decoded segment.
 *
 *   column[c][count[table of c]]   NULL if the table was not decoded
 *   texts[text_bytes]              text i is texts[TEXT_END[i - 1] .. TEXT_END[i])
 */
struct segment {
	size_t count[SEGMENT_TABLE_COUNT];
	const uint64_t *column[SEGMENT_COLUMN_COUNT];
	const uint8_t *texts;
	size_t text_bytes;
};

/* Memory and zstd contexts that calls reuse. Zeroed before the first call; one per thread. */
struct segment_codec {
	struct ZSTD_CCtx_s *compressor;
	struct ZSTD_DCtx_s *decompressor;
	struct bytes plane;
	struct bytes payload;
	uint64_t *values;
	size_t n_values;
};

void segment_codec_release(struct segment_codec *codec);

/*
 * Appends the bytes of @segment, which segment_builder_finish() has made, to @out. Returns 0,
 * -ENOMEM, -EFBIG (ceiling of @out).
 */
int segment_encode(const struct segment *segment, struct segment_codec *codec, struct bytes *out);

/*
 * Decodes the tables of the set @tables. Counts are set for all tables. The result lives in @arena.
 * Returns 0; -EBADMSG: damaged; -EPROTONOSUPPORT: a newer format; -ENOMEM, also if @arena is full.
 */
int segment_decode(struct bytes_view in, unsigned int tables, struct segment_codec *codec,
		   struct arena *arena, struct segment *ret_segment);

/* Like segment_decode(), but decodes only the columns of the set @columns. */
int segment_decode_columns(struct bytes_view in, uint64_t columns, struct segment_codec *codec,
			   struct arena *arena, struct segment *ret_segment);

/*
 * Measures the bytes that each column takes, without decoding it. ret_text_bytes is the share of
 * the texts.
 */
int segment_measure(struct bytes_view in, size_t ret_column_bytes[SEGMENT_COLUMN_COUNT],
		    size_t *ret_text_bytes);

static inline struct bytes_view segment_text(const struct segment *segment, uint64_t row)
{
	size_t start = row ? (size_t)segment->column[TEXT_END][row - 1] : 0;

	return (struct bytes_view){ .data = segment->texts + start,
				    .size = (size_t)segment->column[TEXT_END][row] - start };
}
