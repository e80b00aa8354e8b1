/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parents precede their children in the array of nodes, so one pass finds the depths and the sizes
 * of the levels. The walk then visits the nodes of each depth from left to right.
 */

#include "symbolizer/flame/flamebearer.h"

#include "common/hash_table.h"

static const char root_name[] = "total";

/* State of the walk at one depth. */
struct depth {
	uint64_t next_x;      /* where the next node of the depth begins */
	uint64_t end_of_last; /* where the last written node ended */
};

struct layout {
	struct arena *arena;
	struct flamebearer *flamebearer;
	struct depth *depths;     /* [n_levels + 1] */
	struct hash_table *names; /* label -> index of the name */
	size_t depth;             /* of the node that is entered next */
};

static int64_t number_of(uint64_t value)
{
	return (int64_t)MIN(value, (uint64_t)INT64_MAX);
}

/* Allocates the levels with room for their nodes. */
static int count_levels(const struct tree *tree, struct layout *layout)
{
	struct flamebearer *flamebearer = layout->flamebearer;
	uint32_t count;
	const struct tree_node *nodes = tree_nodes(tree, &count);
	uint32_t *depths = arena_alloc_array(layout->arena, count, sizeof(*depths));
	size_t *sizes;

	if (!depths)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		depths[i] = depths[nodes[i].parent] + 1;
		if (depths[i] >= flamebearer->n_levels)
			flamebearer->n_levels = depths[i] + 1;
	}
	sizes = arena_alloc_array(layout->arena, flamebearer->n_levels, sizeof(*sizes));
	flamebearer->levels = arena_alloc_array(layout->arena, flamebearer->n_levels,
						sizeof(*flamebearer->levels));
	layout->depths =
		arena_alloc_array(layout->arena, flamebearer->n_levels + 1, sizeof(struct depth));
	flamebearer->names = arena_alloc_array(layout->arena, count + 1, sizeof(char *));
	if (!sizes || !flamebearer->levels || !layout->depths || !flamebearer->names)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		sizes[depths[i]] += FLAMEBEARER_NUMBERS;
	for (size_t i = 0; i < flamebearer->n_levels; i++) {
		flamebearer->levels[i].numbers =
			arena_alloc_array(layout->arena, sizes[i], sizeof(int64_t));
		if (!flamebearer->levels[i].numbers)
			return -ENOMEM;
	}
	return 0;
}

static int find_name(struct layout *layout, const struct tree *tree, uint32_t node,
		     int64_t *ret_index)
{
	struct flamebearer *flamebearer = layout->flamebearer;
	const string_id label = tree_nodes(tree, &(uint32_t){ 0 })[node].label;
	int64_t *index;
	int r = hash_table_insert(layout->names, &label, (void **)&index);

	if (r < 0)
		return r;
	if (r > 0) {
		*index = (int64_t)flamebearer->n_names;
		flamebearer->names[flamebearer->n_names++] = (char *)tree_label(tree, node);
	}
	*ret_index = *index;
	return 0;
}

static int enter(void *arg, const struct tree *tree, uint32_t node)
{
	struct layout *layout = arg;
	struct flamebearer *flamebearer = layout->flamebearer;
	const struct tree_node *of = &tree_nodes(tree, &(uint32_t){ 0 })[node];
	struct flamebearer_level *level = &flamebearer->levels[layout->depth];
	struct depth *depth = &layout->depths[layout->depth];
	int64_t name = 0;
	int r = 0;

	if (of->total == 0 && node != 0)
		return 0;
	if (node != 0)
		r = find_name(layout, tree, node, &name);
	if (r < 0)
		return r;
	level->numbers[level->n_numbers++] = number_of(depth->next_x - depth->end_of_last);
	level->numbers[level->n_numbers++] = number_of(of->total);
	level->numbers[level->n_numbers++] = number_of(of->self);
	level->numbers[level->n_numbers++] = name;
	flamebearer->max_self = MAX(flamebearer->max_self, number_of(of->self));
	depth->end_of_last = depth->next_x + of->total;
	layout->depth++;
	layout->depths[layout->depth].next_x = depth->next_x + of->self;
	return 0;
}

static void leave(void *arg, const struct tree *tree, uint32_t node)
{
	struct layout *layout = arg;
	const struct tree_node *of = &tree_nodes(tree, &(uint32_t){ 0 })[node];

	if (of->total == 0 && node != 0)
		return;
	layout->depth--;
	layout->depths[layout->depth].next_x += of->total;
}

/* A root without a value. */
static int make_empty(struct arena *arena, struct flamebearer *flamebearer)
{
	flamebearer->names = arena_alloc_array(arena, 1, sizeof(char *));
	flamebearer->levels = arena_alloc_array(arena, 1, sizeof(*flamebearer->levels));
	if (!flamebearer->names || !flamebearer->levels)
		return -ENOMEM;
	flamebearer->levels[0].numbers =
		arena_alloc_array(arena, FLAMEBEARER_NUMBERS, sizeof(int64_t));
	flamebearer->levels[0].n_numbers = FLAMEBEARER_NUMBERS;
	flamebearer->names[0] = (char *)root_name;
	flamebearer->n_names = 1;
	flamebearer->n_levels = 1;
	return flamebearer->levels[0].numbers ? 0 : -ENOMEM;
}

int flamebearer_make(const struct tree *tree, struct arena *arena,
		     struct flamebearer *ret_flamebearer)
{
	scoped(hash_table_freep) struct hash_table *names = NULL;
	struct flamebearer flamebearer = { .n_levels = 1 };
	struct layout layout = { .arena = arena, .flamebearer = &flamebearer };
	int r;

	if (!tree) {
		r = make_empty(arena, &flamebearer);
		*ret_flamebearer = flamebearer;
		return r;
	}
	r = hash_table_new(sizeof(string_id), sizeof(int64_t), 0, &names);
	if (r == 0)
		r = count_levels(tree, &layout);
	if (r < 0)
		return r;
	layout.names = names;
	flamebearer.names[0] = (char *)root_name;
	flamebearer.n_names = 1;
	flamebearer.total = number_of(tree_nodes(tree, &(uint32_t){ 0 })[0].total);
	r = tree_walk(tree, &(struct tree_visitor){ enter, leave, &layout });
	if (r < 0)
		return r;
	while (flamebearer.n_levels > 1 &&
	       flamebearer.levels[flamebearer.n_levels - 1].n_numbers == 0)
		flamebearer.n_levels--;
	*ret_flamebearer = flamebearer;
	return 0;
}
