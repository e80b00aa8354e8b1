/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/series_groups.h"

#include "tests/support/unit.h"

static const struct store_process processes[] = {
	{ .id = 1, .name = "web", .pid = 7, .main_executable = 5, .path_set = 3 },
	{ .id = 2, .name = "web", .pid = 8, .main_executable = 5, .path_set = 3 },
	{ .id = 3, .name = "web", .pid = 9, .main_executable = 6, .path_set = 3 },
	{ .id = 4, .name = "web", .pid = 10, .main_executable = 5, .path_set = 4 },
	{ .id = 5, .name = "web", .pid = 11, .main_executable = 5 },
	{ .id = 6, .name = "web", .pid = 12, .main_executable = 5 },
	{ .id = 7, .name = "web", .pid = 13, .path_set = 3 },
	{ .id = 8, .name = "web", .pid = 14, .path_set = 3 },
};

/* A main thread of each process, and a worker of the first two. */
static const struct store_series series[] = {
	{ .id = 1, .process = &processes[0], .tid = 7, .thread_name = "web" },
	{ .id = 2, .process = &processes[1], .tid = 8, .thread_name = "web" },
	{ .id = 3, .process = &processes[0], .tid = 70, .thread_name = "worker" },
	{ .id = 4, .process = &processes[1], .tid = 80, .thread_name = "worker" },
	{ .id = 5, .process = &processes[2], .tid = 9, .thread_name = "web" },
	{ .id = 6, .process = &processes[3], .tid = 10, .thread_name = "web" },
	{ .id = 7, .process = &processes[4], .tid = 11, .thread_name = "web" },
	{ .id = 8, .process = &processes[5], .tid = 12, .thread_name = "web" },
	{ .id = 9, .process = &processes[6], .tid = 13, .thread_name = "web" },
	{ .id = 10, .process = &processes[7], .tid = 14, .thread_name = "web" },
};

static void check_groups(const struct series_group_options *options, const uint32_t *expected)
{
	scoped(arena_freep) struct arena *arena = NULL;
	scoped(tree_freep) struct tree *tree = NULL;
	struct series_groups groups;

	assert_ok(arena_new(MIB, &arena));
	assert_ok(tree_new("web", 'P', 100, &tree));
	assert_ok(series_groups_make(series, ARRAY_SIZE(series), options, tree, arena, &groups));
	for (size_t i = 0; i < ARRAY_SIZE(series); i++)
		assert_int_equal(groups.group_of_series[i], expected[i]);
}

static void processes_share_groups_only_if_frames_have_the_same_labels(void **state)
{
	static const uint32_t expected[] = { 0, 0, 1, 1, 2, 3, 4, 5, 6, 7 };

	(void)state;
	check_groups(&(struct series_group_options){}, expected);
}

static void groups_are_made_per_process_on_request(void **state)
{
	static const uint32_t expected[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };

	(void)state;
	check_groups(&(struct series_group_options){ .per_process = true }, expected);
}

static void groups_of_total_depend_on_names_alone(void **state)
{
	static const uint32_t expected[] = { 0, 0, 1, 1, 0, 0, 0, 0, 0, 0 };

	(void)state;
	check_groups(&(struct series_group_options){ .total = true }, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_share_groups_only_if_frames_have_the_same_labels),
		cmocka_unit_test(groups_are_made_per_process_on_request),
		cmocka_unit_test(groups_of_total_depend_on_names_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
