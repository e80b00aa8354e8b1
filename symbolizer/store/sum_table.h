/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The sums of one store_sum(), for storage engines that add row by row: a table from (group, stack)
 * to a value. Values saturate instead of wrapping. Used by one thread.
 *
 * The table holds at most max_items stacks. After that, the rows of stacks that it does not contain
 * are added to an item (group, STORE_OTHER_STACKS), so that the sum over all items stays complete.
 */

#include "symbolizer/store/store.h"

struct sum_table {
	enum store_sum_policy policy;
	size_t max_items;
	struct store_sum *items;
	size_t count;
	size_t capacity;
	uint32_t *slots; /* [slot_mask + 1] 1 + index of an item; 0: free */
	size_t slot_mask;
	struct memory_budget *memory; /* or NULL */
	uint64_t taken_bytes;         /* of the budget */
};

/* The items are taken from @memory, which may be NULL. Returns 0 or -ENOMEM. */
int sum_table_init(struct sum_table *table, const struct store_sum_query *query,
		   struct memory_budget *memory);
void sum_table_release(struct sum_table *table);

/*
 * Finds or adds the item of a stack, and sets *ret_index to its index, which stays valid. Returns
 * 0, -ENOMEM, or -ENOSPC if there are too many groups.
 */
int sum_table_find(struct sum_table *table, uint32_t group, uint64_t stack, uint32_t *ret_index);

static inline uint64_t sum_saturating(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t sum_scaled(uint64_t value, uint64_t factor)
{
	uint64_t product;

	return __builtin_mul_overflow(value, factor, &product) ? UINT64_MAX : product;
}

/* Adds a value of @slot to the item, or replaces the item's value, as the policy demands. */
static inline void sum_table_put(struct sum_table *table, uint32_t index, uint64_t slot,
				 uint64_t value)
{
	struct store_sum *item = &table->items[index];

	if (table->policy == STORE_SUM_LAST && slot != item->last_slot) {
		if (slot < item->last_slot)
			return;
		item->value = 0;
	}
	item->value = sum_saturating(item->value, value);
	item->last_slot = MAX(item->last_slot, slot);
}

/* Adds one row of a series. Returns 0, -ENOMEM or -ENOSPC. */
int sum_table_add(struct sum_table *table, const struct store_sum_series *series, uint64_t stack,
		  uint64_t slot, uint64_t value);

/* Moves the items to @ret_sums, and leaves the table empty. */
void sum_table_take(struct sum_table *table, struct store_sums *ret_sums);
