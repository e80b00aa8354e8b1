/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/stack_tree.h"

/* Finds or adds the nodes of a stack, as far as the tree has room. */
static int add_path(struct tree *tree, const struct resolved_stack *stack, uint32_t *ret_node,
		    const struct resolved_frame **ret_leaf)
{
	uint32_t node = 0;
	int r;

	r = series_group_node(stack->group, tree, &node);
	for (uint32_t i = stack->n_frames; i-- > 0 && r == 0;) {
		const struct resolved_frame *frame = &stack->frames[i];

		r = tree_child_of_label(tree, node, frame->label, frame->type, &node);
		if (r == 0)
			*ret_leaf = frame;
	}
	*ret_node = node;
	return r;
}

static int add_stack(void *arg, const struct resolved_stacks *stacks,
		     const struct resolved_stack *stack)
{
	const struct resolved_frame *leaf = NULL;
	struct tree *tree = arg;
	uint32_t node = 0;
	int r;

	r = add_path(tree, stack, &node, &leaf);
	if (r == -ENOSPC)
		stacks->stats->n_stacks_shortened++;
	else if (r < 0)
		return r;
	tree_add_self(tree, node, stack->value);
	resolved_stacks_count(stacks, stack, leaf);
	return 0;
}

int stack_tree_add(struct resolved_stacks *stacks, const struct store_sum *items, size_t n_items)
{
	const struct stack_visitor visitor = { .visit = add_stack, .arg = stacks->tree };

	return resolved_stacks_visit(stacks, items, n_items, &visitor);
}
