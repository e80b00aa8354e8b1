/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The fields of struct tree, and functions that the files of this folder share. */

#include "common/vec.h"
#include "symbolizer/flame/tree.h"

VEC_DEFINE(tree_node_vec, struct tree_node);

struct tree {
	struct tree_node_vec nodes;
	struct string_table *labels;
	/* Hash table by (parent, label, type): 1 + node, 0 free. NULL in a finished tree. */
	uint32_t *slots;
	size_t slot_mask;
	struct memory_budget *budget; /* or NULL */
	uint64_t taken_bytes;         /* of the budget */
	size_t max_nodes;
	bool finished;
};

/* Orders siblings with equal totals: by the bytes of their labels, then by type. */
int tree_compare_labels(const struct tree *tree, uint32_t left, uint32_t right);

/*
 * Fills two arrays: children[first_of[p] .. first_of[p + 1]) are the children of p, rising.
 *
 *   first_of[n_nodes + 1]      zeroed by the caller
 *   children[n_nodes]
 */
void tree_group_by_parent(const struct tree *tree, uint32_t *first_of, uint32_t *children);

/* Rounds self and total of all nodes to multiples of @unit. Needs totals. Returns 0 or -ENOMEM. */
int tree_round(struct tree *tree, uint64_t unit);

/* Sets first_child and next_sibling, with children in their order. Needs totals. */
int tree_link_children(struct tree *tree);
