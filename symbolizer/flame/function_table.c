/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One depth-first walk numbers the functions. It counts for each function how many of its nodes are
 * ancestors of the current node: only a node without such an ancestor adds to the total.
 */

#include "symbolizer/flame/function_table.h"

#include "common/hash_table.h"
#include "common/vec.h"
#include "symbolizer/flame/saturating_add.h"
#include "symbolizer/flame/tree_internal.h"

VEC_DEFINE(function_vec, struct function);
VEC_DEFINE(depth_vec, uint32_t);

struct function_key {
	uint32_t label;
	uint32_t type;
};

struct function_walk {
	struct function_table *table;
	struct function_vec functions;
	struct depth_vec open; /* per function: nodes that are entered and not left */
	struct hash_table *numbers;
	uint32_t rank;
};

/* Finds or adds the function of @node. */
static int number_function(struct function_walk *walk, const struct tree_node *node, uint32_t index,
			   uint32_t *ret_function)
{
	/* The root is the selection. It stays separate from a function with the same label. */
	struct function_key key = { .label = node->label,
				    .type = index ? (uint8_t)node->type : UINT32_MAX };
	const struct function function = {
		.label = node->label,
		.type = node->type,
		.first_node = index,
	};
	void *value;
	int r;

	r = hash_table_insert(walk->numbers, &key, &value);
	if (r < 0)
		return r;
	if (r == 0) {
		*ret_function = *(uint32_t *)value;
		return 0;
	}

	*(uint32_t *)value = (uint32_t)walk->functions.count;
	r = vec_push(&walk->open, 0);
	if (r < 0)
		return r;
	*ret_function = (uint32_t)walk->functions.count;
	return vec_push(&walk->functions, function);
}

static int enter_node(void *arg, const struct tree *tree, uint32_t index)
{
	struct function_walk *walk = arg;
	const struct tree_node *node = &tree->nodes.items[index];
	struct function *function;
	uint32_t number;
	int r;

	r = number_function(walk, node, index, &number);
	if (r < 0)
		return r;

	walk->table->order[walk->rank++] = index;
	walk->table->function_of_node[index] = number;
	function = &walk->functions.items[number];
	function->self = saturating_add(function->self, node->self);
	if (walk->open.items[number]++ == 0)
		function->total = saturating_add(function->total, node->total);
	return 0;
}

static void leave_node(void *arg, const struct tree *tree, uint32_t index)
{
	struct function_walk *walk = arg;

	(void)tree;
	walk->open.items[walk->table->function_of_node[index]]--;
}

int function_table_init(struct function_table *table, const struct tree *tree)
{
	struct function_walk walk = { .table = table };
	const struct tree_visitor visitor = {
		.enter = enter_node,
		.leave = leave_node,
		.arg = &walk,
	};
	scoped(hash_table_freep) struct hash_table *numbers = NULL;
	int r;

	*table = (struct function_table){ .n_nodes = (uint32_t)tree->nodes.count };
	r = hash_table_new(sizeof(struct function_key), sizeof(uint32_t), 0, &numbers);
	if (r < 0)
		return r;

	walk.numbers = numbers;
	table->order = calloc(table->n_nodes, sizeof(*table->order));
	table->function_of_node = calloc(table->n_nodes, sizeof(*table->function_of_node));
	if (table->order && table->function_of_node)
		r = tree_walk(tree, &visitor);
	else
		r = -ENOMEM;

	vec_release(&walk.open);
	table->functions = walk.functions.items;
	table->n_functions = (uint32_t)walk.functions.count;
	if (r < 0)
		function_table_release(table);
	return r;
}

void function_table_release(struct function_table *table)
{
	free(table->functions);
	free(table->order);
	free(table->function_of_node);
	*table = (struct function_table){};
}
