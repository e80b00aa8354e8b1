/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The inside of a tree, for the files of this folder that build or rebuild one. */

#include "common/vec.h"
#include "symbolizer/flame/tree.h"

VEC_DEFINE(tree_node_vec, struct tree_node);

struct tree {
	struct tree_node_vec nodes;
	struct string_table *labels;
	uint32_t *slots; /* node + 1 by hash of (parent, label, type), 0 free; NULL once finished */
	size_t slot_mask;
	size_t max_nodes;
	bool finished;
};

/* The order of siblings with equal totals: by label bytes, then by type. */
int tree_compare_labels(const struct tree *tree, uint32_t left, uint32_t right);

/*
 * children[first_of[p] .. first_of[p + 1]) are the children of p, in order of number.
 *
 *   first_of[n_nodes + 1]      zero when called
 *   children[n_nodes]
 */
void tree_group_by_parent(const struct tree *tree, uint32_t *first_of, uint32_t *children);

/* Rounds self and total of all nodes to multiples of @unit. Totals must be there. -ENOMEM. */
int tree_round(struct tree *tree, uint64_t unit);

/* Links the nodes by their parents and sorts children. Totals must be there. */
int tree_link_children(struct tree *tree);

static inline uint64_t saturating_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
