/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing. The keys are numbers that the server assigns: no client can choose keys that
 * collide, so the hash needs no secret. */

#include "symbolizer/store/sum_table.h"

#include "common/vec.h"

#define FIRST_SLOTS 1024

static uint64_t item_hash(uint32_t group, uint64_t stack)
{
	uint64_t hash = stack + UINT64_C(0x9e3779b97f4a7c15) * (group + UINT64_C(1));

	hash *= UINT64_C(0xbf58476d1ce4e5b9);
	hash = (hash ^ hash >> 29) * UINT64_C(0x94d049bb133111eb);
	return hash ^ hash >> 32;
}

static uint32_t *item_slot(const struct sum_table *table, uint32_t group, uint64_t stack)
{
	size_t index = item_hash(group, stack) & table->slot_mask;

	for (;; index = (index + 1) & table->slot_mask) {
		uint32_t *slot = &table->slots[index];

		if (*slot == 0 || (table->items[*slot - 1].stack == stack &&
				   table->items[*slot - 1].group == group))
			return slot;
	}
}

/* Memory of the slots and of the items that they have room for. */
static uint64_t bytes_of_slots(size_t n_slots)
{
	return n_slots * (sizeof(uint32_t) + sizeof(struct store_sum));
}

static int grow_slots(struct sum_table *table)
{
	size_t n_slots = table->slots ? (table->slot_mask + 1) * 2 : FIRST_SLOTS;
	uint64_t more = bytes_of_slots(n_slots) - table->taken_bytes;
	uint32_t *slots;

	if (!memory_budget_take(table->memory, more))
		return -ENOMEM;
	table->taken_bytes += more;
	slots = calloc(n_slots, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(table->slots);
	table->slots = slots;
	table->slot_mask = n_slots - 1;
	for (size_t i = 0; i < table->count; i++)
		*item_slot(table, table->items[i].group, table->items[i].stack) = (uint32_t)i + 1;
	return 0;
}

int sum_table_init(struct sum_table *table, const struct store_sum_query *query,
		   struct memory_budget *memory)
{
	*table = (struct sum_table){
		.policy = query->policy,
		.max_items = query->max_items ? query->max_items : STORE_SUM_MAX_ITEMS,
		.memory = memory,
	};
	return grow_slots(table);
}

void sum_table_release(struct sum_table *table)
{
	free(table->items);
	free(table->slots);
	memory_budget_give(table->memory, table->taken_bytes);
	*table = (struct sum_table){};
}

static int add_item(struct sum_table *table, uint32_t group, uint64_t stack, uint32_t *slot)
{
	int r;

	if ((table->count + 1) * 3 > (table->slot_mask + 1) * 2) {
		r = grow_slots(table);
		if (r < 0)
			return r;
		slot = item_slot(table, group, stack);
	}
	r = vec_reserve_items((void **)&table->items, table->count, &table->capacity, 1,
			      sizeof(*table->items));
	if (r < 0)
		return r;
	table->items[table->count++] = (struct store_sum){ .stack = stack, .group = group };
	*slot = (uint32_t)table->count;
	return 0;
}

int sum_table_find(struct sum_table *table, uint32_t group, uint64_t stack, uint32_t *ret_index)
{
	uint32_t *slot = item_slot(table, group, stack);
	int r;

	if (*slot == 0 && table->count >= table->max_items) {
		stack = STORE_OTHER_STACKS;
		slot = item_slot(table, group, stack);
		/* A full table gets at most one more item for each group. A selection has fewer
		 * than max_items groups. */
		if (*slot == 0 && table->count >= 2 * table->max_items)
			return -ENOSPC;
	}
	if (*slot == 0) {
		r = add_item(table, group, stack, slot);
		if (r < 0)
			return r;
		*ret_index = (uint32_t)table->count - 1;
		return 0;
	}
	*ret_index = *slot - 1;
	return 0;
}

int sum_table_add(struct sum_table *table, const struct store_sum_series *series, uint64_t stack,
		  uint64_t slot, uint64_t value)
{
	uint32_t index;
	int r;

	r = sum_table_find(table, series->group, stack, &index);
	if (r < 0)
		return r;
	sum_table_put(table, index, slot, sum_scaled(value, series->factor));
	return 0;
}

void sum_table_take(struct sum_table *table, struct store_sums *ret_sums)
{
	ret_sums->items = table->items;
	ret_sums->count = table->count;
	ret_sums->memory = table->memory;
	ret_sums->taken_bytes = table->taken_bytes;
	table->items = NULL;
	table->memory = NULL;
	sum_table_release(table);
}
