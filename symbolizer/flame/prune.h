/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keeps the @max_nodes nodes of a finished tree with the largest totals (the root always, ties in
 * the tree's order) and drops the rest. A dropped node's value stays in the totals of its callers,
 * and in nobody's self: what the children of a node lack to its total is what was pruned below it.
 * *ret_n_pruned tells how many nodes went.
 */

#include "symbolizer/flame/tree.h"

int tree_prune(struct tree *tree, uint32_t max_nodes, uint64_t *ret_n_pruned);
