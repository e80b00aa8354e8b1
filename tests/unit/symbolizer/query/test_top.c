/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/top.h"

#include "tests/unit/symbolizer/flame/tree_fixture.h"

static void functions_stand_by_falling_self_then_total_then_name(void **state)
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
	assert_ok(top_make(tree, 0, arena, &rows, &count));
	assert_int_equal(count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(rows[i].label, expected[i].label);
		assert_int_equal(rows[i].type, expected[i].type);
		assert_int_equal(rows[i].self, expected[i].self);
		assert_int_equal(rows[i].total, expected[i].total);
	}
	assert_ok(top_make(tree, 2, arena, &rows, &count));
	assert_int_equal(count, 2);
	assert_string_equal(rows[1].label, "g");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_stand_by_falling_self_then_total_then_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
