/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The distinct stacks that a list of sums (struct store_sum) refers to, loaded from the store. */

#include "symbolizer/store/store_view.h"

/*
 *   ids[count]     ascending, each once
 *   stacks[count]  stacks[i] has the ID ids[i]
 */
struct stack_set {
	uint64_t *ids;
	struct store_stack *stacks;
	size_t count;
};

struct stack_set_source {
	struct store_view *view;
	struct arena *arena;
};

/*
 * Sorts @items by stack and group, and loads each of their stacks once, into the arena. Returns 0
 * or a negative errno.
 */
int stack_set_load(const struct stack_set_source *source, struct store_sum *items, size_t n_items,
		   struct stack_set *ret_set);
