/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Trees from folded stacks, and random trees with a printed seed. */

#include "symbolizer/flame/label.h"
#include "symbolizer/flame/tree.h"
#include "tests/support/test_seed.h"

struct folded {
	const char *path; /* "a;b;c" below the root */
	uint64_t value;
};

static inline void add_folded(struct tree *tree, const char *path, uint64_t value)
{
	uint32_t node = 0;

	while (*path) {
		size_t length = strcspn(path, ";");
		scoped_free char *label = strndup(path, length);

		assert_non_null(label);
		assert_ok(tree_child(tree, node, label, label_type(label), &node));
		path += length + (path[length] == ';');
	}
	tree_add_self(tree, node, value);
}

static inline struct tree *tree_of_type_from_folded(const char *root, char type,
						    const struct folded *stacks, size_t count)
{
	struct tree *tree = NULL;

	assert_ok(tree_new(root, type, 1 << 20, &tree));
	for (size_t i = 0; i < count; i++)
		add_folded(tree, stacks[i].path, stacks[i].value);
	assert_ok(tree_finish(tree));
	return tree;
}

static inline struct tree *tree_from_folded(const char *root, const struct folded *stacks,
					    size_t count)
{
	return tree_of_type_from_folded(root, 'P', stacks, count);
}

/* Writes the path "a;b;c" of a node below the root. */
static inline void path_of_node(const struct tree *tree, uint32_t node, char *path, size_t size)
{
	uint32_t count;
	const struct tree_node *nodes = tree_nodes(tree, &count);

	path[0] = '\0';
	for (; node != 0; node = nodes[node].parent) {
		char longer[1024];

		assert_in_range(snprintf(longer, sizeof(longer), "%s%s%s", tree_label(tree, node),
					 path[0] ? ";" : "", path),
				0, (int)MIN(size, sizeof(longer)) - 1);
		memcpy(path, longer, strlen(longer) + 1);
	}
}

static inline uint32_t random_below(uint64_t *state, uint32_t limit)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)((*state * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % limit;
}

/* Makes up to 12 frames with 9 labels, so that paths repeat, branch and recurse. */
static inline void random_path(uint64_t *state, char *path, size_t size)
{
	static const char *const labels[] = { "main",  "a",   "b",    "[l] c", "[k] d",
					      "[t] e", "b b", "[/x]", "z" };
	uint32_t depth = 1 + random_below(state, 12);
	size_t used = 0;

	for (uint32_t i = 0; i < depth; i++)
		used += (size_t)snprintf(path + used, size - used, "%s%s", i > 0 ? ";" : "",
					 labels[random_below(state, ARRAY_SIZE(labels))]);
}
