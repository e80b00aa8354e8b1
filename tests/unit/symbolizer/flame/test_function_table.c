/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/flame/function_table.h"

#include "tests/unit/symbolizer/flame/tree_fixture.h"

static const struct function *find_function(const struct function_table *table,
					    const struct tree *tree, const char *label)
{
	for (uint32_t i = 1; i < table->n_functions; i++) {
		if (strcmp(tree_label(tree, table->functions[i].first_node), label) == 0)
			return &table->functions[i];
	}
	fail_msg("no function '%s'", label);
	return NULL;
}

static void recursion_counts_a_path_once(void **state)
{
	static const struct folded stacks[] = {
		{ "f", 1 },       { "f;f", 2 },  { "f;f;f", 4 }, /* direct */
		{ "g;h;g;h", 8 }, { "g;h", 16 },                 /* in turns */
		{ "x;f", 32 },    { "y;f", 64 },                 /* of several callers */
	};
	static const struct {
		const char *label;
		uint64_t self, total;
	} cases[] = {
		{ "f", 103, 103 }, { "g", 0, 24 }, { "h", 24, 24 }, { "x", 0, 32 }, { "y", 0, 64 },
	};
	scoped(tree_freep) struct tree *tree = tree_from_folded("r", stacks, ARRAY_SIZE(stacks));
	struct function_table table;

	(void)state;
	assert_ok(function_table_init(&table, tree));
	assert_int_equal(table.n_functions, 1 + ARRAY_SIZE(cases));
	assert_int_equal(table.functions[0].total, 127);
	assert_int_equal(table.functions[0].self, 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct function *function = find_function(&table, tree, cases[i].label);

		assert_int_equal(function->self, cases[i].self);
		assert_int_equal(function->total, cases[i].total);
	}
	function_table_release(&table);
}

static void a_function_with_the_name_of_the_root_is_not_the_root(void **state)
{
	static const struct folded stacks[] = { { "[t] a;main", 3 }, { "main", 4 } };
	scoped(tree_freep) struct tree *tree = tree_from_folded("main", stacks, ARRAY_SIZE(stacks));
	struct function_table table;

	(void)state;
	assert_ok(function_table_init(&table, tree));
	assert_int_equal(table.n_functions, 3);
	assert_int_equal(find_function(&table, tree, "main")->total, 7);
	function_table_release(&table);
}

static void no_total_exceeds_the_root_and_selves_add_up(void **state)
{
	uint64_t seed = test_seed();
	scoped(tree_freep) struct tree *tree = NULL;
	struct function_table table;
	uint64_t self = 0;

	(void)state;
	assert_ok(tree_new("r", 'P', 1 << 20, &tree));
	for (int i = 0; i < 3000; i++) {
		char path[256];

		random_path(&seed, path, sizeof(path));
		add_folded(tree, path, 1 + random_below(&seed, 9));
	}
	assert_ok(tree_finish(tree));
	assert_ok(function_table_init(&table, tree));
	for (uint32_t i = 0; i < table.n_functions; i++) {
		assert_true(table.functions[i].total <= table.functions[0].total);
		assert_true(table.functions[i].self <= table.functions[i].total);
		self += table.functions[i].self;
	}
	assert_int_equal(self, table.functions[0].total);
	function_table_release(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recursion_counts_a_path_once),
		cmocka_unit_test(a_function_with_the_name_of_the_root_is_not_the_root),
		cmocka_unit_test(no_total_exceeds_the_root_and_selves_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
