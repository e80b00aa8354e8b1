/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/stack_set.h"

/*
 * Stacks that one call of the store loads: it takes up to 5 us for a stack, and holds one of few
 * readers meanwhile.
 */
#define STACKS_PER_CALL ((size_t)8192)

static int compare_items(const void *left, const void *right)
{
	const struct store_sum *a = left;
	const struct store_sum *b = right;

	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return a->group < b->group ? -1 : a->group > b->group;
}

static int load_stacks(const struct stack_set_source *source, const struct stack_set *set)
{
	for (size_t i = 0; i < set->count; i += STACKS_PER_CALL) {
		int r;

		if (cancel_is_requested(source->view->cancel))
			return -ECANCELED;
		r = store_load_stacks(source->view, set->ids + i,
				      MIN(STACKS_PER_CALL, set->count - i), source->arena,
				      set->stacks + i);
		if (r < 0)
			return r;
	}
	return 0;
}

int stack_set_load(const struct stack_set_source *source, struct store_sum *items, size_t n_items,
		   struct stack_set *ret_set)
{
	struct stack_set set = {};

	set.ids = arena_alloc_array(source->arena, n_items, sizeof(*set.ids));
	if (!set.ids)
		return -ENOMEM;
	if (n_items > 0)
		qsort(items, n_items, sizeof(*items), compare_items);
	for (size_t i = 0; i < n_items; i++) {
		if (i == 0 || items[i].stack != items[i - 1].stack)
			set.ids[set.count++] = items[i].stack;
	}
	set.stacks = arena_alloc_array(source->arena, set.count, sizeof(*set.stacks));
	if (!set.stacks)
		return -ENOMEM;
	*ret_set = set;
	return load_stacks(source, &set);
}
