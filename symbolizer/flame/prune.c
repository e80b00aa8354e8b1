/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The total of a child never exceeds its parent's, and parents precede children in depth-first
 * order. The first nodes by (total, depth-first rank) therefore include the callers of each node.
 * They are moved to the front of the array in their old order, which keeps parents before children.
 */

#include "symbolizer/flame/prune.h"

#include "symbolizer/flame/tree_internal.h"

struct ranked_node {
	uint64_t total;
	uint32_t rank; /* depth-first */
	uint32_t node;
};

struct ranking {
	struct ranked_node *items;
	uint32_t count;
};

static int rank_node(void *arg, const struct tree *tree, uint32_t node)
{
	struct ranking *ranking = arg;

	ranking->items[ranking->count] = (struct ranked_node){
		.total = tree->nodes.items[node].total,
		.rank = ranking->count,
		.node = node,
	};
	ranking->count++;
	return 0;
}

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked_node *a = left;
	const struct ranked_node *b = right;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Moves the nodes with new_number[i] = 1 to the front and sets new_number[i] to their new index. */
static uint32_t move_kept_nodes(struct tree *tree, uint32_t *new_number)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < tree->nodes.count; i++) {
		struct tree_node node = tree->nodes.items[i];

		if (!new_number[i])
			continue;
		if (i > 0)
			node.parent = new_number[node.parent];
		new_number[i] = kept;
		tree->nodes.items[kept++] = node;
	}
	return kept;
}

int tree_prune(struct tree *tree, uint32_t max_nodes, uint64_t *ret_n_pruned)
{
	size_t count = tree->nodes.count;
	scoped_free struct ranked_node *ranked = NULL;
	scoped_free uint32_t *new_number = NULL;
	struct ranking ranking = {};
	uint32_t n_kept = MAX(max_nodes, 1u);
	int r;

	assert(tree->finished);
	if (count <= n_kept) {
		*ret_n_pruned = 0;
		return 0;
	}

	ranked = calloc(count, sizeof(*ranked));
	new_number = calloc(count, sizeof(*new_number));
	if (!ranked || !new_number)
		return -ENOMEM;

	ranking.items = ranked;
	r = tree_walk(tree, &(struct tree_visitor){ .enter = rank_node, .arg = &ranking });
	if (r < 0)
		return r;
	qsort(ranked, count, sizeof(*ranked), compare_ranked);
	for (uint32_t i = 0; i < n_kept; i++)
		new_number[ranked[i].node] = 1;

	tree->nodes.count = move_kept_nodes(tree, new_number);
	r = tree_link_children(tree);
	if (r < 0)
		return r;
	*ret_n_pruned = count - n_kept;
	return 0;
}
