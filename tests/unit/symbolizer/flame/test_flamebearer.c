/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/flame/flamebearer.h"

#include "tests/unit/symbolizer/flame/tree_fixture.h"

static struct arena *new_arena(void)
{
	struct arena *arena;

	assert_ok(arena_new(64 * 1024 * 1024, &arena));
	return arena;
}

static void nodes_have_offsets_from_the_end_of_the_node_before(void **state)
{
	static const struct folded stacks[] = {
		{ "a", 1 }, { "a;b", 4 }, { "a;c", 2 }, { "d", 3 }, { "d;b", 2 },
	};
	static const int64_t level_0[] = { 0, 12, 0, 0 };
	/* a: total 7, self 1; d: total 5, self 3. */
	static const int64_t level_1[] = { 0, 7, 1, 1, 0, 5, 3, 4 };
	/* b and c begin behind the self value of a, the other b behind that of d. */
	static const int64_t level_2[] = { 1, 4, 4, 2, 0, 2, 2, 3, 3, 2, 2, 2 };
	static const struct {
		const int64_t *numbers;
		size_t n_numbers;
	} levels[] = { { level_0, 4 }, { level_1, 8 }, { level_2, 12 } };
	static const char *const names[] = { "total", "a", "b", "c", "d" };
	scoped(tree_freep) struct tree *tree = tree_from_folded("nginx", stacks, 5);
	scoped(arena_freep) struct arena *arena = new_arena();
	struct flamebearer flamebearer;

	(void)state;
	assert_ok(flamebearer_make(tree, arena, &flamebearer));
	assert_int_equal(flamebearer.total, 12);
	assert_int_equal(flamebearer.max_self, 4);
	assert_int_equal(flamebearer.n_names, 5);
	for (size_t i = 0; i < 5; i++)
		assert_string_equal(flamebearer.names[i], names[i]);
	assert_int_equal(flamebearer.n_levels, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(flamebearer.levels[i].n_numbers, levels[i].n_numbers);
		assert_memory_equal(flamebearer.levels[i].numbers, levels[i].numbers,
				    levels[i].n_numbers * sizeof(int64_t));
	}
}

static void a_tree_without_samples_is_a_root_without_a_value(void **state)
{
	static const int64_t zeros[FLAMEBEARER_NUMBERS];
	scoped(arena_freep) struct arena *arena = new_arena();
	struct flamebearer flamebearer;

	(void)state;
	assert_ok(flamebearer_make(NULL, arena, &flamebearer));
	assert_int_equal(flamebearer.n_levels, 1);
	assert_int_equal(flamebearer.levels[0].n_numbers, FLAMEBEARER_NUMBERS);
	assert_memory_equal(flamebearer.levels[0].numbers, zeros, sizeof(zeros));
	assert_string_equal(flamebearer.names[0], "total");
}

static void nodes_without_a_value_are_left_out(void **state)
{
	static const struct folded stacks[] = { { "a;b;c", 0 }, { "a", 2 } };
	scoped(tree_freep) struct tree *tree = tree_from_folded("nginx", stacks, 2);
	scoped(arena_freep) struct arena *arena = new_arena();
	struct flamebearer flamebearer;

	(void)state;
	assert_ok(flamebearer_make(tree, arena, &flamebearer));
	assert_int_equal(flamebearer.n_levels, 2);
	assert_int_equal(flamebearer.n_names, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_have_offsets_from_the_end_of_the_node_before),
		cmocka_unit_test(a_tree_without_samples_is_a_root_without_a_value),
		cmocka_unit_test(nodes_without_a_value_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
