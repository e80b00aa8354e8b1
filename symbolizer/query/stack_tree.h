/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Adds stacks with their values to a tree. The path of a stack is: the levels of its group, user
 * frames from the outermost, kernel frames from the outermost. The value is added to the self of
 * the last node. An inlined function is a separate frame below the function that it is inlined
 * into.
 */

#include "symbolizer/query/profile.h"
#include "symbolizer/query/series_groups.h"

/* The node of values with the stack STORE_OTHER_STACKS. */
#define OTHER_STACKS_LABEL "[other stacks]"

struct stack_tree {
	struct store_view *view;
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

/* Sorts @items, then loads, names and adds their stacks. Returns 0 or a negative errno. */
int stack_tree_add(const struct stack_tree *build, struct store_sum *items, size_t n_items);
