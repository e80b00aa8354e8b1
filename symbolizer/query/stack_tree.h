/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * (group, stack) -> value becomes paths of the tree: the group's levels, user frames from the
 * outermost, kernel frames from the outermost; the value is the last one's own. A function that was
 * inlined is a frame of its own, below the one that it was inlined into.
 */

#include "symbolizer/query/profile.h"
#include "symbolizer/query/series_groups.h"
#include "symbolizer/query/stack_values.h"

struct stack_tree {
	struct store *store;
	struct resolver *resolver;
	const struct clock *clock;
	struct arena *arena;
	struct tree *tree;
	const struct series_groups *groups;
	int max_kernel_stack_depth;
	bool no_inlines;
	bool function_starts;
	struct profile_stats *stats;
};

/* Loads, names and adds the stacks of @items, which it sorts. 0 or negative errno. */
int stack_tree_add(const struct stack_tree *build, struct stack_value *items, size_t n_items);
