/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two tables in columns: stacks (each without the frames shared with the stack before) and
 * rows. Both are checked completely before memory for their expansion is allocated, because a few
 * bytes can expand to a stack of 640 frames.
 */

#include "common/hash_table.h"
#include "symbolizer/ingest/batch_checks.h"

#define FRAME_KIND_BITS 3
#define FRAME_KIND_MASK ((1u << FRAME_KIND_BITS) - 1)

static_assert(FRAME_KIND_END <= 1 << FRAME_KIND_BITS,
	      "a kind fits into its bits of frame_kind_executable");

/* Checks the columns against each other. *ret_total: frames after expansion. */
static int check_stacks(struct decode *decode, const Hearth__V1__StackTable *table,
			size_t *ret_total)
{
	size_t count = table->n_number;
	uint64_t listed = 0;
	uint64_t total = 0;
	uint64_t depth = 0;

	if (table->n_shared != count || table->n_n_frames != count || table->n_cut != count)
		return decode_bad(decode, "stacks: columns of %zu, %zu, %zu and %zu items", count,
				  table->n_shared, table->n_n_frames, table->n_cut);
	if (table->n_frame_kind_executable != table->n_frame_address)
		return decode_bad(decode, "stacks: frame columns of %zu and %zu items",
				  table->n_frame_kind_executable, table->n_frame_address);
	for (size_t i = 0; i < count; i++) {
		if (table->number[i] == 0)
			return decode_bad(decode, "stacks.number[%zu] is 0", i);
		if (table->cut[i] >= STACK_CUT_END)
			return decode_bad(decode, "stacks.cut[%zu] is %u", i, table->cut[i]);
		if (table->shared[i] > depth)
			return decode_bad(
				decode,
				"stacks.shared[%zu] is %u, the stack before has %llu frames", i,
				table->shared[i], (unsigned long long)depth);
		depth = (uint64_t)table->shared[i] + table->n_frames[i];
		if (depth > STACK_MAX_FRAMES)
			return decode_bad(decode, "stacks[%zu] has %llu frames, at most %d", i,
					  (unsigned long long)depth, STACK_MAX_FRAMES);
		listed += table->n_frames[i];
		total += depth;
	}
	if (listed != table->n_frame_address)
		return decode_bad(decode, "stacks.n_frames add up to %llu, there are %zu frames",
				  (unsigned long long)listed, table->n_frame_address);
	if (total > DECODE_MAX_FRAMES)
		return decode_too_much(decode, "stacks: %llu frames, at most %llu",
				       (unsigned long long)total,
				       (unsigned long long)DECODE_MAX_FRAMES);
	*ret_total = (size_t)total;
	return 0;
}

/* Reads the listed frames in order, and adds up their address differences. */
struct frame_reader {
	const Hearth__V1__StackTable *table;
	struct hash_table *last_address; /* frame_kind_executable -> uint64_t */
	size_t next;
};

static int read_frame(struct decode *decode, struct frame_reader *reader,
		      struct batch_frame *ret_frame)
{
	size_t index = reader->next++;
	uint32_t key = reader->table->frame_kind_executable[index];
	uint32_t kind = key & FRAME_KIND_MASK;
	uint64_t *address;
	int r;

	if (kind == 0 || kind >= FRAME_KIND_END)
		return decode_bad(decode, "stacks.frame_kind_executable[%zu]: kind %u", index,
				  kind);
	if (kind == FRAME_KERNEL_NAMED && key >> FRAME_KIND_BITS != 0)
		return decode_bad(
			decode,
			"stacks.frame_kind_executable[%zu]: a named frame with an executable",
			index);
	r = hash_table_insert(reader->last_address, &key, (void **)&address);
	if (r == -ENOSPC)
		return decode_too_much(decode, "stacks: frames in more than %u executables",
				       DECODE_MAX_FRAME_KEYS);
	if (r < 0)
		return decode_no_room(decode);
	*address += (uint64_t)reader->table->frame_address[index];
	*ret_frame = (struct batch_frame){
		.kind = (uint8_t)kind,
		.executable = key >> FRAME_KIND_BITS,
		.address = *address,
	};
	return 0;
}

static int expand_stacks(struct decode *decode, struct frame_reader *reader,
			 struct batch_frame *frames)
{
	const Hearth__V1__StackTable *table = reader->table;
	struct batch_frame path[STACK_MAX_FRAMES]; /* root first */
	int r;

	for (size_t i = 0; i < table->n_number; i++) {
		uint32_t n_frames = table->shared[i] + table->n_frames[i];

		for (uint32_t k = table->shared[i]; k < n_frames; k++) {
			r = read_frame(decode, reader, &path[k]);
			if (r < 0)
				return r;
		}
		for (uint32_t k = 0; k < n_frames; k++)
			frames[k] = path[n_frames - 1 - k];
		decode->batch->stacks[i] = (struct batch_stack){
			.number = table->number[i],
			.cut = (uint8_t)table->cut[i],
			.n_frames = n_frames,
			.frames = frames,
		};
		frames += n_frames;
	}
	decode->batch->n_stacks = (uint32_t)table->n_number;
	return 0;
}

int decode_stacks(struct decode *decode)
{
	scoped(hash_table_freep) struct hash_table *last_address = NULL;
	struct frame_reader reader = { .table = decode->message->stacks };
	struct batch_frame *frames;
	size_t total = 0;
	int r;

	if (!reader.table)
		return 0;
	r = check_stacks(decode, reader.table, &total);
	if (r < 0)
		return r;
	decode->batch->stacks =
		decode_array(decode, reader.table->n_number, sizeof(*decode->batch->stacks));
	frames = decode_array(decode, total, sizeof(*frames));
	if (!decode->batch->stacks || !frames)
		return decode_no_room(decode);
	r = hash_table_new(sizeof(uint32_t), sizeof(uint64_t), DECODE_MAX_FRAME_KEYS,
			   &last_address);
	if (r < 0)
		return decode_no_room(decode);
	reader.last_address = last_address;
	return expand_stacks(decode, &reader, frames);
}

static int check_row_columns(struct decode *decode, const Hearth__V1__RowTable *table)
{
	size_t count = table->n_series;

	if (table->n_slot != count || table->n_stack != count)
		return decode_bad(decode, "rows: columns of %zu, %zu and %zu items", count,
				  table->n_slot, table->n_stack);
	if (table->n_value != 0 && table->n_value != count)
		return decode_bad(decode, "rows: %zu values for %zu rows", table->n_value, count);
	if (count > BATCH_MAX_ROWS)
		return decode_too_much(decode, "rows: %zu, at most %u", count, BATCH_MAX_ROWS);
	if (table->first_slot > DECODE_MAX_TIME_NS / SLOT_NS)
		return decode_bad(decode, "rows.first_slot is out of range");
	return 0;
}

/* The slots allowed in this batch, on the monotonic clock, and the offset to the wall clock. */
struct slot_range {
	int64_t first;
	int64_t last;
	uint64_t wall_offset_ns;
};

static struct slot_range slot_range_of(const Hearth__V1__Batch *message)
{
	uint64_t opened = message->opened_monotonic_ns;

	return (struct slot_range){
		.first = (int64_t)(opened > DECODE_MAX_BEFORE_NS
					   ? (opened - DECODE_MAX_BEFORE_NS) / SLOT_NS
					   : 0),
		.last = (int64_t)(message->closed_monotonic_ns / SLOT_NS) + 1,
		.wall_offset_ns = message->closed_wall_ns - message->closed_monotonic_ns,
	};
}

static bool is_before(const struct batch_row *row, const struct batch_row *other)
{
	if (row->series != other->series)
		return row->series < other->series;
	if (row->slot != other->slot)
		return row->slot < other->slot;
	return row->stack < other->stack;
}

static int decode_row_columns(struct decode *decode, const Hearth__V1__RowTable *table,
			      struct batch_row *rows)
{
	const struct slot_range range = slot_range_of(decode->message);
	int64_t slot = (int64_t)table->first_slot;
	int64_t series = 0;

	for (size_t i = 0; i < table->n_series; i++) {
		uint64_t value = table->n_value ? table->value[i] : 1;

		series += table->series[i];
		slot += table->slot[i];
		if (series <= 0 || series > UINT32_MAX)
			return decode_bad(decode, "rows.series[%zu]: the number becomes %lld", i,
					  (long long)series);
		if (slot < range.first || slot > range.last)
			return decode_bad(decode,
					  "rows.slot[%zu]: slot %lld is outside of the batch", i,
					  (long long)slot);
		if (value == 0 || value > DECODE_MAX_VALUE)
			return decode_bad(decode, "rows.value[%zu] is out of range", i);
		rows[i] = (struct batch_row){
			.series = (uint32_t)series,
			.stack = table->stack[i],
			.slot = ((uint64_t)slot * SLOT_NS + range.wall_offset_ns) / SLOT_NS,
			.value = value,
		};
		if (i > 0 && is_before(&rows[i], &rows[i - 1]))
			return decode_bad(decode,
					  "rows[%zu] is not sorted by series, slot and stack", i);
	}
	return 0;
}

int decode_rows(struct decode *decode)
{
	const Hearth__V1__RowTable *table = decode->message->rows;
	struct batch_row *rows;
	int r;

	if (!table)
		return 0;
	r = check_row_columns(decode, table);
	if (r < 0)
		return r;
	rows = decode_array(decode, table->n_series, sizeof(*rows));
	if (!rows)
		return decode_no_room(decode);
	r = decode_row_columns(decode, table, rows);
	if (r < 0)
		return r;
	decode->batch->rows = rows;
	decode->batch->n_rows = (uint32_t)table->n_series;
	return 0;
}
