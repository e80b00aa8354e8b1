/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums the rows of a block while its columns are decoded. If no stacks and slots are asked for, and
 * all rows are in the range, the directory has the number of rows of each series: their slots and
 * stacks are not decoded.
 */

#include <string.h>

#include "symbolizer/store/sqlite/block_read.h"

/* Most numbers in the columns have one byte. */
static inline uint64_t read_varint(struct bytes_reader *in)
{
	if (in->next < in->end && *in->next < 0x80)
		return *in->next++;
	return bytes_read_varint(in);
}

/*
 * A block while it is summed. A stack repeats in a run and in runs of one group, so that its item
 * is remembered:
 *
 *   cells[n_stacks]  stamp << 32 | index of the item; of another group if the stamp differs
 */
struct summed_block {
	struct open_block block;
	struct block_sum *sum;
	uint64_t *cells;
	uint64_t stamp; /* changes with the group */
	uint32_t group;
	/* The item of the step of the last row; another step or group if the stamp differs. */
	uint64_t step, step_stamp;
	uint32_t step_item;
	bool within; /* all rows are in the range */
};

static int find_item(struct summed_block *of, uint64_t stack, uint32_t *ret_item)
{
	const bool one = of->sum->query->without_stacks;
	uint64_t *cell = &of->cells[one ? 0 : stack];
	int r;

	if (*cell >> 32 != of->stamp) {
		r = sum_table_find(&of->sum->table, of->group, one ? 0 : of->block.stack_ids[stack],
				   ret_item);
		if (r < 0)
			return r;
		*cell = of->stamp << 32 | *ret_item;
	}
	*ret_item = (uint32_t)*cell;
	return 0;
}

static int find_step(struct summed_block *of, uint64_t slot, uint32_t *ret_item)
{
	const struct store_sum_query *query = of->sum->query;
	uint64_t step = (slot - query->from_slot) / query->step_slots;
	int r;

	if (of->step_stamp != of->stamp || of->step != step) {
		r = sum_table_find(&of->sum->table, of->group, step, &of->step_item);
		if (r < 0)
			return r;
		of->step = step;
		of->step_stamp = of->stamp;
	}
	*ret_item = of->step_item;
	return 0;
}

/* Adds all rows of a run, of which neither slots nor stacks are needed. */
static int sum_whole_run(struct summed_block *of, uint64_t count,
			 const struct store_sum_series *series)
{
	uint64_t sum = of->block.all_one ? count : 0;
	uint32_t item;
	int r;

	/* A row has at least one byte of the column. */
	if (count > (uint64_t)(of->block.slots.end - of->block.slots.next))
		return -EBADMSG;
	if (!of->block.all_one) {
		for (uint64_t i = 0; i < count; i++)
			sum = sum_saturating(sum, read_varint(&of->block.values));
		if (of->block.values.error)
			return -EBADMSG;
	}
	r = find_item(of, 0, &item);
	if (r < 0)
		return r;
	sum = sum_scaled(sum, series->factor);
	sum_table_put(&of->sum->table, item, 0, sum);
	of->sum->n_rows += count;
	if (series->marked)
		of->sum->marked_value = sum_saturating(of->sum->marked_value, sum);
	return 0;
}

static int sum_run(struct summed_block *of, uint64_t count, const struct store_sum_series *series)
{
	struct block_sum *sum = of->sum;
	struct open_block *block = &of->block;
	const bool last_slots = sum->query->last_slots || sum->query->policy == STORE_SUM_LAST;
	uint64_t slot = block->min_slot;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t stack, value;
		uint32_t item;
		int r;

		slot += read_varint(&block->slots);
		stack = read_varint(&block->stacks);
		value = block->all_one ? 1 : read_varint(&block->values);
		if (block->slots.error || block->stacks.error || block->values.error ||
		    stack >= block->n_stacks)
			return -EBADMSG;
		if (!of->within && (slot < sum->from_slot || slot >= sum->to_slot))
			continue;
		r = sum->query->step_slots ? find_step(of, slot, &item)
					   : find_item(of, stack, &item);
		if (r < 0)
			return r;
		value = sum_scaled(value, series->factor);
		sum_table_put(&sum->table, item, last_slots ? slot : 0, value);
		sum->n_rows++;
		if (series->marked)
			sum->marked_value = sum_saturating(sum->marked_value, value);
	}
	return 0;
}

/* Returns the first series at or after @first with an ID that is not less than @id. A query can
 * have many more series than a block. */
static size_t find_series(const struct store_sum_query *query, size_t first, uint64_t id)
{
	size_t end = query->n_series;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (query->series[middle].id < id)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

static void skip_unselected(struct summed_block *of, uint64_t count, bool whole)
{
	if (!whole)
		block_skip_run(&of->block, count);
	else if (!of->block.all_one)
		block_skip_varints(&of->block.values, count);
}

static int prepare_cells(struct block_scratch *scratch, struct summed_block *of)
{
	const size_t n_cells = of->block.n_stacks + 1;
	int r;

	vec_clear(&scratch->cells);
	r = vec_reserve(&scratch->cells, n_cells);
	if (r < 0)
		return r;
	memset(scratch->cells.items, 0, n_cells * sizeof(*scratch->cells.items));
	of->cells = scratch->cells.items;
	return 0;
}

int block_sum_rows(struct bytes_view content, uint64_t min_slot, uint64_t max_slot, uint64_t n_rows,
		   struct block_sum *sum, struct block_scratch *scratch)
{
	const struct store_sum_query *query = sum->query;
	struct summed_block of = {
		.block = { .min_slot = min_slot },
		.sum = sum,
		.within = min_slot >= sum->from_slot && max_slot < sum->to_slot,
	};
	const bool whole = of.within && query->without_stacks && !query->last_slots &&
			   !query->step_slots && query->policy == STORE_SUM_ADD;
	uint64_t id = 0;
	size_t next = 0;
	int r;

	r = block_open(content, n_rows, scratch, &of.block);
	if (r == 0)
		r = prepare_cells(scratch, &of);
	for (uint64_t i = 0; r == 0 && i < of.block.n_runs; i++) {
		uint64_t count;

		id += bytes_read_varint(&of.block.runs);
		count = bytes_read_varint(&of.block.runs);
		next = find_series(query, next, id);
		if (next == query->n_series)
			break;
		if (query->series[next].id != id) {
			skip_unselected(&of, count, whole);
			continue;
		}
		if (of.stamp == 0 || query->series[next].group != of.group)
			of.stamp++;
		of.group = query->series[next].group;
		r = whole ? sum_whole_run(&of, count, &query->series[next])
			  : sum_run(&of, count, &query->series[next]);
	}
	if (r == 0 && (of.block.slots.error || of.block.stacks.error || of.block.values.error))
		r = -EBADMSG;
	return r;
}
