/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block stores rows as columns, because neighbours in a column are similar (slots increase by
 * little, few distinct stacks occur): each value takes a byte or two, and less after compression. A
 * block lists its distinct stacks, and a row has an index of that list, because store IDs are large
 * numbers and indexes are small.
 */

#include "symbolizer/store/sqlite/block.h"

#include <zstd.h>

#include "common/scoped.h"
#include "symbolizer/store/sqlite/block_read.h"

#define BLOCK_FORMAT 1

/* Higher levels save 2 % on blocks this small, for three times the CPU. */
#define BLOCK_ZSTD_LEVEL 3

/* Largest size of one row: three varints in the columns, and its share of the lists of stacks and
 * runs. */
#define MAX_ROW_BYTES 64

struct run {
	size_t first;
	size_t count;
};

/* A run ends where the series changes, or where the slot decreases within a series. */
static struct run next_run(const struct block_rows *rows, size_t first)
{
	const struct block_row *row = rows->rows;
	size_t end = first + 1;

	while (end < rows->n_rows && row[end].series == row[first].series &&
	       row[end].slot >= row[end - 1].slot)
		end++;
	return (struct run){ .first = first, .count = end - first };
}

static void add_directory(const struct block_rows *rows, struct bytes *out)
{
	uint32_t last_series = 0;
	uint64_t last_stack = 0;
	size_t n_runs = 0;

	(void)bytes_append_varint(out, rows->n_stacks);
	for (size_t i = 0; i < rows->n_stacks; i++) {
		(void)bytes_append_varint(out, rows->stacks[i] - last_stack);
		last_stack = rows->stacks[i];
	}
	for (size_t i = 0; i < rows->n_rows; i += next_run(rows, i).count)
		n_runs++;
	(void)bytes_append_varint(out, n_runs);
	for (size_t i = 0; i < rows->n_rows;) {
		struct run run = next_run(rows, i);

		assert(rows->rows[i].series >= last_series);
		(void)bytes_append_varint(out, rows->rows[i].series - last_series);
		(void)bytes_append_varint(out, run.count);
		last_series = rows->rows[i].series;
		i += run.count;
	}
}

static void add_slots(const struct block_rows *rows, struct bytes *out)
{
	for (size_t i = 0; i < rows->n_rows;) {
		struct run run = next_run(rows, i);
		uint64_t last = rows->min_slot;

		for (size_t k = 0; k < run.count; k++, i++) {
			(void)bytes_append_varint(out, rows->rows[i].slot - last);
			last = rows->rows[i].slot;
		}
	}
}

static void add_stacks(const struct block_rows *rows, struct bytes *out)
{
	for (size_t i = 0; i < rows->n_rows; i++)
		(void)bytes_append_varint(out, rows->rows[i].stack_index);
}

static void add_values(const struct block_rows *rows, struct bytes *out)
{
	bool all_one = true;

	for (size_t i = 0; i < rows->n_rows && all_one; i++)
		all_one = rows->rows[i].value == 1;
	for (size_t i = 0; i < rows->n_rows && !all_one; i++)
		(void)bytes_append_varint(out, rows->rows[i].value);
}

void block_scratch_release(struct block_scratch *scratch)
{
	(void)ZSTD_freeCCtx(scratch->compressor);
	(void)ZSTD_freeDCtx(scratch->decompressor);
	scratch->compressor = NULL;
	scratch->decompressor = NULL;
	bytes_release(&scratch->plain);
	bytes_release(&scratch->columns);
	vec_release(&scratch->stack_ids);
	vec_release(&scratch->cells);
}

static void prepare_scratch(struct block_scratch *scratch, uint64_t n_rows)
{
	/* Bounds the memory if n_rows is damaged: no real block has more rows. */
	size_t ceiling = (MIN(n_rows, (uint64_t)BATCH_MAX_ROWS) + 16) * MAX_ROW_BYTES;

	scratch->plain.ceiling = MAX(ceiling, scratch->plain.capacity);
	scratch->columns.ceiling = MAX(ceiling, scratch->columns.capacity);
	bytes_clear(&scratch->plain);
	bytes_clear(&scratch->columns);
}

static int compress(struct block_scratch *scratch, struct bytes *out)
{
	size_t bound = ZSTD_compressBound(scratch->plain.size);
	size_t written;
	int r;

	if (!scratch->compressor)
		scratch->compressor = ZSTD_createCCtx();
	if (!scratch->compressor)
		return -ENOMEM;
	if (ZSTD_isError(ZSTD_CCtx_setParameter(scratch->compressor, ZSTD_c_compressionLevel,
						BLOCK_ZSTD_LEVEL)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(scratch->compressor, ZSTD_c_checksumFlag, 1)))
		return -ENOMEM;
	r = bytes_reserve(out, bound);
	if (r < 0)
		return r;
	written = ZSTD_compress2(scratch->compressor, out->data + out->size, bound,
				 scratch->plain.data, scratch->plain.size);
	if (ZSTD_isError(written))
		return -ENOMEM;
	out->size += written;
	return 0;
}

/* The zstd frame contains the size of its content. A size above the ceiling of scratch->plain is
 * refused. */
static int decompress(struct bytes_view content, struct block_scratch *scratch)
{
	unsigned long long size = ZSTD_getFrameContentSize(content.data, content.size);
	struct bytes *plain = &scratch->plain;
	size_t written;
	int r;

	if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ||
	    size > plain->ceiling)
		return -EBADMSG;
	if (!scratch->decompressor)
		scratch->decompressor = ZSTD_createDCtx();
	if (!scratch->decompressor)
		return -ENOMEM;
	r = bytes_reserve(plain, MAX(size, 1ULL));
	if (r < 0)
		return r;
	written = ZSTD_decompressDCtx(scratch->decompressor, plain->data, size, content.data,
				      content.size);
	if (ZSTD_isError(written))
		return -EBADMSG;
	plain->size = written;
	return 0;
}

int block_encode(const struct block_rows *rows, struct block_scratch *scratch, struct bytes *out)
{
	struct bytes *columns = &scratch->columns;
	struct bytes *plain = &scratch->plain;
	size_t slots_end, stacks_end;
	int r;

	prepare_scratch(scratch, rows->n_rows);
	add_slots(rows, columns);
	slots_end = columns->size;
	add_stacks(rows, columns);
	stacks_end = columns->size;
	add_values(rows, columns);
	r = bytes_error(columns);
	if (r < 0)
		return r;

	(void)bytes_append_varint(plain, BLOCK_FORMAT);
	add_directory(rows, plain);
	(void)bytes_append_varint(plain, slots_end);
	(void)bytes_append_varint(plain, stacks_end - slots_end);
	(void)bytes_append_varint(plain, columns->size - stacks_end);
	(void)bytes_append(plain, columns->data, columns->size);
	r = bytes_error(plain);
	if (r < 0)
		return r;
	return compress(scratch, out);
}

static int read_stack_ids(struct bytes_reader *in, struct block_scratch *scratch,
			  struct open_block *block)
{
	uint64_t id = 0;
	int r;

	block->n_stacks = bytes_read_varint(in);
	if (in->error || block->n_stacks > (uint64_t)(in->end - in->next))
		return -EBADMSG;
	vec_clear(&scratch->stack_ids);
	r = vec_reserve(&scratch->stack_ids, block->n_stacks);
	if (r < 0)
		return r;
	for (uint64_t i = 0; i < block->n_stacks; i++) {
		id += bytes_read_varint(in);
		scratch->stack_ids.items[i] = id;
	}
	block->stack_ids = scratch->stack_ids.items;
	return in->error;
}

/* Sets block->runs to the first run, and the other readers to the columns after the last run. */
static int find_columns(struct bytes_reader *in, struct open_block *block)
{
	uint64_t sizes[3];
	uint64_t n_columns_bytes = 0;

	block->n_runs = bytes_read_varint(in);
	block->runs = *in;
	for (uint64_t i = 0; i < block->n_runs && !in->error; i++) {
		(void)bytes_read_varint(in);
		(void)bytes_read_varint(in);
	}
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		sizes[i] = bytes_read_varint(in);
		if (in->error || sizes[i] > (uint64_t)(in->end - in->next))
			return -EBADMSG;
		n_columns_bytes += sizes[i];
	}
	if (n_columns_bytes != (uint64_t)(in->end - in->next))
		return -EBADMSG;

	block->slots = bytes_reader_of((struct bytes_view){ .data = in->next, .size = sizes[0] });
	block->stacks =
		bytes_reader_of((struct bytes_view){ .data = block->slots.end, .size = sizes[1] });
	block->values =
		bytes_reader_of((struct bytes_view){ .data = block->stacks.end, .size = sizes[2] });
	block->all_one = sizes[2] == 0;
	return 0;
}

int block_open(struct bytes_view content, uint64_t n_rows, struct block_scratch *scratch,
	       struct open_block *ret_block)
{
	struct bytes_reader in;
	int r;

	prepare_scratch(scratch, n_rows);
	r = decompress(content, scratch);
	if (r < 0)
		return r;
	in = bytes_reader_of(bytes_view_of(&scratch->plain));
	if (bytes_read_varint(&in) != BLOCK_FORMAT)
		return -EBADMSG;
	r = read_stack_ids(&in, scratch, ret_block);
	if (r < 0)
		return r;
	return find_columns(&in, ret_block);
}

void block_skip_varints(struct bytes_reader *in, uint64_t count)
{
	while (count > 0 && in->next < in->end)
		count -= *in->next++ < 0x80;
	if (count > 0)
		in->error = -EBADMSG;
}

void block_skip_run(struct open_block *block, uint64_t count)
{
	block_skip_varints(&block->slots, count);
	block_skip_varints(&block->stacks, count);
	if (!block->all_one)
		block_skip_varints(&block->values, count);
}

static int scan_run(struct open_block *block, uint64_t count, uint32_t series_index,
		    const struct block_scan *scan, int *ret_stopped)
{
	uint64_t slot = block->min_slot;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t stack, value;

		slot += bytes_read_varint(&block->slots);
		stack = bytes_read_varint(&block->stacks);
		value = block->all_one ? 1 : bytes_read_varint(&block->values);
		if (block->slots.error || block->stacks.error || block->values.error ||
		    stack >= block->n_stacks)
			return -EBADMSG;
		if (slot < scan->from_slot || slot >= scan->to_slot)
			continue;
		*ret_stopped = scan->function(scan->arg, series_index, block->stack_ids[stack],
					      slot, value);
		if (*ret_stopped < 0)
			return 0;
	}
	return 0;
}

int block_scan_rows(struct bytes_view content, uint64_t min_slot, uint64_t n_rows,
		    const struct block_scan *scan, struct block_scratch *scratch, int *ret_stopped)
{
	struct open_block block = { .min_slot = min_slot };
	uint64_t series = 0;
	size_t next = 0;
	int r;

	r = block_open(content, n_rows, scratch, &block);
	for (uint64_t i = 0; r == 0 && *ret_stopped >= 0 && i < block.n_runs; i++) {
		uint64_t count;

		series += bytes_read_varint(&block.runs);
		count = bytes_read_varint(&block.runs);
		while (next < scan->n_series && scan->series_ids[next] < series)
			next++;
		if (next == scan->n_series)
			break;
		if (scan->series_ids[next] == series)
			r = scan_run(&block, count, (uint32_t)next, scan, ret_stopped);
		else
			block_skip_run(&block, count);
	}
	if (r == 0 && (block.slots.error || block.stacks.error || block.values.error))
		r = -EBADMSG;
	return r;
}
