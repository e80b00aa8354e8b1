/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing. The keys are small integers that the server assigns: no client can choose keys
 * that collide, so the hash needs no secret. */

#include "symbolizer/query/stack_values.h"

#include "common/vec.h"
#include "symbolizer/flame/saturating_add.h"

#define FIRST_SLOTS 1024

VEC_DEFINE(stack_value_vec, struct stack_value);

struct stack_values {
	struct stack_value_vec items;
	uint32_t *slots; /* 1 + index of the item; 0: free */
	size_t slot_mask;
};

static uint64_t item_hash(uint32_t group, uint64_t stack)
{
	uint64_t hash = stack + UINT64_C(0x9e3779b97f4a7c15) * (group + 1);

	hash *= UINT64_C(0xbf58476d1ce4e5b9);
	hash = (hash ^ hash >> 29) * UINT64_C(0x94d049bb133111eb);
	return hash ^ hash >> 32;
}

static uint32_t *item_slot(const struct stack_values *values, uint32_t group, uint64_t stack)
{
	size_t index = item_hash(group, stack) & values->slot_mask;

	for (;; index = (index + 1) & values->slot_mask) {
		uint32_t *slot = &values->slots[index];

		if (*slot == 0 || (values->items.items[*slot - 1].stack == stack &&
				   values->items.items[*slot - 1].group == group))
			return slot;
	}
}

static int grow_slots(struct stack_values *values)
{
	size_t n_slots = values->slots ? (values->slot_mask + 1) * 2 : FIRST_SLOTS;
	uint32_t *slots = calloc(n_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(values->slots);
	values->slots = slots;
	values->slot_mask = n_slots - 1;
	for (size_t i = 0; i < values->items.count; i++) {
		const struct stack_value *item = &values->items.items[i];

		*item_slot(values, item->group, item->stack) = (uint32_t)i + 1;
	}
	return 0;
}

int stack_values_new(struct stack_values **ret_values)
{
	scoped(stack_values_freep) struct stack_values *values = calloc(1, sizeof(*values));
	int r;

	if (!values)
		return -ENOMEM;
	r = grow_slots(values);
	if (r < 0)
		return r;
	*ret_values = take_ptr(values);
	return 0;
}

struct stack_values *stack_values_free(struct stack_values *values)
{
	if (!values)
		return NULL;
	vec_release(&values->items);
	free(values->slots);
	free(values);
	return NULL;
}

static int find_or_add(struct stack_values *values, uint32_t group, uint64_t stack, uint64_t slot,
		       struct stack_value **ret_item)
{
	const struct stack_value added = { .stack = stack, .group = group, .last_slot = slot };
	uint32_t *position = item_slot(values, group, stack);
	int r;

	if (*position == 0) {
		if (values->items.count >= STACK_VALUES_MAX)
			return -ENOSPC;
		if ((values->items.count + 1) * 3 > (values->slot_mask + 1) * 2) {
			r = grow_slots(values);
			if (r < 0)
				return r;
			position = item_slot(values, group, stack);
		}
		r = vec_push(&values->items, added);
		if (r < 0)
			return r;
		*position = (uint32_t)values->items.count;
	}
	*ret_item = &values->items.items[*position - 1];
	return 0;
}

int stack_values_add(struct stack_values *values, uint32_t group, uint64_t stack, uint64_t slot,
		     uint64_t value)
{
	struct stack_value *item;
	int r;

	r = find_or_add(values, group, stack, slot, &item);
	if (r < 0)
		return r;
	item->value = saturating_add(item->value, value);
	item->last_slot = MAX(item->last_slot, slot);
	return 0;
}

int stack_values_replace(struct stack_values *values, uint32_t group, uint64_t stack, uint64_t slot,
			 uint64_t value)
{
	struct stack_value *item;
	int r;

	r = find_or_add(values, group, stack, slot, &item);
	if (r < 0)
		return r;
	if (slot > item->last_slot)
		item->value = 0;
	if (slot >= item->last_slot)
		item->value = saturating_add(item->value, value);
	item->last_slot = MAX(item->last_slot, slot);
	return 0;
}

struct stack_value *stack_values_items(struct stack_values *values, size_t *ret_count)
{
	*ret_count = values->items.count;
	return values->items.items;
}
