/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions of a finished tree: all nodes with the same label and type are one function,
 * whatever their callers are. Self is the sum over its nodes. Total is the sum over those nodes
 * that are not below another node of the function, so that recursion counts once. Function 0 is the
 * root; the others are numbered in depth-first order of their first node. The table borrows the
 * tree.
 */

#include "symbolizer/flame/tree.h"

struct function {
	string_id label;
	char type;
	uint32_t first_node; /* for tree_label() */
	uint64_t self;
	uint64_t total;
};

/*
 *   functions[n_functions]
 *   order[n_nodes]             the nodes, depth-first
 *   function_of_node[n_nodes]  index of the node's function
 */
struct function_table {
	struct function *functions;
	uint32_t n_functions;
	uint32_t *order;
	uint32_t *function_of_node;
	uint32_t n_nodes;
};

int function_table_init(struct function_table *table, const struct tree *tree);
void function_table_release(struct function_table *table);
