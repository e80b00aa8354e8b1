/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The distinct stacks of a list of values, loaded from the store. */

#include "symbolizer/query/stack_values.h"

/*
 *   ids[count]     rising
 *   stacks[count]  stacks[i] has the ID ids[i]
 */
struct stack_set {
	uint64_t *ids;
	struct store_stack *stacks;
	size_t count;
};

/*
 * Sorts @items by stack and group, and loads each of their stacks once, into @arena. Returns 0 or a
 * negative errno.
 */
int stack_set_load(struct store *store, struct stack_value *items, size_t n_items,
		   struct arena *arena, struct stack_set *ret_set);
