/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/flame/tree_side.h"

#include "symbolizer/flame/function_table.h"
#include "tests/unit/symbolizer/flame/tree_fixture.h"

static const struct folded stacks[] = {
	{ "[t] x;main;f;g", 50 }, { "[t] x;main;f", 7 },         { "[t] y;main;h;f;g;k", 30 },
	{ "[t] y;main;h", 20 },   { "[t] y;main;f;g;f;g;f", 5 }, { "[t] y;main;k", 1 },
};

static struct tree *unfinished(const struct folded *folded, size_t count, size_t max_nodes)
{
	struct tree *tree = NULL;

	assert_ok(tree_new("r", 'P', max_nodes, &tree));
	for (size_t i = 0; i < count; i++)
		add_folded(tree, folded[i].path, folded[i].value);
	return tree;
}

/* Writes "path=self/total" for each node, depth-first, separated by blanks. */
static int print_node(void *arg, const struct tree *tree, uint32_t node)
{
	uint32_t count;
	const struct tree_node *nodes = tree_nodes(tree, &count);
	struct bytes *out = arg;
	char path[256];

	path_of_node(tree, node, path, sizeof(path));
	return bytes_append_format(out, "%s%s=%u/%u", node ? " " : "", path,
				   (unsigned int)nodes[node].self, (unsigned int)nodes[node].total);
}

static void assert_side(const char *function, enum tree_side side, const char *expected)
{
	scoped(tree_freep) struct tree *tree = unfinished(stacks, ARRAY_SIZE(stacks), 1000);
	scoped(tree_freep) struct tree *made = NULL;
	scoped(bytes_release) struct bytes out = BYTES_INIT(4 * KIB);
	uint64_t shortened = 99;

	assert_int_equal(tree_side_make(tree, function, side, &made, &shortened), 1);
	assert_int_equal(shortened, 0);
	assert_ok(tree_finish(made));
	assert_ok(tree_walk(made, &(struct tree_visitor){ .enter = print_node, .arg = &out }));
	assert_bytes_equal_text(&out, expected);
}

static void callees_are_merged_over_all_callers(void **state)
{
	(void)state;
	assert_side("f", TREE_CALLEES,
		    "=0/92 f=7/92 f;g=50/85 f;g;k=30/30 f;g;f=0/5 f;g;f;g=0/5 f;g;f;g;f=5/5");
	assert_side("k", TREE_CALLEES, "=0/31 k=31/31");
	/* The prefix may be left out. */
	assert_side("x", TREE_CALLERS, "=0/57 [t] x=57/57");
	assert_side("[t] x", TREE_CALLEES,
		    "=0/57 [t] x=0/57 [t] x;main=0/57 [t] x;main;f=7/57 [t] x;main;f;g=50/50");
}

/* The outermost frame of a path, a thread, has the value. */
static void callers_are_the_reversed_stacks_above_the_outermost_call(void **state)
{
	(void)state;
	assert_side("f", TREE_CALLERS,
		    "=0/92 f=0/92 f;main=0/62 f;main;[t] x=57/57 f;main;[t] y=5/5 f;h=0/30 "
		    "f;h;main=0/30 f;h;main;[t] y=30/30");
	assert_side("[t] y", TREE_CALLERS, "=0/56 [t] y=56/56");
}

static void an_unknown_function_and_the_root_have_no_sides(void **state)
{
	scoped(tree_freep) struct tree *tree = unfinished(stacks, ARRAY_SIZE(stacks), 1000);
	struct tree *made = NULL;
	uint64_t n_shortened;

	(void)state;
	assert_int_equal(tree_side_make(tree, "q", TREE_CALLERS, &made, &n_shortened), 0);
	assert_int_equal(tree_side_make(tree, "r", TREE_CALLEES, &made, &n_shortened), 0);
	assert_null(made);
}

/* The callers of k are k;c;b;a, k;b;a and k;a: with the root eight nodes, where seven have room. */
static void a_full_tree_keeps_values_at_the_last_node_with_room(void **state)
{
	static const struct folded nested[] = { { "a;b;c;k", 3 }, { "a;b;k", 4 }, { "a;k", 5 } };
	scoped(tree_freep) struct tree *tree = unfinished(nested, ARRAY_SIZE(nested), 7);
	scoped(tree_freep) struct tree *made = NULL;
	scoped(bytes_release) struct bytes out = BYTES_INIT(4 * KIB);
	uint64_t n_shortened;

	(void)state;
	assert_int_equal(tree_side_make(tree, "k", TREE_CALLERS, &made, &n_shortened), 1);
	assert_int_equal(n_shortened, 1);
	assert_ok(tree_finish(made));
	assert_ok(tree_walk(made, &(struct tree_visitor){ .enter = print_node, .arg = &out }));
	assert_bytes_equal_text(&out, "=0/12 k=5/12 k;b=0/4 k;b;a=4/4 k;c=0/3 k;c;b=0/3 "
				      "k;c;b;a=3/3");
}

static void the_total_of_each_function_of_random_trees_is_that_of_the_table(void **state)
{
	uint64_t seed = test_seed();

	(void)state;
	for (int round = 0; round < 20; round++) {
		scoped(tree_freep) struct tree *tree = unfinished(NULL, 0, 1 << 20);
		scoped(tree_freep) struct tree *finished = unfinished(NULL, 0, 1 << 20);
		struct function_table table;

		for (int i = 0; i < 200; i++) {
			const uint64_t value = 1 + random_below(&seed, 9);
			char path[256];

			random_path(&seed, path, sizeof(path));
			add_folded(tree, path, value);
			add_folded(finished, path, value);
		}
		assert_ok(tree_finish(finished));
		assert_ok(function_table_init(&table, finished));
		for (uint32_t i = 1; i < table.n_functions; i++)
			for (int side = TREE_CALLEES; side <= TREE_CALLERS; side++) {
				scoped(tree_freep) struct tree *made = NULL;
				uint64_t n_shortened;
				uint32_t count;

				assert_int_equal(
					tree_side_make(
						tree,
						tree_label(finished, table.functions[i].first_node),
						(enum tree_side)side, &made, &n_shortened),
					1);
				assert_ok(tree_finish(made));
				assert_int_equal(tree_nodes(made, &count)[0].total,
						 table.functions[i].total);
				assert_int_equal(n_shortened, 0);
			}
		function_table_release(&table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callees_are_merged_over_all_callers),
		cmocka_unit_test(callers_are_the_reversed_stacks_above_the_outermost_call),
		cmocka_unit_test(an_unknown_function_and_the_root_have_no_sides),
		cmocka_unit_test(a_full_tree_keeps_values_at_the_last_node_with_room),
		cmocka_unit_test(the_total_of_each_function_of_random_trees_is_that_of_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
