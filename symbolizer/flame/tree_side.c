/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Parents precede their children in a tree, so that one pass finds for each node whether a node
 * with the label is above it.
 */

#include "symbolizer/flame/tree_side.h"

#include <string.h>

#include "symbolizer/flame/saturating_add.h"
#include "symbolizer/flame/tree_internal.h"

struct pass {
	const struct tree *from;
	struct tree *to;
	uint32_t function; /* in @to */
	uint32_t *labels;  /* [labels of from] 1 + the label in @to; 0: not yet there */
	uint64_t n_shortened;
};

/* Finds or adds the child of @parent that equals @node. Returns 0, or -ENOSPC, also if the labels
 * need too much memory, or -ENOMEM. */
static int add_child(struct pass *pass, uint32_t parent, uint32_t node, uint32_t *ret_child)
{
	const struct tree_node *original = &pass->from->nodes.items[node];
	uint32_t *known = &pass->labels[original->label];
	string_id label;
	int r;

	if (*known == 0) {
		r = tree_intern_label(pass->to, tree_label(pass->from, node),
				      tree_label_length(pass->from, node), &label);
		if (r < 0)
			return r;
		*known = label + 1;
	}
	return tree_child_of_label(pass->to, parent, *known - 1, original->type, ret_child);
}

/* Copies @node below @parent, or leaves its value there if there is no room. */
static int add_callee(struct pass *pass, uint32_t node, uint32_t parent, uint32_t *ret_copy)
{
	uint32_t copy = parent;
	int r = add_child(pass, parent, node, &copy);

	if (r < 0 && r != -ENOSPC)
		return r;
	pass->n_shortened += r == -ENOSPC;
	tree_add_self(pass->to, copy, pass->from->nodes.items[node].self);
	*ret_copy = copy;
	return 0;
}

/* Adds @value to the path of callers of the outermost call @node. */
static int add_callers(struct pass *pass, uint32_t node, uint64_t value)
{
	uint32_t copy = pass->function;
	int r = 0;

	for (node = pass->from->nodes.items[node].parent; node != 0 && r == 0;
	     node = pass->from->nodes.items[node].parent)
		r = add_child(pass, copy, node, &copy);
	if (r < 0 && r != -ENOSPC)
		return r;
	pass->n_shortened += r == -ENOSPC;
	tree_add_self(pass->to, copy, value);
	return 0;
}

/*
 * Sums the values below each outermost call. Node @i is below the call outermost[i]; 0: it is below
 * none. totals[outermost[i]] is the sum. Both have an item for each node, zeroed by the caller.
 */
static void sum_outermost(const struct tree *tree, string_id label, uint32_t *outermost,
			  uint64_t *totals)
{
	const struct tree_node *nodes = tree->nodes.items;

	for (uint32_t i = 1; i < tree->nodes.count; i++) {
		outermost[i] = outermost[nodes[i].parent];
		if (outermost[i] == 0 && nodes[i].label == label)
			outermost[i] = i;
		totals[outermost[i]] = saturating_add(totals[outermost[i]], nodes[i].self);
	}
}

static int make_callers(struct pass *pass, string_id label)
{
	const size_t count = pass->from->nodes.count;
	scoped_free uint32_t *outermost = calloc(count, sizeof(*outermost));
	scoped_free uint64_t *totals = calloc(count, sizeof(*totals));
	int r = 0;

	if (!outermost || !totals)
		return -ENOMEM;
	sum_outermost(pass->from, label, outermost, totals);
	for (uint32_t i = 1; i < count && r == 0; i++)
		if (outermost[i] == i)
			r = add_callers(pass, i, totals[i]);
	return r;
}

static int make_callees(struct pass *pass, string_id label)
{
	const struct tree_node *nodes = pass->from->nodes.items;
	/* For each node: 1 + the node in the new tree that has its value; 0: it is not there. */
	scoped_free uint32_t *copies = calloc(pass->from->nodes.count, sizeof(*copies));
	int r = 0;

	if (!copies)
		return -ENOMEM;
	for (uint32_t i = 1; i < pass->from->nodes.count && r == 0; i++) {
		uint32_t copy = pass->function;

		if (copies[nodes[i].parent] != 0)
			r = add_callee(pass, i, copies[nodes[i].parent] - 1, &copy);
		else if (nodes[i].label == label)
			tree_add_self(pass->to, copy, nodes[i].self);
		else
			continue;
		copies[i] = copy + 1;
	}
	return r;
}

/* Returns whether @label is @function after a prefix such as "[l] ". */
static bool has_name(const char *label, const char *function)
{
	return label[0] == '[' && label[1] != '\0' && strncmp(label + 2, "] ", 2) == 0 &&
	       strcmp(label + 4, function) == 0;
}

/* Returns the first node below the root with the function, or 0. A label that equals it is
 * preferred. */
static uint32_t find_function(const struct tree *tree, const char *function)
{
	const struct tree_node *nodes = tree->nodes.items;
	uint32_t named = 0;
	string_id label;

	if (string_table_find(tree->labels, function, strlen(function), &label))
		for (uint32_t i = 1; i < tree->nodes.count; i++)
			if (nodes[i].label == label)
				return i;
	for (uint32_t i = 1; i < tree->nodes.count && named == 0; i++)
		if (has_name(tree_label(tree, i), function))
			named = i;
	return named;
}

int tree_side_make(const struct tree *tree, const char *function, enum tree_side side,
		   struct tree **ret_tree, uint64_t *ret_n_shortened)
{
	scoped(tree_freep) struct tree *to = NULL;
	scoped_free uint32_t *labels =
		calloc(string_table_count(tree->labels) + 1, sizeof(*labels));
	struct pass pass = { .from = tree, .labels = labels };
	const uint32_t first = find_function(tree, function);
	const string_id label = tree->nodes.items[first].label;
	int r;

	assert(!tree->finished);
	if (first == 0)
		return 0;
	if (!labels)
		return -ENOMEM;
	r = tree_new(tree_label(tree, 0), tree->nodes.items[0].type, tree->max_nodes, &to);
	if (r < 0)
		return r;
	tree_set_budget(to, tree->budget);
	pass.to = to;
	r = add_child(&pass, 0, first, &pass.function);
	if (r == 0)
		r = side == TREE_CALLERS ? make_callers(&pass, label) : make_callees(&pass, label);
	if (r < 0)
		return r == -ENOSPC ? -ENOMEM : r;
	*ret_n_shortened = pass.n_shortened;
	*ret_tree = take_ptr(to);
	return 1;
}
