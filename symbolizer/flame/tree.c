/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes are stored in one array in the order in which they were added. Parents precede children, so
 * that one pass from the end computes the totals. A hash table with open addressing finds a child
 * by (parent, label, type). No client can choose these integers, so the hash needs no secret. To
 * sort siblings, a counting sort by parent makes groups, and each group is sorted separately.
 */

#include "symbolizer/flame/tree.h"

#include <string.h>

#include "common/bytes.h"
#include "symbolizer/flame/label.h"
#include "symbolizer/flame/saturating_add.h"
#include "symbolizer/flame/tree_internal.h"

/* Memory for the labels of one tree: more than a million functions with names of 200 bytes,
 * which is more than a flame graph can show. */
#define TREE_MAX_LABEL_BYTES (256 * MIB)

#define TREE_FIRST_SLOTS 1024

static uint64_t child_hash(uint32_t parent, string_id label, char type)
{
	uint64_t hash = ((uint64_t)parent << 32 | label) +
			(uint64_t)(uint8_t)type * UINT64_C(0x9e3779b97f4a7c15);

	/* The finaliser of splitmix64. */
	hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
	return hash ^ hash >> 31;
}

/* Returns the slot of the child, or the free slot for it. */
static uint32_t *child_slot(const struct tree *tree, uint32_t parent, string_id label, char type)
{
	size_t index = child_hash(parent, label, type) & tree->slot_mask;

	for (;; index = (index + 1) & tree->slot_mask) {
		const struct tree_node *node;

		if (tree->slots[index] == 0)
			return &tree->slots[index];
		node = &tree->nodes.items[tree->slots[index] - 1];
		if (node->parent == parent && node->label == label && node->type == type)
			return &tree->slots[index];
	}
}

/* Memory of the slots and of the nodes that they have room for. */
static uint64_t bytes_of_slots(size_t n_slots)
{
	return n_slots * (sizeof(uint32_t) + sizeof(struct tree_node));
}

static int grow_slots(struct tree *tree)
{
	size_t n_slots = tree->slots ? (tree->slot_mask + 1) * 2 : TREE_FIRST_SLOTS;
	uint64_t more = bytes_of_slots(n_slots) - tree->taken_bytes;
	uint32_t *slots;

	if (tree->budget && !memory_budget_take(tree->budget, more))
		return -ENOSPC;
	slots = calloc(n_slots, sizeof(*slots));
	if (!slots) {
		memory_budget_give(tree->budget, more);
		return -ENOMEM;
	}
	if (tree->budget)
		tree->taken_bytes += more;

	free(tree->slots);
	tree->slots = slots;
	tree->slot_mask = n_slots - 1;
	for (size_t i = 1; i < tree->nodes.count; i++) {
		const struct tree_node *node = &tree->nodes.items[i];

		*child_slot(tree, node->parent, node->label, node->type) = (uint32_t)i + 1;
	}
	return 0;
}

int tree_new(const char *root_label, char root_type, size_t max_nodes, struct tree **ret_tree)
{
	scoped(tree_freep) struct tree *tree = calloc(1, sizeof(*tree));
	struct tree_node root = { .type = root_type, .parent = TREE_NO_PARENT };
	int r;

	if (!tree)
		return -ENOMEM;

	tree->max_nodes = MIN(max_nodes, (size_t)UINT32_MAX - 1);
	r = string_table_new(TREE_MAX_LABEL_BYTES, &tree->labels);
	if (r < 0)
		return r;
	r = tree_intern_label(tree, root_label, strlen(root_label), &root.label);
	if (r < 0)
		return r;
	r = vec_push(&tree->nodes, root);
	if (r < 0)
		return r;
	r = grow_slots(tree);
	if (r < 0)
		return r;

	*ret_tree = take_ptr(tree);
	return 0;
}

void tree_set_budget(struct tree *tree, struct memory_budget *budget)
{
	assert(!tree->budget);
	tree->budget = budget;
}

struct tree *tree_free(struct tree *tree)
{
	if (!tree)
		return NULL;

	string_table_free(tree->labels);
	free(tree->slots);
	vec_release(&tree->nodes);
	memory_budget_give(tree->budget, tree->taken_bytes);
	free(tree);
	return NULL;
}

int tree_intern_label(struct tree *tree, const char *text, size_t length, string_id *ret_label)
{
	struct bytes clean = BYTES_INIT(2 * LABEL_MAX_BYTES);
	int r;

	if (label_is_clean(text, length))
		return string_table_intern(tree->labels, text, length, ret_label);

	r = label_append(&clean, text, length);
	if (r == 0)
		r = string_table_intern(tree->labels, (const char *)clean.data, clean.size,
					ret_label);
	bytes_release(&clean);
	return r;
}

int tree_child_of_label(struct tree *tree, uint32_t parent, string_id label, char type,
			uint32_t *ret_node)
{
	uint32_t *slot;
	int r;

	assert(!tree->finished && parent < tree->nodes.count);
	slot = child_slot(tree, parent, label, type);
	if (*slot != 0) {
		*ret_node = *slot - 1;
		return 0;
	}

	if (tree->nodes.count >= tree->max_nodes)
		return -ENOSPC;
	/* The table stays at most two thirds full, which keeps probe sequences short. */
	if ((tree->nodes.count + 1) * 3 > (tree->slot_mask + 1) * 2) {
		r = grow_slots(tree);
		if (r < 0)
			return r;
		slot = child_slot(tree, parent, label, type);
	}
	r = vec_push(&tree->nodes,
		     (struct tree_node){ .label = label, .type = type, .parent = parent });
	if (r < 0)
		return r;

	*slot = (uint32_t)tree->nodes.count;
	*ret_node = *slot - 1;
	return 0;
}

int tree_child(struct tree *tree, uint32_t parent, const char *label, char type, uint32_t *ret_node)
{
	string_id id;
	int r;

	r = tree_intern_label(tree, label, strlen(label), &id);
	if (r < 0)
		return r;
	return tree_child_of_label(tree, parent, id, type, ret_node);
}

const char *tree_label_text(const struct tree *tree, string_id label)
{
	return string_table_text(tree->labels, label);
}

char tree_label_type(const struct tree *tree, string_id label)
{
	return label_type(string_table_text(tree->labels, label));
}

void tree_add_self(struct tree *tree, uint32_t node, uint64_t value)
{
	assert(!tree->finished && node < tree->nodes.count);
	tree->nodes.items[node].self = saturating_add(tree->nodes.items[node].self, value);
}

int tree_compare_labels(const struct tree *tree, uint32_t left, uint32_t right)
{
	const struct tree_node *a = &tree->nodes.items[left], *b = &tree->nodes.items[right];
	int order = a->label == b->label ? 0
					 : strcmp(string_table_text(tree->labels, a->label),
						  string_table_text(tree->labels, b->label));

	return order ? order : a->type - b->type;
}

static int compare_siblings(const void *left, const void *right, void *arg)
{
	const struct tree *tree = arg;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t total_a = tree->nodes.items[a].total, total_b = tree->nodes.items[b].total;

	if (total_a != total_b)
		return total_a > total_b ? -1 : 1;
	return tree_compare_labels(tree, a, b);
}

void tree_group_by_parent(const struct tree *tree, uint32_t *first_of, uint32_t *children)
{
	size_t count = tree->nodes.count;

	for (size_t i = 1; i < count; i++)
		first_of[tree->nodes.items[i].parent + 1]++;
	for (size_t i = 1; i <= count; i++)
		first_of[i] += first_of[i - 1];
	/* Filling advances first_of[p] to the end of group p, which is the start of group p + 1. */
	for (size_t i = 1; i < count; i++)
		children[first_of[tree->nodes.items[i].parent]++] = (uint32_t)i;
	memmove(first_of + 1, first_of, count * sizeof(*first_of));
	first_of[0] = 0;
}

int tree_link_children(struct tree *tree)
{
	size_t count = tree->nodes.count;
	scoped_free uint32_t *first_of = calloc(count + 1, sizeof(*first_of));
	scoped_free uint32_t *children = calloc(count, sizeof(*children));

	if (!first_of || !children)
		return -ENOMEM;

	tree_group_by_parent(tree, first_of, children);
	for (size_t i = 0; i < count; i++) {
		uint32_t *group = children + first_of[i];
		size_t size = first_of[i + 1] - first_of[i];

		if (size > 1)
			qsort_r(group, size, sizeof(*group), compare_siblings, tree);
		tree->nodes.items[i].first_child = size > 0 ? group[0] : 0;
		for (size_t j = 0; j < size; j++)
			tree->nodes.items[group[j]].next_sibling = j + 1 < size ? group[j + 1] : 0;
	}
	return 0;
}

int tree_finish(struct tree *tree)
{
	return tree_finish_rounded(tree, 1);
}

int tree_finish_rounded(struct tree *tree, uint64_t unit)
{
	int r;

	assert(!tree->finished);
	for (size_t i = 0; i < tree->nodes.count; i++)
		tree->nodes.items[i].total = tree->nodes.items[i].self;
	for (size_t i = tree->nodes.count; i-- > 1;) {
		struct tree_node *node = &tree->nodes.items[i];
		struct tree_node *parent = &tree->nodes.items[node->parent];

		parent->total = saturating_add(parent->total, node->total);
	}

	tree->finished = true;
	free(tree->slots);
	tree->slots = NULL;
	if (unit > 1) {
		r = tree_round(tree, unit);
		if (r < 0)
			return r;
	}
	return tree_link_children(tree);
}

const struct tree_node *tree_nodes(const struct tree *tree, uint32_t *ret_count)
{
	*ret_count = (uint32_t)tree->nodes.count;
	return tree->nodes.items;
}

const char *tree_label(const struct tree *tree, uint32_t node)
{
	assert(node < tree->nodes.count);
	return string_table_text(tree->labels, tree->nodes.items[node].label);
}

size_t tree_label_length(const struct tree *tree, uint32_t node)
{
	assert(node < tree->nodes.count);
	return string_table_length(tree->labels, tree->nodes.items[node].label);
}

int tree_walk(const struct tree *tree, const struct tree_visitor *visitor)
{
	const struct tree_node *nodes = tree->nodes.items;
	uint32_t node = 0;
	int r;

	assert(tree->finished);
	for (;;) {
		r = visitor->enter(visitor->arg, tree, node);
		if (r < 0)
			return r;
		if (nodes[node].first_child) {
			node = nodes[node].first_child;
			continue;
		}
		for (;;) {
			if (visitor->leave)
				visitor->leave(visitor->arg, tree, node);
			if (node == 0)
				return 0;
			if (nodes[node].next_sibling)
				break;
			node = nodes[node].parent;
		}
		node = nodes[node].next_sibling;
	}
}
