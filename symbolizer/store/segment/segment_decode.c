/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header gives the sizes of all planes, so a reader steps over columns that it does not need.
 * A count of rows is bounded by SEGMENT_MAX_ROWS, and the memory by the caller's arena: a column
 * of zeros takes no bytes, so the size of the input does not bound the counts.
 */

#include "symbolizer/store/segment/segment_layout.h"

#include <zstd.h>

#include "common/hash.h"
#include "common/scoped.h"

#define MAX_WIDTH 8

/* The header, and a cursor over the planes. */
struct open_segment {
	struct bytes_reader header;
	struct bytes_reader payload;
	struct segment_codec *codec;
	struct arena *arena;
	struct segment *segment;
};

static uint64_t read_u64(const uint8_t *bytes)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < 8; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

static int check_prefix(struct bytes_view in)
{
	if (in.size < SEGMENT_PREFIX_BYTES ||
	    memcmp(in.data, SEGMENT_MAGIC, SEGMENT_MAGIC_BYTES) != 0)
		return -EBADMSG;
	if (in.data[SEGMENT_MAGIC_BYTES] > SEGMENT_FORMAT)
		return -EPROTONOSUPPORT;
	if (in.data[SEGMENT_MAGIC_BYTES] < SEGMENT_OLDEST_FORMAT ||
	    read_u64(in.data + SEGMENT_MAGIC_BYTES + 1) !=
		    hash64_of(in.data + SEGMENT_PREFIX_BYTES, in.size - SEGMENT_PREFIX_BYTES))
		return -EBADMSG;
	return 0;
}

static int read_counts(struct bytes_reader *in, size_t counts[SEGMENT_TABLE_COUNT])
{
	for (unsigned int table = 0; table < SEGMENT_TABLE_COUNT; table++) {
		uint64_t count = bytes_read_varint(in);

		if (in->error || count > SEGMENT_MAX_ROWS)
			return -EBADMSG;
		counts[table] = (size_t)count;
	}
	return counts[SEGMENT_TEXT] > 0 && counts[SEGMENT_HEAD] == 1 ? 0 : -EBADMSG;
}

/* Steps over the sizes of all planes. The planes begin where the header ends. */
static int find_payload(struct bytes_reader header, struct bytes_reader *ret_payload)
{
	for (unsigned int i = 0; i < SEGMENT_COLUMN_COUNT && !header.error; i++) {
		uint64_t width = bytes_read_varint(&header);

		(void)bytes_read_varint(&header);
		if (width > MAX_WIDTH)
			return -EBADMSG;
		for (uint64_t plane = 0; plane < width; plane++)
			(void)bytes_read_varint(&header);
	}
	(void)bytes_read_varint(&header);
	(void)bytes_read_varint(&header);
	*ret_payload = header;
	return header.error;
}

/* Takes the next bytes of the payload. */
static int take_payload(struct open_segment *open, uint64_t size, struct bytes_view *ret_bytes)
{
	if (open->header.error || size > (uint64_t)(open->payload.end - open->payload.next))
		return -EBADMSG;
	*ret_bytes = (struct bytes_view){ .data = open->payload.next, .size = (size_t)size };
	open->payload.next += size;
	return 0;
}

/* Writes exactly @size bytes to @out. */
static int decompress(struct segment_codec *codec, struct bytes_view in, uint8_t *out, size_t size)
{
	size_t written;

	if (in.size == size) {
		memcpy(out, in.data, size);
		return 0;
	}
	if (!codec->decompressor)
		codec->decompressor = ZSTD_createDCtx();
	if (!codec->decompressor)
		return -ENOMEM;
	written = ZSTD_decompressDCtx(codec->decompressor, out, size, in.data, in.size);
	return ZSTD_isError(written) || written != size ? -EBADMSG : 0;
}

/* Loops without branches, which the compiler vectorizes. */
static void spread_plane(const uint8_t *restrict bytes, unsigned int plane,
			 uint64_t *restrict values, size_t count)
{
	if (plane == 0) {
		for (size_t i = 0; i < count; i++)
			values[i] = bytes[i];
		return;
	}
	for (size_t i = 0; i < count; i++)
		values[i] |= (uint64_t)bytes[i] << (8 * plane);
}

static int add_plane(struct open_segment *open, struct bytes_view in, unsigned int plane,
		     uint64_t *values, size_t count)
{
	struct bytes *buffer = &open->codec->plane;
	int r;

	bytes_clear(buffer);
	r = bytes_reserve(buffer, MAX(count, (size_t)1));
	if (r < 0)
		return r;
	r = decompress(open->codec, in, buffer->data, count);
	if (r < 0)
		return r;
	spread_plane(buffer->data, plane, values, count);
	return 0;
}

/* Replaces the steps by the parent. The steps of all rows together are fewer than two per row. */
static int restore_parents(uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t node = i;

		for (uint64_t steps = values[i]; steps > 0; steps--) {
			if (node == 0)
				return -EBADMSG;
			node = values[node - 1];
		}
		values[i] = node;
	}
	return 0;
}

static int restore_frames(const struct segment *segment, uint64_t *values)
{
	const uint64_t *parents = segment->column[NODE_PARENT];
	size_t n_frames = segment->count[SEGMENT_FRAME];
	struct frame_predictor predictor = { .latest = calloc(n_frames + 1, sizeof(uint64_t)) };
	int r = predictor.latest ? 0 : -ENOMEM;

	for (size_t i = 0; i < segment->count[SEGMENT_NODE] && r == 0; i++) {
		uint64_t parent_frame = parents[i] ? values[parents[i] - 1] + 1 : 0;

		values[i] = frame_predict(&predictor, parent_frame) +
			    (uint64_t)zigzag_decode(values[i]);
		if (values[i] < n_frames)
			predictor.latest[parent_frame] = values[i] + 1;
		else
			r = -EBADMSG;
	}
	free(predictor.latest);
	return r;
}

static int restore_sorted(uint64_t *values, size_t count, uint64_t divisor)
{
	uint64_t last = 0;

	for (size_t i = 0; i < count; i++) {
		if (__builtin_add_overflow(last, values[i], &last) ||
		    __builtin_mul_overflow(last, divisor, &values[i]))
			return -EBADMSG;
	}
	return 0;
}

static void restore_numbers(uint64_t *values, size_t count, enum column_coding coding,
			    uint64_t divisor)
{
	uint64_t last = 0;

	if (coding == CODING_RAW && divisor == 1)
		return;
	for (size_t i = 0; i < count; i++) {
		if (coding == CODING_DELTA)
			last += (uint64_t)zigzag_decode(values[i]);
		else
			last = values[i];
		values[i] = last * divisor;
	}
}

static int restore(const struct segment *segment, const struct column_layout *layout,
		   uint64_t divisor, uint64_t *values)
{
	size_t count = segment->count[layout->table];

	switch (layout->coding) {
	case CODING_SORTED:
		return restore_sorted(values, count, divisor);
	case CODING_CLIMB:
		return restore_parents(values, count);
	case CODING_CHILD:
		return restore_frames(segment, values);
	case CODING_RAW:
	case CODING_DELTA:
		break;
	}
	restore_numbers(values, count, layout->coding, divisor);
	return 0;
}

static int check_references(const struct column_layout *layout, const struct segment *segment,
			    const uint64_t *values)
{
	size_t count = segment->count[layout->table];
	uint64_t highest = 0, above_row = 0;

	if (layout->reference == REFERENCE_NUMBER || count == 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		highest = MAX(highest, values[i]);
		above_row |= values[i] > i;
	}
	switch (layout->reference) {
	case REFERENCE_ROW_OF:
		return highest < segment->count[layout->target] ? 0 : -EBADMSG;
	case REFERENCE_MAYBE:
		return highest <= segment->count[layout->target] ? 0 : -EBADMSG;
	default:
		return above_row ? -EBADMSG : 0;
	}
}

static int decode_column(struct open_segment *open, enum segment_column column, bool wanted)
{
	const struct column_layout *layout = &segment_columns[column];
	size_t count = open->segment->count[layout->table];
	uint64_t width = bytes_read_varint(&open->header);
	uint64_t divisor = bytes_read_varint(&open->header);
	uint64_t *values = NULL;
	int r;

	if (wanted) {
		values = arena_alloc_array(open->arena, count, sizeof(*values));
		if (!values)
			return -ENOMEM;
	}
	for (unsigned int plane = 0; plane < width; plane++) {
		struct bytes_view in;

		r = take_payload(open, bytes_read_varint(&open->header), &in);
		if (r == 0 && wanted && in.size > 0)
			r = add_plane(open, in, plane, values, count);
		if (r < 0)
			return r;
	}
	if (!wanted)
		return 0;
	r = restore(open->segment, layout, divisor, values);
	if (r < 0)
		return r;
	open->segment->column[column] = values;
	return check_references(layout, open->segment, values);
}

static int decode_texts(struct open_segment *open, bool wanted)
{
	struct segment *segment = open->segment;
	size_t n_texts = segment->count[SEGMENT_TEXT];
	uint64_t size = bytes_read_varint(&open->header);
	uint64_t packed = bytes_read_varint(&open->header);
	struct bytes_view in;
	uint8_t *texts;
	int r;

	r = take_payload(open, packed, &in);
	if (r < 0 || size > SEGMENT_MAX_TEXT_BYTES || open->payload.next != open->payload.end)
		return -EBADMSG;
	if (!wanted)
		return 0;
	if (segment->column[TEXT_END][n_texts - 1] != size)
		return -EBADMSG;
	texts = arena_alloc(open->arena, MAX((size_t)size, (size_t)1));
	if (!texts)
		return -ENOMEM;
	r = size > 0 ? decompress(open->codec, in, texts, (size_t)size) : 0;
	if (r < 0)
		return r;
	segment->texts = texts;
	segment->text_bytes = (size_t)size;
	return 0;
}

static int open_header(struct bytes_view in, struct open_segment *ret_open)
{
	int r;

	r = check_prefix(in);
	if (r < 0)
		return r;
	ret_open->header = bytes_reader_of((struct bytes_view){
		.data = in.data + SEGMENT_PREFIX_BYTES, .size = in.size - SEGMENT_PREFIX_BYTES });
	r = read_counts(&ret_open->header, ret_open->segment->count);
	if (r < 0)
		return r;
	return find_payload(ret_open->header, &ret_open->payload);
}

int segment_decode_columns(struct bytes_view in, uint64_t columns, struct segment_codec *codec,
			   struct arena *arena, struct segment *ret_segment)
{
	struct segment segment = {};
	struct open_segment open = { .codec = codec, .arena = arena, .segment = &segment };
	int r;

	codec->plane.ceiling = SIZE_MAX;
	r = open_header(in, &open);
	for (unsigned int i = 0; i < SEGMENT_COLUMN_COUNT && r == 0; i++)
		r = decode_column(&open, i, columns & SEGMENT_COLUMN_SET(i));
	if (r == 0)
		r = decode_texts(&open, columns & SEGMENT_COLUMN_SET(TEXT_END));
	if (r == 0)
		*ret_segment = segment;
	return r;
}

int segment_decode(struct bytes_view in, unsigned int tables, struct segment_codec *codec,
		   struct arena *arena, struct segment *ret_segment)
{
	uint64_t columns = 0;

	for (unsigned int i = 0; i < SEGMENT_COLUMN_COUNT; i++) {
		if (tables & SEGMENT_SET(segment_columns[i].table))
			columns |= SEGMENT_COLUMN_SET(i);
	}
	return segment_decode_columns(in, columns, codec, arena, ret_segment);
}

int segment_measure(struct bytes_view in, size_t ret_column_bytes[SEGMENT_COLUMN_COUNT],
		    size_t *ret_text_bytes)
{
	struct segment segment = {};
	struct open_segment open = { .segment = &segment };
	int r;

	r = open_header(in, &open);
	if (r < 0)
		return r;
	for (unsigned int i = 0; i < SEGMENT_COLUMN_COUNT; i++) {
		uint64_t width = bytes_read_varint(&open.header);

		ret_column_bytes[i] = 0;

		(void)bytes_read_varint(&open.header);
		for (; width > 0; width--)
			ret_column_bytes[i] += (size_t)bytes_read_varint(&open.header);
	}
	(void)bytes_read_varint(&open.header);
	*ret_text_bytes = (size_t)bytes_read_varint(&open.header);
	return 0;
}
