/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each stack is visited once per block in which it has a value, one after another. The node of the
 * previous stack is therefore remembered with its frames.
 */

#include "symbolizer/query/function_shares.h"

#include <string.h>

#include "common/vec.h"
#include "symbolizer/flame/label.h"

VEC_DEFINE(value_vec, double);

/* Of a node in the table of functions: its two numbers, and a function with its hash entry. */
#define TABLE_BYTES_PER_NODE 128

struct function_shares {
	struct memory_budget *memory; /* of the values and the table; or NULL */
	uint64_t taken_bytes;
	struct tree *tree;
	struct value_vec self, total; /* [node * FUNCTION_SHARES_COLUMNS + column] */
	struct function_table functions;
	uint64_t n_shortened;
	bool after; /* the side of the stacks that are visited */
	bool finished;

	/* The stack that was added last. */
	struct resolved_frame_vec path;
	const struct series_group *group; /* NULL: none */
	uint32_t node;
};

int function_shares_new(struct memory_budget *memory, struct function_shares **ret_shares)
{
	scoped(function_shares_freep) struct function_shares *shares = calloc(1, sizeof(*shares));
	int r;

	if (!shares)
		return -ENOMEM;
	r = tree_new("", 'P', FUNCTION_SHARES_MAX_NODES, &shares->tree);
	if (r < 0)
		return r;
	tree_set_budget(shares->tree, memory);
	shares->memory = memory;
	*ret_shares = take_ptr(shares);
	return 0;
}

struct function_shares *function_shares_free(struct function_shares *shares)
{
	if (!shares)
		return NULL;
	if (shares->finished)
		function_table_release(&shares->functions);
	tree_free(shares->tree);
	vec_release(&shares->self);
	vec_release(&shares->total);
	vec_release(&shares->path);
	memory_budget_give(shares->memory, shares->taken_bytes);
	free(shares);
	return NULL;
}

static int take_memory(struct function_shares *shares, uint64_t bytes)
{
	if (!memory_budget_take(shares->memory, bytes))
		return -ENOMEM;
	shares->taken_bytes += bytes;
	return 0;
}

/* Makes room for @count values, at least by half more than before. */
static int reserve_values(struct function_shares *shares, struct value_vec *values, size_t count)
{
	const size_t capacity = MAX(count, values->capacity + values->capacity / 2);
	int r;

	if (count <= values->capacity)
		return 0;
	r = take_memory(shares, (capacity - values->capacity) * sizeof(*values->items));
	return r < 0 ? r : vec_reserve(values, capacity - values->count);
}

/* Makes room for the values of all nodes. */
static int grow(struct function_shares *shares)
{
	uint32_t n_nodes;
	size_t need;
	int r;

	(void)tree_nodes(shares->tree, &n_nodes);
	need = (size_t)n_nodes * FUNCTION_SHARES_COLUMNS;
	if (need <= shares->self.count)
		return 0;
	r = reserve_values(shares, &shares->self, need);
	if (r < 0)
		return r;
	memset(shares->self.items + shares->self.count, 0,
	       (need - shares->self.count) * sizeof(*shares->self.items));
	shares->self.count = need;
	return 0;
}

static int add_value(struct function_shares *shares, uint32_t node, size_t column, double value)
{
	int r = grow(shares);

	if (r < 0)
		return r;
	shares->self.items[(size_t)node * FUNCTION_SHARES_COLUMNS + column] += value;
	tree_add_self(shares->tree, node, (uint64_t)value);
	return 0;
}

/* Finds or adds the node of a stack. Its levels (threads, groups) are left out. */
static int find_node(struct function_shares *shares, const struct resolved_stacks *stacks,
		     const struct resolved_stack *stack, uint32_t *ret_node)
{
	uint32_t node = 0;
	int r = 0;

	for (uint32_t i = stack->n_frames; i-- > 0 && r == 0;)
		r = tree_child(shares->tree, node, resolved_label(stacks, &stack->frames[i]),
			       stack->frames[i].type, &node);
	if (r == -ENOSPC) {
		shares->n_shortened++;
		r = 0;
	}
	*ret_node = node;
	return r;
}

static bool is_same_frame(const struct resolved_frame *a, const struct resolved_frame *b)
{
	return a->label == b->label && a->type == b->type;
}

static bool is_previous(const struct function_shares *shares, const struct resolved_stack *stack)
{
	if (!shares->group || shares->path.count != stack->n_frames)
		return false;
	for (uint32_t i = 0; i < stack->n_frames; i++)
		if (!is_same_frame(&shares->path.items[i], &stack->frames[i]))
			return false;
	return true;
}

static int remember(struct function_shares *shares, const struct resolved_stack *stack)
{
	vec_clear(&shares->path);
	for (uint32_t i = 0; i < stack->n_frames; i++) {
		int r = vec_push(&shares->path, stack->frames[i]);

		if (r < 0)
			return r;
	}
	shares->group = stack->group;
	return 0;
}

static int add_stack(void *arg, const struct resolved_stacks *stacks,
		     const struct resolved_stack *stack)
{
	struct function_shares *shares = arg;
	size_t column = stack->group->block + (shares->after ? FUNCTION_SHARES_BLOCKS : 0);
	int r = 0;

	assert(stack->group->block < FUNCTION_SHARES_BLOCKS);
	if (!is_previous(shares, stack)) {
		r = find_node(shares, stacks, stack, &shares->node);
		if (r == 0)
			r = remember(shares, stack);
	}
	return r < 0 ? r : add_value(shares, shares->node, column, (double)stack->value);
}

struct stack_visitor function_shares_visitor(struct function_shares *shares, bool after)
{
	shares->after = after;
	/* Labels are numbers of another tree now. */
	shares->group = NULL;
	return (struct stack_visitor){ .visit = add_stack, .arg = shares };
}

int function_shares_add_path(struct function_shares *shares, const char *path, size_t column,
			     double value)
{
	uint32_t node = 0;
	char label[LABEL_MAX_BYTES];
	int r = 0;

	for (size_t length; *path && r == 0; path += length + (path[length] == ';')) {
		length = strcspn(path, ";");
		assert(length < sizeof(label));
		memcpy(label, path, length);
		label[length] = '\0';
		r = tree_child(shares->tree, node, label, label_type(label), &node);
	}
	return r < 0 ? r : add_value(shares, node, column, value);
}

int function_shares_finish(struct function_shares *shares)
{
	const struct tree_node *nodes;
	uint32_t n_nodes;
	int r;

	r = grow(shares);
	if (r == 0)
		r = reserve_values(shares, &shares->total, shares->self.count);
	if (r == 0)
		r = tree_finish(shares->tree);
	(void)tree_nodes(shares->tree, &n_nodes);
	if (r == 0)
		r = take_memory(shares, (uint64_t)n_nodes * TABLE_BYTES_PER_NODE);
	if (r == 0)
		r = function_table_init(&shares->functions, shares->tree);
	if (r < 0)
		return r;
	shares->finished = true;
	nodes = tree_nodes(shares->tree, &n_nodes);
	memcpy(shares->total.items, shares->self.items,
	       shares->self.count * sizeof(*shares->self.items));
	shares->total.count = shares->self.count;
	for (size_t i = n_nodes; i-- > 1;) {
		double *parent =
			&shares->total.items[(size_t)nodes[i].parent * FUNCTION_SHARES_COLUMNS];
		const double *child = &shares->total.items[i * FUNCTION_SHARES_COLUMNS];

		for (size_t column = 0; column < FUNCTION_SHARES_COLUMNS; column++)
			parent[column] += child[column];
	}
	return 0;
}

const struct tree *function_shares_tree(const struct function_shares *shares)
{
	return shares->tree;
}

const struct function_table *function_shares_functions(const struct function_shares *shares)
{
	assert(shares->finished);
	return &shares->functions;
}

const double *function_shares_self(const struct function_shares *shares, uint32_t node)
{
	return &shares->self.items[(size_t)node * FUNCTION_SHARES_COLUMNS];
}

const double *function_shares_total(const struct function_shares *shares, uint32_t node)
{
	return &shares->total.items[(size_t)node * FUNCTION_SHARES_COLUMNS];
}

uint64_t function_shares_shortened(const struct function_shares *shares)
{
	return shares->n_shortened;
}
