/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A merged call tree: nodes with a label, a type, self and total. Node 0 is the root. Built by
 * adding one value per stack; totals are computed once by tree_finish(), which also sorts children
 * by falling total, ties by label bytes. Nothing is added to a finished tree. Labels are interned
 * and clean (see label.h). A parent's number is always lower than its children's. Values saturate
 * instead of wrapping. Used by one thread.
 */

#include "common/string_table.h"

/* DeepFlow's function types; 'H' host (root of Total), 'P' process, 'T' thread, 'K' kernel, 'L'
 * library, 'C' CUDA,
 * '?' unresolved, 'A' the program's own code, 'O' an object (leaf of a memory type). */
struct tree_node {
	string_id label;
	char type;
	uint32_t parent;       /* UINT32_MAX for the root */
	uint32_t first_child;  /* 0 none; after tree_finish() */
	uint32_t next_sibling; /* 0 none; after tree_finish() */
	uint64_t self;         /* in the finest unit of the store (ns, bytes) */
	uint64_t total;        /* after tree_finish() */
};

#define TREE_NO_PARENT UINT32_MAX

struct tree;

int tree_new(const char *root_label, char root_type, size_t max_nodes, struct tree **ret_tree);
struct tree *tree_free(struct tree *tree);

/* Finds or adds the child of @parent with this label and type. -ENOSPC beyond max_nodes, -ENOMEM.
 */
int tree_child(struct tree *tree, uint32_t parent, const char *label, char type,
	       uint32_t *ret_node);

/* The same in two steps, for callers that use one label many times. -ENOSPC when the labels take
 * too much memory. */
int tree_intern_label(struct tree *tree, const char *text, size_t length, string_id *ret_label);
int tree_child_of_label(struct tree *tree, uint32_t parent, string_id label, char type,
			uint32_t *ret_node);

/* label_type() of an interned label. */
char tree_label_type(const struct tree *tree, string_id label);

void tree_add_self(struct tree *tree, uint32_t node, uint64_t value);

/* Totals and order of children. */
int tree_finish(struct tree *tree);

/*
 * The same with values that are multiples of @unit. Each value is its exact value rounded down or
 * up, the root's half up, and each total is exactly the sum of the node's self and its children.
 */
int tree_finish_rounded(struct tree *tree, uint64_t unit);

const struct tree_node *tree_nodes(const struct tree *tree, uint32_t *ret_count);
const char *tree_label(const struct tree *tree, uint32_t node);
size_t tree_label_length(const struct tree *tree, uint32_t node);

/*
 * Walks a finished tree depth-first, children in their order. Each node is entered once before and
 * left once after its children; a negative answer of @enter ends the walk with it. @leave may be
 * NULL.
 */
struct tree_visitor {
	int (*enter)(void *arg, const struct tree *tree, uint32_t node);
	void (*leave)(void *arg, const struct tree *tree, uint32_t node);
	void *arg;
};

int tree_walk(const struct tree *tree, const struct tree_visitor *visitor);

#include "common/scoped.h"
DEFINE_SCOPED(struct tree *, tree_free);
