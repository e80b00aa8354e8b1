/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds a tree to whole units and keeps its sums exact. The root is rounded half up. Then, from
 * parents to children, a node's rounded total is divided among its self and its children: all parts
 * are rounded down, and the remaining units are added to the parts with the largest remainders, at
 * most one to each. Each value is thus rounded down or up, and larger siblings stay larger.
 */

#include "symbolizer/flame/saturating_add.h"
#include "symbolizer/flame/tree_internal.h"

/* A part of a node's total: its self, or the total of a child. */
struct part {
	uint64_t *value;
	uint64_t remainder;
	uint32_t child; /* 0: the part is the node's self */
};

VEC_DEFINE(part_vec, struct part);

static int compare_parts(const void *left, const void *right, void *arg)
{
	const struct tree *tree = arg;
	const struct part *a = left, *b = right;

	if (a->remainder != b->remainder)
		return a->remainder > b->remainder ? -1 : 1;
	/* The order of ties must not depend on the order in which stacks were added. */
	return a->child && b->child ? tree_compare_labels(tree, a->child, b->child)
				    : (a->child > b->child) - (a->child < b->child);
}

/* Rounds *value down. If that changes it, adds it to the parts that may get a unit back. */
static int cut(struct part_vec *parts, uint64_t *value, uint32_t child, uint64_t unit)
{
	uint64_t remainder = *value % unit;

	if (remainder == 0)
		return 0;
	*value -= remainder;
	return vec_push(parts,
			(struct part){ .value = value, .remainder = remainder, .child = child });
}

/* Divides the total of node @index, which is rounded already, among its self and its @children. */
static int divide_total(struct tree *tree, uint32_t index, const uint32_t *children,
			size_t n_children, uint64_t unit, struct part_vec *parts)
{
	struct tree_node *nodes = tree->nodes.items, *node = &nodes[index];
	uint64_t sum;
	int r;

	parts->count = 0;
	r = cut(parts, &node->self, 0, unit);
	sum = node->self;
	for (size_t i = 0; i < n_children && r == 0; i++) {
		r = cut(parts, &nodes[children[i]].total, children[i], unit);
		sum = saturating_add(sum, nodes[children[i]].total);
	}
	/* The sum exceeds the total only if totals saturated. */
	if (r < 0 || sum >= node->total)
		return r;

	if (parts->count > 1)
		qsort_r(parts->items, parts->count, sizeof(*parts->items), compare_parts, tree);
	for (size_t i = 0; i < parts->count && sum < node->total; i++, sum += unit)
		*parts->items[i].value += unit;
	return 0;
}

static uint64_t rounded_half_up(uint64_t value, uint64_t unit)
{
	uint64_t remainder = value % unit;

	return remainder >= unit - remainder ? saturating_add(value - remainder, unit)
					     : value - remainder;
}

int tree_round(struct tree *tree, uint64_t unit)
{
	size_t count = tree->nodes.count;
	scoped_free uint32_t *first_of = calloc(count + 1, sizeof(*first_of));
	scoped_free uint32_t *children = calloc(count, sizeof(*children));
	struct part_vec parts = {};
	int r = 0;

	if (!first_of || !children)
		return -ENOMEM;

	tree_group_by_parent(tree, first_of, children);
	tree->nodes.items[0].total = rounded_half_up(tree->nodes.items[0].total, unit);
	/* Parents precede their children. */
	for (uint32_t i = 0; i < count && r == 0; i++)
		r = divide_total(tree, i, children + first_of[i], first_of[i + 1] - first_of[i],
				 unit, &parts);
	vec_release(&parts);
	return r;
}
