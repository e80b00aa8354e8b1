/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One side of a function in a tree: what it calls, merged over all of its callers, or who calls it.
 *
 *   callees   root > function > its callees, each with the values of the original
 *   callers   root > function > its caller > the caller's caller ... > the outermost frame, which
 *             has the value as self
 *
 * The total of the function is that of struct function (function_table.h) in both: in a recursion,
 * only the outermost call counts, and the inner ones are callees.
 */

#include "symbolizer/flame/tree.h"

enum tree_side {
	TREE_CALLEES,
	TREE_CALLERS,
};

/*
 * Makes a tree from @tree, which is not finished, of the nodes with the label @function. If there
 * is none, @function may also be a label without its prefix, such as "[l] ".
 *
 * The new tree has the same budget and the same limit of nodes, and is not finished either. Where
 * it has no more room, a value is added to the last node that had room, and *ret_n_shortened counts
 * it. Returns 1, 0 if no node below the root has the function, or -ENOMEM.
 */
int tree_side_make(const struct tree *tree, const char *function, enum tree_side side,
		   struct tree **ret_tree, uint64_t *ret_n_shortened);
