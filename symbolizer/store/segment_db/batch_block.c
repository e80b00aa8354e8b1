/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/segment_db/batch_block.h"

#include <string.h>

#include "common/limits.h"
#include "common/scoped.h"
#include "common/zstd_frame.h"

enum coding {
	CODING_PLAIN = 0,
	CODING_ZSTD = 1,
};

/* Most bytes of the counters of a block, not compressed: all names with values of 64 bits. */
#define MAX_COUNTER_BYTES (UINT64_C(11) * COUNTER_NAMES_MAX * BATCH_BLOCK_MAX)

/* Four numbers for each batch. */
#define MAX_TIMES_BYTES (UINT64_C(41) * BATCH_BLOCK_MAX)

/* Blobs are read rarely, and most of them are written once. */
#define BLOCK_LEVEL 6

void batch_block_release(struct batch_block *block)
{
	vec_release(&block->times);
	vec_release(&block->values);
}

void batch_block_clear(struct batch_block *block)
{
	vec_clear(&block->times);
	vec_clear(&block->values);
}

static int compare_closings(const void *a, const void *b)
{
	const struct batch_times *left = a, *right = b;

	if (left->closed_ms != right->closed_ms)
		return left->closed_ms < right->closed_ms ? -1 : 1;
	return (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

void batch_block_sort(struct batch_block *block)
{
	if (block->times.count > 0)
		qsort(block->times.items, block->times.count, sizeof(*block->times.items),
		      compare_closings);
}

struct batch_range batch_block_range(const struct batch_block *block, size_t first)
{
	const struct batch_times *times = block->times.items;
	const uint64_t hour = batch_hour(times[first].closed_ms);
	size_t end = first + 1;

	while (end < block->times.count && end < first + BATCH_BLOCK_MAX &&
	       batch_hour(times[end].closed_ms) == hour)
		end++;
	return (struct batch_range){ .first = first, .end = end };
}

/* Appends @plain as a blob. */
static int add_blob(const struct bytes *plain, bool compress, struct bytes *out)
{
	const size_t start = out->size;
	int r = bytes_error(plain);

	if (r < 0)
		return r;
	if (compress) {
		(void)bytes_append_byte(out, CODING_ZSTD);
		r = zstd_compress(bytes_view_of(plain), BLOCK_LEVEL, out);
		if (r < 0 || out->size - start <= plain->size)
			return r;
		out->size = start;
	}
	(void)bytes_append_byte(out, CODING_PLAIN);
	return bytes_append(out, plain->data, plain->size);
}

int batch_times_encode(const struct batch_block *block, struct batch_range range, bool compress,
		       struct bytes *out)
{
	scoped(bytes_release) struct bytes plain = BYTES_INIT(MAX_TIMES_BYTES);
	const struct batch_times *first = &block->times.items[range.first];
	const struct batch_times *end = &block->times.items[range.end];
	const uint64_t begin_ms = batch_hour(first->closed_ms) * BATCH_HOUR_MS;

	for (const struct batch_times *batch = first; batch < end; batch++) {
		uint64_t before = batch == first ? 0 : batch[-1].sequence + 1;

		(void)bytes_append_varint(&plain,
					  zigzag_encode((int64_t)(batch->sequence - before)));
	}
	for (const struct batch_times *batch = first; batch < end; batch++) {
		uint64_t before = batch == first ? begin_ms : batch[-1].closed_ms;

		(void)bytes_append_varint(&plain, batch->closed_ms - before);
	}
	for (const struct batch_times *batch = first; batch < end; batch++) {
		uint64_t before = batch == first ? begin_ms : batch[-1].closed_ms;

		(void)bytes_append_varint(&plain,
					  zigzag_encode((int64_t)(batch->opened_ms - before)));
	}
	for (const struct batch_times *batch = first; batch < end; batch++) {
		int64_t before = batch == first ? 0 : batch[-1].delay_ms;

		(void)bytes_append_varint(
			&plain,
			zigzag_encode((int64_t)((uint64_t)batch->delay_ms - (uint64_t)before)));
	}
	return add_blob(&plain, compress, out);
}

/*
 * The values of a range in order of their names: values[start[n]..start[n + 1]) are those of name
 * n. @row_of has the position of each batch in the range, by its index.
 */
struct ordered_values {
	struct batch_value *values;
	uint32_t *row_of;
	uint64_t *of_batches; /* [count of the range] */
	size_t start[COUNTER_NAMES_MAX + 1];
};

#define OUTSIDE UINT32_MAX

static void ordered_values_release(struct ordered_values *ordered)
{
	free(ordered->values);
	free(ordered->row_of);
	free(ordered->of_batches);
}

/* Whether the value belongs to the range. */
static bool is_inside(const struct ordered_values *ordered, const struct batch_value *value)
{
	return ordered->row_of[value->batch] != OUTSIDE;
}

/* Sorts by counting. */
static void order(const struct batch_values *values, struct ordered_values *ordered)
{
	size_t next[COUNTER_NAMES_MAX];

	for (size_t i = 0; i < values->count; i++)
		if (is_inside(ordered, &values->items[i]))
			ordered->start[values->items[i].name + 1]++;
	for (size_t name = 0; name < COUNTER_NAMES_MAX; name++) {
		ordered->start[name + 1] += ordered->start[name];
		next[name] = ordered->start[name];
	}
	for (size_t i = 0; i < values->count; i++)
		if (is_inside(ordered, &values->items[i]))
			ordered->values[next[values->items[i].name]++] = values->items[i];
}

static int make_order(const struct batch_block *block, struct batch_range range,
		      struct ordered_values *ordered)
{
	const size_t n_batches = block->times.count;

	ordered->values = calloc(block->values.count + 1, sizeof(*ordered->values));
	ordered->row_of = calloc(n_batches + 1, sizeof(*ordered->row_of));
	ordered->of_batches = calloc(range.end - range.first, sizeof(*ordered->of_batches));
	if (!ordered->values || !ordered->row_of || !ordered->of_batches)
		return -ENOMEM;
	for (size_t i = 0; i < n_batches; i++)
		ordered->row_of[block->times.items[i].index] =
			i >= range.first && i < range.end ? (uint32_t)(i - range.first) : OUTSIDE;
	order(&block->values, ordered);
	return 0;
}

/* Appends the values of one name. @column is used for them. */
static void add_name(const struct ordered_values *ordered, uint32_t name, size_t n_batches,
		     struct bytes *column, struct bytes *plain)
{
	memset(ordered->of_batches, 0, n_batches * sizeof(*ordered->of_batches));
	for (size_t i = ordered->start[name]; i < ordered->start[name + 1]; i++)
		ordered->of_batches[ordered->row_of[ordered->values[i].batch]] +=
			ordered->values[i].value;
	bytes_clear(column);
	for (size_t i = 0; i < n_batches; i++)
		(void)bytes_append_varint(column, ordered->of_batches[i]);
	(void)bytes_append_varint(plain, name);
	(void)bytes_append_varint(plain, column->size);
	(void)bytes_append(plain, column->data, column->size);
	if (bytes_error(column) < 0)
		plain->error = bytes_error(column);
}

int batch_counters_encode(const struct batch_block *block, struct batch_range range, bool compress,
			  struct bytes *out)
{
	scoped(bytes_release) struct bytes plain = BYTES_INIT(MAX_COUNTER_BYTES);
	scoped(bytes_release) struct bytes column = BYTES_INIT(MAX_COUNTER_BYTES);
	scoped(ordered_values_release) struct ordered_values ordered = {};
	int r = make_order(block, range, &ordered);

	if (r < 0)
		return r;
	for (uint32_t name = 0; name < COUNTER_NAMES_MAX; name++)
		if (ordered.start[name] < ordered.start[name + 1])
			add_name(&ordered, name, range.end - range.first, &column, &plain);
	return add_blob(&plain, compress, out);
}

/* Sets *ret_plain to the bytes of a blob, which may be in @scratch. */
static int open_blob(struct bytes_view blob, struct bytes *scratch, struct bytes_view *ret_plain)
{
	struct bytes_view rest;
	int r;

	if (blob.size == 0)
		return -EBADMSG;
	rest = (struct bytes_view){ .data = blob.data + 1, .size = blob.size - 1 };
	switch (blob.data[0]) {
	case CODING_PLAIN:
		if (rest.size > scratch->ceiling)
			return -EBADMSG;
		*ret_plain = rest;
		return 0;
	case CODING_ZSTD:
		r = zstd_decompress(rest, scratch);
		*ret_plain = bytes_view_of(scratch);
		return r == -EFBIG ? -EBADMSG : r;
	default:
		return -EBADMSG;
	}
}

/* Reads the four columns into times[head->count], which are zeroed. */
static int read_times(struct bytes_view plain, const struct batch_head *head,
		      struct batch_times *times)
{
	const uint64_t begin_ms = head->hour * BATCH_HOUR_MS;
	struct bytes_reader in = bytes_reader_of(plain);

	for (size_t i = 0; i < head->count; i++)
		times[i].sequence = (i ? times[i - 1].sequence + 1 : 0) +
				    (uint64_t)zigzag_decode(bytes_read_varint(&in));
	for (size_t i = 0; i < head->count; i++)
		times[i].closed_ms =
			(i ? times[i - 1].closed_ms : begin_ms) + bytes_read_varint(&in);
	for (size_t i = 0; i < head->count; i++)
		times[i].opened_ms = (i ? times[i - 1].closed_ms : begin_ms) +
				     (uint64_t)zigzag_decode(bytes_read_varint(&in));
	for (size_t i = 0; i < head->count; i++)
		times[i].delay_ms = (int64_t)((uint64_t)(i ? times[i - 1].delay_ms : 0) +
					      (uint64_t)zigzag_decode(bytes_read_varint(&in)));
	for (size_t i = 0; i < head->count; i++)
		if (times[i].opened_ms > times[i].closed_ms || times[i].closed_ms == 0 ||
		    batch_hour(times[i].closed_ms) != head->hour)
			return -EBADMSG;
	return in.error || in.next != in.end ? -EBADMSG : 0;
}

int batch_times_decode(struct bytes_view blob, const struct batch_head *head,
		       struct batch_times_list *times)
{
	scoped(bytes_release) struct bytes scratch = BYTES_INIT(MAX_TIMES_BYTES);
	const size_t first = times->count;
	struct bytes_view plain;
	int r;

	if (head->count == 0 || head->count > BATCH_BLOCK_MAX)
		return -EBADMSG;
	r = open_blob(blob, &scratch, &plain);
	if (r == 0)
		r = vec_reserve(times, head->count);
	if (r < 0)
		return r;
	memset(times->items + first, 0, head->count * sizeof(*times->items));
	r = read_times(plain, head, times->items + first);
	if (r < 0)
		return r;
	for (size_t i = 0; i < head->count; i++)
		times->items[first + i].index = first + i;
	times->count += head->count;
	return 0;
}

int batch_counters_open(struct bytes_view blob, struct bytes *plain)
{
	struct bytes_view view;
	int r;

	bytes_clear(plain);
	plain->ceiling = MAX_COUNTER_BYTES;
	r = open_blob(blob, plain, &view);
	if (r == 0 && view.data != plain->data)
		r = bytes_append(plain, view.data, view.size);
	return r;
}

int batch_counters_next(struct bytes_reader *in, uint32_t *ret_name,
			struct bytes_reader *ret_values)
{
	uint64_t name, size;

	if (in->next == in->end)
		return 0;
	name = bytes_read_varint(in);
	size = bytes_read_varint(in);
	if (in->error || name >= COUNTER_NAMES_MAX || size > (uint64_t)(in->end - in->next))
		return -EBADMSG;
	*ret_name = (uint32_t)name;
	*ret_values = (struct bytes_reader){ .next = in->next, .end = in->next + size };
	in->next += size;
	return 1;
}

/* Appends the values of one name that are not 0. */
static int append_values(struct bytes_reader *column, size_t count, struct batch_value value,
			 struct batch_values *values)
{
	for (size_t i = 0; i < count; i++, value.batch++) {
		int r;

		value.value = bytes_read_varint(column);
		if (value.value == 0)
			continue;
		r = vec_push(values, value);
		if (r < 0)
			return r;
	}
	return column->error || column->next != column->end ? -EBADMSG : 0;
}

int batch_counters_decode(struct bytes_view blob, size_t count, size_t first_index,
			  struct batch_values *values)
{
	scoped(bytes_release) struct bytes plain = BYTES_INIT(MAX_COUNTER_BYTES);
	struct bytes_reader in, column;
	uint32_t name;
	int r = batch_counters_open(blob, &plain);

	if (r < 0)
		return r;
	in = bytes_reader_of(bytes_view_of(&plain));
	while ((r = batch_counters_next(&in, &name, &column)) > 0) {
		r = append_values(
			&column, count,
			(struct batch_value){ .batch = (uint32_t)first_index, .name = name },
			values);
		if (r < 0)
			return r;
	}
	return r;
}
