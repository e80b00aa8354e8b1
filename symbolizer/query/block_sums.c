/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/block_sums.h"

#include <string.h>

#define SLOTS_PER_HOUR (3600 * NSEC_PER_SEC / SLOT_NS)

/* The blocks of a query: block b is [slot_of(b), slot_of(b + 1)). */
struct blocks {
	const struct block_sums_query *query;
	uint32_t count;
	bool whole_hours;
};

static uint64_t slot_of(const struct blocks *blocks, uint32_t block)
{
	const uint64_t from = blocks->query->sum.from_slot, to = blocks->query->sum.to_slot;
	uint64_t slot = from + (uint64_t)((__uint128_t)(to - from) * block / blocks->count);

	if (blocks->whole_hours && block > 0 && block < blocks->count)
		slot = MAX(slot - slot % SLOTS_PER_HOUR, from);
	return slot;
}

/* True if a block contains values that a neighbouring block contains too. */
static bool overlaps(const struct blocks *blocks, uint32_t block, const struct store_sums *sums)
{
	if (sums->from_slot == 0 && sums->to_slot == 0)
		return false;
	return (block > 0 && sums->from_slot < slot_of(blocks, block)) ||
	       (block + 1 < blocks->count && sums->to_slot > slot_of(blocks, block + 1));
}

/* Appends the items of one block. Returns 0, or -ENOMEM also if the budget refuses. */
static int append(struct store_sums *all, const struct store_sums *sums, uint32_t first_group)
{
	const uint64_t bytes = sums->count * sizeof(*sums->items);
	struct store_sum *items;

	if (all->memory && !memory_budget_take(all->memory, bytes))
		return -ENOMEM;
	all->taken_bytes += all->memory ? bytes : 0;
	items = reallocarray(all->items, all->count + sums->count + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	all->items = items;
	for (size_t i = 0; i < sums->count; i++) {
		items[all->count + i] = sums->items[i];
		items[all->count + i].group += first_group;
	}
	all->count += sums->count;
	all->n_rows += sums->n_rows;
	all->marked_value += sums->marked_value;
	all->n_damaged_blocks = MAX(all->n_damaged_blocks, sums->n_damaged_blocks);
	return 0;
}

/* Keeps the range that the values really have. */
static void widen(struct store_sums *all, const struct store_sums *sums)
{
	if (sums->from_slot == 0 && sums->to_slot == 0)
		return;
	if (all->to_slot == 0 || sums->from_slot < all->from_slot)
		all->from_slot = sums->from_slot;
	all->to_slot = MAX(all->to_slot, sums->to_slot);
}

/* Sums all blocks. Returns 1; 0 if two blocks overlap; or a negative errno. */
static int sum_blocks(struct store_view *view, const struct blocks *blocks, struct store_sums *all)
{
	for (uint32_t i = 0; i < blocks->count; i++) {
		struct store_sum_query part = blocks->query->sum;
		struct store_sums sums = {};
		bool overlap;
		int r;

		part.from_slot = slot_of(blocks, i);
		part.to_slot = slot_of(blocks, i + 1);
		if (part.from_slot >= part.to_slot)
			continue;
		r = store_sum(view, &part, &sums);
		if (r < 0)
			return r;
		overlap = overlaps(blocks, i, &sums);
		r = overlap ? 0 : append(all, &sums, i * blocks->query->n_groups);
		widen(all, &sums);
		store_sums_release(&sums);
		if (r < 0 || overlap)
			return r;
	}
	return 1;
}

int block_sums(struct store_view *view, const struct block_sums_query *query,
	       struct store_sums *ret_sums, uint32_t *ret_n_blocks)
{
	struct blocks blocks = { .query = query, .count = query->n_blocks };
	struct store_sums all = { .memory = view->memory };
	int r = sum_blocks(view, &blocks, &all);

	if (r == 0) {
		store_sums_release(&all);
		all.memory = view->memory;
		blocks.whole_hours = true;
		blocks.count = (uint32_t)MIN(
			(query->sum.to_slot - query->sum.from_slot) / SLOTS_PER_HOUR + 1,
			(uint64_t)query->n_blocks);
		r = sum_blocks(view, &blocks, &all);
	}
	if (r == 0) {
		/* Longer parts than an hour, which no engine has: one block is always right. */
		store_sums_release(&all);
		all.memory = view->memory;
		blocks.count = 1;
		r = sum_blocks(view, &blocks, &all);
	}
	if (r < 0) {
		store_sums_release(&all);
		return r;
	}
	*ret_sums = all;
	*ret_n_blocks = blocks.count;
	return 0;
}
