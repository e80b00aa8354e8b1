/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/top.h"

#include "tests/unit/symbolizer/flame/tree_fixture.h"

static void functions_are_sorted_by_self_then_total_then_name(void **state)
{
	static const struct folded stacks[] = {
		{ "[p] app;main;f;f", 5 },
		{ "[p] app;main;g", 5 },
		{ "[p] app;main", 1 },
		{ "[t] w;run;g", 2 },
		{ "[t] w;run;[k] read", 20 },
		{ "[t] w", 3 },
		{ "[t] w;b", 5 },
		{ "[t] w;a", 5 },
	};
	static const struct {
		const char *label;
		char type;
		uint64_t self, total;
	} expected[] = {
		{ "[k] read", 'K', 20, 20 }, { "g", 'A', 7, 7 }, { "a", 'A', 5, 5 },
		{ "b", 'A', 5, 5 },          { "f", 'A', 5, 5 }, { "main", 'A', 1, 11 },
		{ "run", 'A', 0, 22 },
	};
	scoped(tree_freep) struct tree *tree = tree_from_folded("app", stacks, ARRAY_SIZE(stacks));
	scoped(arena_freep) struct arena *arena = NULL;
	struct top_row *rows;
	size_t count;

	(void)state;
	assert_ok(arena_new(MIB, &arena));
	assert_ok(top_make(tree, TOP_BY_SELF, arena, &rows, &count));
	assert_int_equal(count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(rows[i].label, expected[i].label);
		assert_int_equal(rows[i].type, expected[i].type);
		assert_int_equal(rows[i].self, expected[i].self);
		assert_int_equal(rows[i].total, expected[i].total);
	}
	assert_ok(top_make(tree, TOP_BY_TOTAL, arena, &rows, &count));
	assert_string_equal(rows[0].label, "run");
	assert_string_equal(rows[1].label, "[k] read");
	assert_string_equal(rows[2].label, "main");
	assert_string_equal(rows[3].label, "g");
}

static void whole_hosts_list_processes_with_their_threads_in_total(void **state)
{
	static const struct folded stacks[] = {
		{ "[p] nginx", 5 }, { "[p] java;[t] gc", 7 }, { "[p] java;[t] http", 8 },
		{ "[p] java", 1 },  { "[p] redis", 9 },
	};
	static const char *const by_total[] = { "[p] java", "[p] redis", "[p] nginx" };
	static const char *const by_self[] = { "[p] redis", "[p] nginx", "[p] java" };
	scoped(tree_freep) struct tree *tree = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct top_row *rows;
	size_t count;

	(void)state;
	tree = tree_of_type_from_folded("Total", 'H', stacks, ARRAY_SIZE(stacks));
	assert_true(top_is_of_hosts(tree));
	assert_ok(arena_new(MIB, &arena));
	assert_ok(top_make(tree, TOP_BY_TOTAL, arena, &rows, &count));
	assert_int_equal(count, 3);
	assert_int_equal(rows[0].total, 16);
	assert_int_equal(rows[0].self, 1);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(rows[i].label, by_total[i]);
	assert_ok(top_make(tree, TOP_BY_SELF, arena, &rows, &count));
	assert_int_equal(count, 3);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(rows[i].label, by_self[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_sorted_by_self_then_total_then_name),
		cmocka_unit_test(whole_hosts_list_processes_with_their_threads_in_total),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
