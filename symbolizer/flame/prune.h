/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keeps the root and the nodes of a finished tree with the largest totals, @max_nodes in all (ties
 * in the tree's order), and removes the others. The value of a removed node stays in the totals of
 * its callers and is added to no self: a node's total minus its self and the totals of its children
 * is the value that was pruned below it. *ret_n_pruned is the number of removed nodes.
 */

#include "symbolizer/flame/tree.h"

int tree_prune(struct tree *tree, uint32_t max_nodes, uint64_t *ret_n_pruned);
