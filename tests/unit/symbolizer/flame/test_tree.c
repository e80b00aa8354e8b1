/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/flame/tree.h"

#include "tests/unit/symbolizer/flame/tree_fixture.h"

#define RANDOM_STACKS 2000
#define PATH_BYTES    256

struct brute_stack {
	char path[PATH_BYTES];
	uint64_t value;
};

static bool is_prefix(const char *prefix, const char *path)
{
	size_t length = strlen(prefix);

	return strncmp(prefix, path, length) == 0 && (path[length] == ';' || path[length] == '\0');
}

/* Compares each node with a sum over all stacks. */
static void compare_with_stacks(const struct tree *tree, const struct brute_stack *stacks,
				size_t n_stacks)
{
	uint32_t count;
	const struct tree_node *nodes = tree_nodes(tree, &count);
	uint64_t all = 0, in_tree = 0;

	for (size_t i = 0; i < n_stacks; i++)
		all += stacks[i].value;
	assert_int_equal(nodes[0].total, all);
	assert_int_equal(nodes[0].self, 0);

	for (uint32_t node = 1; node < count; node++) {
		char path[PATH_BYTES];
		uint64_t self = 0, total = 0;

		path_of_node(tree, node, path, sizeof(path));
		for (size_t i = 0; i < n_stacks; i++) {
			self += strcmp(stacks[i].path, path) == 0 ? stacks[i].value : 0;
			total += is_prefix(path, stacks[i].path) ? stacks[i].value : 0;
		}
		assert_int_equal(nodes[node].self, self);
		assert_int_equal(nodes[node].total, total);
		assert_true(total > 0);
		in_tree += self;
	}
	assert_int_equal(in_tree, all);
}

struct visited {
	bool *entered;
	uint32_t n_entered, n_left;
};

static int enter(void *arg, const struct tree *tree, uint32_t node)
{
	struct visited *visited = arg;
	uint32_t count;
	const struct tree_node *nodes = tree_nodes(tree, &count);

	assert_false(visited->entered[node]);
	visited->entered[node] = true;
	visited->n_entered++;
	if (node != 0) {
		assert_true(visited->entered[nodes[node].parent]);
		assert_true(nodes[node].parent < node);
	}
	/* The order of siblings. */
	if (nodes[node].next_sibling) {
		const struct tree_node *next = &nodes[nodes[node].next_sibling];

		assert_int_equal(next->parent, nodes[node].parent);
		assert_true(nodes[node].total >= next->total);
		if (nodes[node].total == next->total)
			assert_true(strcmp(tree_label(tree, node),
					   tree_label(tree, nodes[node].next_sibling)) < 0);
	}
	return 0;
}

static void leave(void *arg, const struct tree *tree, uint32_t node)
{
	struct visited *visited = arg;

	(void)tree;
	assert_true(visited->entered[node]);
	visited->n_left++;
}

static void check_order(const struct tree *tree)
{
	uint32_t count;
	scoped_free bool *entered = NULL;
	struct visited visited = {};

	(void)tree_nodes(tree, &count);
	entered = calloc(count, sizeof(*entered));
	assert_non_null(entered);
	visited.entered = entered;
	assert_ok(tree_walk(
		tree, &(struct tree_visitor){ .enter = enter, .leave = leave, .arg = &visited }));
	assert_int_equal(visited.n_entered, count);
	assert_int_equal(visited.n_left, count);
}

static void a_tree_of_random_stacks_has_the_sums_of_brute_force(void **state)
{
	uint64_t seed = test_seed();

	(void)state;
	for (int round = 0; round < 3; round++) {
		scoped(tree_freep) struct tree *tree = NULL;
		scoped_free struct brute_stack *stacks = calloc(RANDOM_STACKS, sizeof(*stacks));

		assert_non_null(stacks);
		assert_ok(tree_new("service", 'P', 1 << 20, &tree));
		for (size_t i = 0; i < RANDOM_STACKS; i++) {
			random_path(&seed, stacks[i].path, PATH_BYTES);
			stacks[i].value = 1 + random_below(&seed, 5);
			add_folded(tree, stacks[i].path, stacks[i].value);
		}
		assert_ok(tree_finish(tree));
		compare_with_stacks(tree, stacks, RANDOM_STACKS);
		check_order(tree);
	}
}

/* Asserts that @rounded has the values of @exact rounded down or up, and exact sums. */
static void check_rounding(const struct tree *rounded, const struct tree *exact, uint64_t unit)
{
	uint32_t count, exact_count;
	const struct tree_node *nodes = tree_nodes(rounded, &count);
	const struct tree_node *exact_nodes = tree_nodes(exact, &exact_count);

	assert_int_equal(count, exact_count);
	assert_int_equal(nodes[0].total, (exact_nodes[0].total + unit / 2) / unit * unit);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t sum = nodes[i].self;

		for (uint32_t child = nodes[i].first_child; child;
		     child = nodes[child].next_sibling)
			sum += nodes[child].total;
		assert_int_equal(nodes[i].total, sum);
		assert_int_equal(nodes[i].self % unit, 0);
		assert_in_range(nodes[i].self + unit - exact_nodes[i].self, 1, 2 * unit - 1);
		assert_in_range(nodes[i].total + unit - exact_nodes[i].total, 1, 2 * unit - 1);
	}
}

static void rounded_totals_are_the_sums_of_rounded_parts(void **state)
{
	uint64_t seed = test_seed();

	(void)state;
	for (int round = 0; round < 20; round++) {
		scoped(tree_freep) struct tree *rounded = NULL, *exact = NULL;

		assert_ok(tree_new("service", 'P', 1 << 20, &rounded));
		assert_ok(tree_new("service", 'P', 1 << 20, &exact));
		for (size_t i = 0; i < RANDOM_STACKS / 10; i++) {
			uint64_t value = random_below(&seed, 3000);
			char path[PATH_BYTES];

			random_path(&seed, path, PATH_BYTES);
			add_folded(rounded, path, value);
			add_folded(exact, path, value);
		}
		assert_ok(tree_finish_rounded(rounded, 1000));
		assert_ok(tree_finish(exact));
		check_rounding(rounded, exact, 1000);
		check_order(rounded);
	}
}

/* With equal remainders, the order of the stacks must not decide which part gets the unit. */
static void rounding_does_not_depend_on_the_order_of_stacks(void **state)
{
	static const char *const labels[] = { "a", "b", "c" };

	(void)state;
	for (size_t first = 0; first < ARRAY_SIZE(labels); first++) {
		scoped(tree_freep) struct tree *tree = NULL;
		uint32_t count;

		assert_ok(tree_new("r", 'P', 100, &tree));
		for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
			add_folded(tree, labels[(first + i) % ARRAY_SIZE(labels)], 500);
		assert_ok(tree_finish_rounded(tree, 1000));
		for (uint32_t i = 1; i < 4; i++)
			assert_int_equal(tree_nodes(tree, &count)[i].total,
					 strcmp(tree_label(tree, i), "c") == 0 ? 0 : 1000);
	}
}

static void children_of_one_label_and_type_are_one_node(void **state)
{
	scoped(tree_freep) struct tree *tree = NULL;
	uint32_t a, again, other_type, count;

	(void)state;
	assert_ok(tree_new("r", 'P', 100, &tree));
	assert_ok(tree_child(tree, 0, "a", 'A', &a));
	assert_ok(tree_child(tree, 0, "a", 'A', &again));
	assert_ok(tree_child(tree, 0, "a", 'L', &other_type));
	assert_int_equal(a, again);
	assert_int_not_equal(a, other_type);
	(void)tree_nodes(tree, &count);
	assert_int_equal(count, 3);
}

static void labels_are_cleaned_before_they_are_compared(void **state)
{
	scoped(tree_freep) struct tree *tree = NULL;
	uint32_t a, b;

	(void)state;
	assert_ok(tree_new("r;r", 'P', 100, &tree));
	assert_ok(tree_child(tree, 0, "a;b", 'A', &a));
	assert_ok(tree_child(tree, 0, "a:b", 'A', &b));
	assert_int_equal(a, b);
	assert_string_equal(tree_label(tree, a), "a:b");
	assert_string_equal(tree_label(tree, 0), "r:r");
}

static void a_full_tree_returns_enospc_and_still_finds_its_nodes(void **state)
{
	scoped(tree_freep) struct tree *tree = NULL;
	uint32_t a, b;

	(void)state;
	assert_ok(tree_new("r", 'P', 2, &tree));
	assert_ok(tree_child(tree, 0, "a", 'A', &a));
	assert_errno(tree_child(tree, a, "b", 'A', &b), -ENOSPC);
	assert_ok(tree_child(tree, 0, "a", 'A', &b));
	assert_int_equal(a, b);
}

static void overflowing_sums_saturate(void **state)
{
	scoped(tree_freep) struct tree *tree = NULL;
	uint32_t a, b, count;

	(void)state;
	assert_ok(tree_new("r", 'P', 100, &tree));
	assert_ok(tree_child(tree, 0, "a", 'A', &a));
	assert_ok(tree_child(tree, 0, "b", 'A', &b));
	tree_add_self(tree, a, UINT64_MAX - 1);
	tree_add_self(tree, a, 5);
	tree_add_self(tree, b, 1);
	assert_ok(tree_finish(tree));
	assert_true(tree_nodes(tree, &count)[0].total == UINT64_MAX);
	assert_true(tree_nodes(tree, &count)[a].self == UINT64_MAX);
}

static void saturated_sums_are_rounded_without_wrapping(void **state)
{
	scoped(tree_freep) struct tree *tree = NULL;
	uint32_t a, b, count;

	(void)state;
	assert_ok(tree_new("r", 'P', 100, &tree));
	assert_ok(tree_child(tree, 0, "a", 'A', &a));
	assert_ok(tree_child(tree, 0, "b", 'A', &b));
	tree_add_self(tree, a, UINT64_MAX);
	tree_add_self(tree, b, UINT64_MAX);
	assert_ok(tree_finish_rounded(tree, 1000));
	assert_true(tree_nodes(tree, &count)[0].total > UINT64_MAX - 1000);
	assert_true(tree_nodes(tree, &count)[a].self > UINT64_MAX - 1000);
}

static void a_tree_of_a_root_alone_can_be_finished(void **state)
{
	scoped(tree_freep) struct tree *tree = tree_from_folded("r", NULL, 0);

	(void)state;
	check_order(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_of_random_stacks_has_the_sums_of_brute_force),
		cmocka_unit_test(rounded_totals_are_the_sums_of_rounded_parts),
		cmocka_unit_test(rounding_does_not_depend_on_the_order_of_stacks),
		cmocka_unit_test(saturated_sums_are_rounded_without_wrapping),
		cmocka_unit_test(children_of_one_label_and_type_are_one_node),
		cmocka_unit_test(labels_are_cleaned_before_they_are_compared),
		cmocka_unit_test(a_full_tree_returns_enospc_and_still_finds_its_nodes),
		cmocka_unit_test(overflowing_sums_saturate),
		cmocka_unit_test(a_tree_of_a_root_alone_can_be_finished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
