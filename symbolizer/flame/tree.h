/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A merged call tree: nodes with a label, a type, self and total. Node 0 is the root. The caller
 * adds one value per stack. tree_finish() then computes the totals and sorts children by falling
 * total, ties by the bytes of their labels; afterwards nothing can be added. Labels are interned
 * and clean (label.h). The index of a parent is lower than those of its children. Values saturate
 * instead of wrapping. A tree is used by one thread.
 */

#include "common/memory_budget.h"
#include "common/scoped.h"
#include "common/string_table.h"

/*
 * Types are DeepFlow's function types: 'H' host (root of Total), 'P' process, 'T' thread, 'K'
 * kernel, 'L' library, 'C' CUDA, '?' unresolved, 'A' the main program, 'O' object (leaf of a memory
 * profile).
 */
struct tree_node {
	string_id label;
	char type;
	uint32_t parent;       /* TREE_NO_PARENT for the root */
	uint32_t first_child;  /* 0: none; set by tree_finish() */
	uint32_t next_sibling; /* 0: none; set by tree_finish() */
	uint64_t self;         /* in the store's unit (ns, bytes) */
	uint64_t total;        /* set by tree_finish() */
};

#define TREE_NO_PARENT UINT32_MAX

struct tree;

int tree_new(const char *root_label, char root_type, size_t max_nodes, struct tree **ret_tree);
struct tree *tree_free(struct tree *tree);

/* From now on the tree takes its nodes from @budget. If it refuses, the tree is full (-ENOSPC). */
void tree_set_budget(struct tree *tree, struct memory_budget *budget);

/* Finds or adds the child of @parent with this label and type. Returns 0, -ENOSPC beyond max_nodes,
 * or -ENOMEM. */
int tree_child(struct tree *tree, uint32_t parent, const char *label, char type,
	       uint32_t *ret_node);

/* tree_child() in two steps, for callers that use one label many times. tree_intern_label() returns
 * -ENOSPC if the labels need too much memory. */
int tree_intern_label(struct tree *tree, const char *text, size_t length, string_id *ret_label);
int tree_child_of_label(struct tree *tree, uint32_t parent, string_id label, char type,
			uint32_t *ret_node);

/* Returns the text and the label_type() of an interned label. */
const char *tree_label_text(const struct tree *tree, string_id label);
char tree_label_type(const struct tree *tree, string_id label);

void tree_add_self(struct tree *tree, uint32_t node, uint64_t value);

/* Computes the totals and sorts the children. Returns 0 or -ENOMEM. */
int tree_finish(struct tree *tree);

/*
 * Like tree_finish(), but rounds all values to multiples of @unit. The root's total is rounded half
 * up; every other value is rounded up or down so that a node's total is exactly its self plus the
 * totals of its children.
 */
int tree_finish_rounded(struct tree *tree, uint64_t unit);

const struct tree_node *tree_nodes(const struct tree *tree, uint32_t *ret_count);
const char *tree_label(const struct tree *tree, uint32_t node);
size_t tree_label_length(const struct tree *tree, uint32_t node);

/*
 * Walks a finished tree depth-first. Calls @enter for each node before and @leave after its
 * children. A negative result of @enter ends the walk, which returns it. @leave may be NULL.
 */
struct tree_visitor {
	int (*enter)(void *arg, const struct tree *tree, uint32_t node);
	void (*leave)(void *arg, const struct tree *tree, uint32_t node);
	void *arg;
};

int tree_walk(const struct tree *tree, const struct tree_visitor *visitor);

DEFINE_SCOPED(struct tree *, tree_free);
