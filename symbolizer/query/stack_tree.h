/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Adds stacks with their values to a tree. The path of a stack is: the levels of its group, user
 * frames from the outermost, kernel frames from the outermost. The value is added to the self of
 * the last node. An inlined function is a separate frame below the function that it is inlined
 * into.
 */

#include "symbolizer/query/resolved_stacks.h"

/* Adds the stacks of @items, which are loaded, to stacks->tree. Returns 0 or a negative errno. */
int stack_tree_add(struct resolved_stacks *stacks, const struct store_sum *items, size_t n_items);
