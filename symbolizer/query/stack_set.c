/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/stack_set.h"

static int compare_items(const void *left, const void *right)
{
	const struct stack_value *a = left;
	const struct stack_value *b = right;

	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return a->group < b->group ? -1 : a->group > b->group;
}

int stack_set_load(struct store *store, struct stack_value *items, size_t n_items,
		   struct arena *arena, struct stack_set *ret_set)
{
	struct stack_set set = { .ids = arena_alloc_array(arena, n_items, sizeof(*set.ids)) };

	if (!set.ids)
		return -ENOMEM;
	if (n_items > 0)
		qsort(items, n_items, sizeof(*items), compare_items);
	for (size_t i = 0; i < n_items; i++) {
		if (i == 0 || items[i].stack != items[i - 1].stack)
			set.ids[set.count++] = items[i].stack;
	}
	set.stacks = arena_alloc_array(arena, set.count, sizeof(*set.stacks));
	if (!set.stacks)
		return -ENOMEM;
	*ret_set = set;
	return store_load_stacks(store, set.ids, set.count, arena, set.stacks);
}
