/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A merged call tree: nodes with a label, a type, self and total. Node 0 is the root. Built by adding one value per
 * stack; totals are computed once by tree_finish(), which also sorts children by falling total, ties by label bytes.
 * Labels are interned. Used by one thread.
 */

#include "common/string_table.h"

/* DeepFlow's function types; 'H' host (root of Total), 'P' process, 'T' thread, 'K' kernel, 'L' library, 'C' CUDA,
 * '?' unresolved, 'A' the program's own code, 'O' an object (leaf of a memory type). */
struct tree_node {
	string_id label;
	char type;
	uint32_t parent;       /* UINT32_MAX for the root */
	uint32_t first_child;  /* 0 none */
	uint32_t next_sibling; /* 0 none */
	uint64_t self;	       /* in the finest unit of the store (ns, bytes) */
	uint64_t total;	       /* after tree_finish() */
};

struct tree;

int tree_new(const char *root_label, char root_type, size_t max_nodes, struct tree **ret_tree);
struct tree *tree_free(struct tree *tree);

/* Finds or adds the child of @parent with this label and type. -ENOSPC beyond max_nodes, -ENOMEM. */
int tree_child(struct tree *tree, uint32_t parent, const char *label, char type, uint32_t *ret_node);

void tree_add_self(struct tree *tree, uint32_t node, uint64_t value);

/* Totals and order of children. */
int tree_finish(struct tree *tree);

const struct tree_node *tree_nodes(const struct tree *tree, uint32_t *ret_count);
const char *tree_label(const struct tree *tree, uint32_t node);

#include "common/scoped.h"
DEFINE_SCOPED(struct tree *, tree_free);
