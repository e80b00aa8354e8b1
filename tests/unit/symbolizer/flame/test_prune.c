/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/flame/prune.h"

#include "tests/unit/symbolizer/flame/tree_fixture.h"

static const struct folded stacks[] = {
	{ "a;b", 50 }, { "a;c", 30 }, { "a;c;d", 5 }, { "e", 10 }, { "f;g", 5 },
};

/* Writes "path=total" for each node, depth-first, separated by blanks. */
static int print_node(void *arg, const struct tree *tree, uint32_t node)
{
	struct bytes *out = arg;
	uint32_t count;
	char path[256];

	path_of_node(tree, node, path, sizeof(path));
	return bytes_append_format(out, "%s%s=%u", node ? " " : "", path,
				   (unsigned int)tree_nodes(tree, &count)[node].total);
}

static void pruning_keeps_the_largest_nodes_and_all_totals(void **state)
{
	static const struct {
		uint32_t max_nodes;
		uint64_t n_pruned;
		const char *left;
	} cases[] = {
		{ 100, 0, "=100 a=85 a;b=50 a;c=35 a;c;d=5 e=10 f=5 f;g=5" },
		{ 8, 0, "=100 a=85 a;b=50 a;c=35 a;c;d=5 e=10 f=5 f;g=5" },
		/* Of three nodes with total 5, the first ones in the tree's order are kept. */
		{ 7, 1, "=100 a=85 a;b=50 a;c=35 a;c;d=5 e=10 f=5" },
		{ 6, 2, "=100 a=85 a;b=50 a;c=35 a;c;d=5 e=10" },
		{ 4, 4, "=100 a=85 a;b=50 a;c=35" },
		{ 1, 7, "=100" },
		{ 0, 7, "=100" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(tree_freep) struct tree *tree =
			tree_from_folded("r", stacks, ARRAY_SIZE(stacks));
		scoped(bytes_release) struct bytes out = BYTES_INIT(4 * KIB);
		uint64_t n_pruned = 99;

		assert_ok(tree_prune(tree, cases[i].max_nodes, &n_pruned));
		assert_int_equal(n_pruned, cases[i].n_pruned);
		assert_ok(tree_walk(tree,
				    &(struct tree_visitor){ .enter = print_node, .arg = &out }));
		assert_bytes_equal_text(&out, cases[i].left);
	}
}

static void nodes_kept_of_a_random_tree_are_at_least_as_large_as_removed_ones(void **state)
{
	uint64_t seed = test_seed();
	scoped(tree_freep) struct tree *tree = NULL;
	scoped(tree_freep) struct tree *pruned = NULL;
	uint64_t n_pruned, smallest = UINT64_MAX, n_larger = 0;
	uint32_t count, kept;
	const struct tree_node *nodes;

	(void)state;
	assert_ok(tree_new("r", 'P', 1 << 20, &tree));
	assert_ok(tree_new("r", 'P', 1 << 20, &pruned));
	for (int i = 0; i < 3000; i++) {
		char path[256];
		uint64_t value = 1 + random_below(&seed, 9);

		random_path(&seed, path, sizeof(path));
		add_folded(tree, path, value);
		add_folded(pruned, path, value);
	}
	assert_ok(tree_finish(tree));
	assert_ok(tree_finish(pruned));
	assert_ok(tree_prune(pruned, 500, &n_pruned));

	nodes = tree_nodes(pruned, &kept);
	assert_int_equal(kept, 500);
	for (uint32_t i = 0; i < kept; i++)
		smallest = MIN(smallest, nodes[i].total);
	nodes = tree_nodes(tree, &count);
	assert_int_equal(n_pruned, count - kept);
	for (uint32_t i = 0; i < count; i++)
		n_larger += nodes[i].total > smallest;
	assert_true(n_larger < 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pruning_keeps_the_largest_nodes_and_all_totals),
		cmocka_unit_test(nodes_kept_of_a_random_tree_are_at_least_as_large_as_removed_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
