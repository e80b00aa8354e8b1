/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/profile.h"

#include "tests/unit/symbolizer/query/profile_fixture.h"

static const struct stack_text stacks[] = {
	{ 1, 0, "native:app:0x1210 native:app:0x1110 native:app:0x1010" },
	{ 2, 0,
	  "kernel:kernel:0x210 kernel:kernel:0x110 native:lib:0x2010 native:app:0x1110 "
	  "native:app:0x1010" },
	/* The same functions at other addresses. */
	{ 3, 0, "native:app:0x1220 native:app:0x1120 native:app:0x1020" },
	{ 4, 0, "native:shop:0x1220" },
};

static const struct fake_row rows[] = {
	{ 1, 1, T0, 5 },
	{ 1, 1, T0 + 1, 2 },
	{ 1, 3, T0 + 2, 1 },
	{ 2, 2, T0 + 3, 4 },
	{ 3, 2, T0 + 3, 2 },
	{ 4, 1, T0 + 4, 3 },
	{ 5, 4, T0 + 5, 9 },
	{ 6, 0, T0 + 6, 6 },
	{ 7, 0, T0 + 7, 7 },
	{ 8, 0, T0 + 8, 8 },
	{ 1, 1, T0 - 1, 1000 },           /* before the range */
	{ 1, 1, T0 + 60 * SECOND, 1000 }, /* the first slot after it */
};

static void set_fleet(struct fixture *fixture)
{
	FAKE_SAMPLES(fixture, on_cpu_series, stacks, rows);
}

static void a_query_ends_when_its_cancellation_is_requested(void **state)
{
	struct fixture *fixture = *state;
	struct cancel before = {}, while_loading = {};
	struct tree *tree = NULL;

	set_fleet(fixture);
	fixture->options.cancel = &before;
	cancel_request(&before);
	assert_int_equal(query(fixture, &tree), -ECANCELED);
	assert_int_equal(fixture->stats.n_rows, 0);

	fixture->options.cancel = fixture->fake.cancel_while_loading = &while_loading;
	assert_int_equal(query(fixture, &tree), -ECANCELED);
	assert_true(fixture->stats.n_rows > 0);
	assert_int_equal(fixture->stats.n_stacks, 0);
	assert_null(tree);
	fixture->options.cancel = NULL;
}

static void a_query_without_memory_fails_and_gives_back_what_it_took(void **state)
{
	struct fixture *fixture = *state;
	struct memory_budget budget = { .limit_bytes = 1 };
	uint64_t used = 0;
	struct tree *tree = NULL;

	set_fleet(fixture);
	fixture->options.memory = &budget;
	assert_int_equal(query(fixture, &tree), -ENOMEM);
	assert_null(tree);
	assert_true(memory_budget_refused(&budget) > 0);
	assert_int_equal(budget.used_bytes, 0);

	budget.limit_bytes = 64 * MIB;
	assert_int_equal(query(fixture, &tree), 1);
	used = budget.used_bytes;
	tree_free(tree);
	assert_int_equal(budget.used_bytes, 0);
	assert_true(used <= budget.limit_bytes);
	fixture->options.memory = NULL;
}

static void paths_of_many_processes_are_read_in_one_call(void **state)
{
	enum { MANY = 200 };
	static const struct stack_text stripped[] = {
		{ 1, STACK_CUT_NONE, "native:stripped:20 native:damaged:10 native:app:1100" },
	};
	struct fixture *fixture = *state;
	static struct store_process many[MANY];
	static struct store_series many_series[MANY];
	static struct fake_row many_rows[MANY];
	scoped(tree_freep) struct tree *tree = NULL;

	for (uint32_t i = 0; i < MANY; i++) {
		many[i] = processes[P_APP];
		many[i].id = 1000 + i;
		many_series[i] = on_cpu_series[0];
		many_series[i].id = i + 1;
		many_series[i].process = &many[i];
		many_rows[i] = (struct fake_row){ i + 1, 1, T0, 1 };
	}
	FAKE_SET(fixture, series, many_series);
	set_stacks(fixture, stripped, 1);
	FAKE_SET(fixture, rows, many_rows);
	assert_int_equal(query(fixture, &tree), 1);
	/* Of the two executables without names; main() needs no path. */
	assert_int_equal(fixture->fake.n_paths_read, 2 * MANY);
	assert_int_equal(fixture->fake.n_path_calls, 1);
}

static void stacks_of_all_threads_and_hosts_merge_into_one_tree(void **state)
{
	struct fixture *fixture = *state;

	set_fleet(fixture);
	assert_profile(
		fixture,
		"app;[p] app;_start;main;work=110\n"
		"app;[t] worker;_start;main;[l] lib_entry;[k] do_syscall_64;[k] vfs_read=60\n");
	assert_int_equal(fixture->stats.n_series, 4);
	assert_int_equal(fixture->stats.n_rows, 6);
	assert_int_equal(fixture->stats.n_stacks, 3);
	assert_int_equal(fixture->stats.n_frames, 9);
	assert_int_equal(fixture->stats.n_nodes, 11);
	assert_int_equal(fixture->stats.value_total, 170);
	assert_int_equal(fixture->stats.value_unsymbolized, 0);
}

static void threads_can_be_folded_and_tags_can_group(void **state)
{
	static const struct {
		bool fold_threads;
		const char *group_by, *expected;
	} cases[] = {
		{ true, NULL,
		  "app;_start;main;work=110\n"
		  "app;_start;main;[l] lib_entry;[k] do_syscall_64;[k] vfs_read=60\n" },
		{ false, "host",
		  "app;[g] host=alpha;[p] app;_start;main;work=80\n"
		  "app;[g] host=alpha;[t] worker;_start;main;[l] lib_entry;[k] do_syscall_64;[k] "
		  "vfs_read=60\n"
		  "app;[g] host=beta;[p] app;_start;main;work=30\n" },
		{ true, "host",
		  "app;[g] host=alpha;_start;main;work=80\n"
		  "app;[g] host=alpha;_start;main;[l] lib_entry;[k] do_syscall_64;[k] vfs_read=60\n"
		  "app;[g] host=beta;_start;main;work=30\n" },
		{ true, "version",
		  "app;[g] version=v1;_start;main;work=80\n"
		  "app;[g] version=v1;_start;main;[l] lib_entry;[k] do_syscall_64;[k] vfs_read=60\n"
		  "app;[g] version=NULL;_start;main;work=30\n" },
		{ true, "tid",
		  "app;[g] tid=100;_start;main;work=80\n"
		  "app;[g] tid=101;_start;main;[l] lib_entry;[k] do_syscall_64;[k] vfs_read=40\n"
		  "app;[g] tid=200;_start;main;work=30\n"
		  "app;[g] tid=102;_start;main;[l] lib_entry;[k] do_syscall_64;[k] vfs_read=20\n" },
		{ true, "ip",
		  "app;[g] ip=10.1.1.1,fe80::1;_start;main;work=80\n"
		  "app;[g] ip=10.1.1.1,fe80::1;_start;main;[l] lib_entry;[k] do_syscall_64;[k] "
		  "vfs_read=60\n"
		  "app;[g] ip=10.2.2.2;_start;main;work=30\n" },
	};
	struct fixture *fixture = *state;

	set_fleet(fixture);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fixture->request.fold_threads = cases[i].fold_threads;
		fixture->request.group_by = cases[i].group_by;
		assert_profile(fixture, cases[i].expected);
	}
}

static void kernel_frames_are_limited_to_the_requested_depth(void **state)
{
	static const struct stack_text deep[] = {
		{ 2, 0,
		  "kernel:kernel:0x310 kernel:kernel:0x210 kernel:kernel:0x110 native:app:0x1110" },
	};
	static const struct fake_row deep_rows[] = { { 1, 2, T0, 1 } };
	static const struct {
		int depth;
		const char *expected;
	} cases[] = {
		{ -1, "app;[p] app;main;[k] do_syscall_64;[k] vfs_read;[k] schedule=10\n" },
		{ 0, "app;[p] app;main=10\n" },
		{ 1, "app;[p] app;main;[k] do_syscall_64=10\n" },
		{ 2, "app;[p] app;main;[k] do_syscall_64;[k] vfs_read=10\n" },
		{ 3, "app;[p] app;main;[k] do_syscall_64;[k] vfs_read;[k] schedule=10\n" },
		{ 100, "app;[p] app;main;[k] do_syscall_64;[k] vfs_read;[k] schedule=10\n" },
	};
	struct fixture *fixture = *state;

	FAKE_SAMPLES(fixture, on_cpu_series, deep, deep_rows);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fixture->request.max_kernel_stack_depth = cases[i].depth;
		assert_profile(fixture, cases[i].expected);
	}
}

static void total_has_a_level_for_tag_process_and_thread(void **state)
{
	struct fixture *fixture = *state;

	set_fleet(fixture);
	fixture->request.service = "Total";
	assert_profile(fixture, "Total;[p] app=110\n"
				"Total;[p] app;[t] worker=60\n"
				"Total;[p] hidden=60\n"
				"Total;[p] hidden;[t] hider=70\n"
				"Total;[p] shop=90\n"
				"Total;[p] kworker;[t] kworker/0:1=80\n");
	assert_int_equal(fixture->stats.value_total, 470);

	fixture->request.tag_filter = "host = 'beta'";
	assert_profile(fixture, "Total;[p] app=30\n");

	fixture->request.tag_filter = NULL;
	fixture->request.fold_threads = true;
	assert_profile(fixture, "Total;[p] app=170\nTotal;[p] hidden=130\nTotal;[p] "
				"shop=90\nTotal;[p] kworker=80\n");
}

static void the_root_of_total_has_type_host(void **state)
{
	struct fixture *fixture = *state;
	scoped(tree_freep) struct tree *tree = NULL;
	uint32_t count;

	set_fleet(fixture);
	fixture->request.service = "Total";
	assert_int_equal(query(fixture, &tree), 1);
	assert_int_equal(tree_nodes(tree, &count)[0].type, 'H');
	assert_string_equal(tree_label(tree, 0), "Total");
}

static void total_has_no_memory_profile(void **state)
{
	static struct store_series memory[] = { ON_CPU(1, P_APP, 100, "app") };
	struct fixture *fixture = *state;

	memory[0].type = EVENT_MEM_ALLOC;
	FAKE_SET(fixture, series, memory);
	fixture->request.service = "Total";
	fixture->request.type = EVENT_MEM_ALLOC;
	assert_message(fixture, 0, "'Total' sums time: it has no mem-alloc");
}

static void samples_without_a_stack_are_added_to_the_thread(void **state)
{
	static const struct fake_row counted[] = { { 1, 0, T0, 3 }, { 2, 0, T0, 4 } };
	struct fixture *fixture = *state;

	FAKE_SET(fixture, series, on_cpu_series);
	FAKE_SET(fixture, rows, counted);
	assert_profile(fixture, "app;[t] worker=40\napp;[p] app=30\n");
	fixture->request.fold_threads = true;
	assert_profile(fixture, "app;[no frames]=70\n");
}

static void values_without_a_period_are_not_scaled_and_saturate(void **state)
{
	static struct store_series off_cpu[] = { ON_CPU(1, P_APP, 100, "app"),
						 ON_CPU(2, P_APP, 101, "worker") };
	static const struct fake_row off_cpu_rows[] = { { 1, 1, T0, 123456789 },
							{ 2, 1, T0, UINT64_MAX / 2 } };
	struct fixture *fixture = *state;

	off_cpu[0].period_ns = 0;
	off_cpu[0].type = off_cpu[1].type = EVENT_OFF_CPU;
	FAKE_SAMPLES(fixture, off_cpu, stacks, off_cpu_rows);
	fixture->request.type = EVENT_OFF_CPU;
	assert_profile(fixture, "app;[t] worker;_start;main;work=18446744073709551615\n"
				"app;[p] app;_start;main;work=123456789\n");
}

static void memory_in_use_is_the_last_report_of_each_process(void **state)
{
	static struct store_series memory[] = { ON_CPU(1, P_APP, 100, "app"),
						ON_CPU(2, P_APP_BETA, 200, "app"),
						ON_CPU(3, P_SHOP, 300, "shop") };
	static const struct fake_row reports[] = {
		/* app on alpha: stack 1 grows; stack 2 is freed before the second report */
		{ 1, 1, T0, 100 },
		{ 1, 2, T0, 50 },
		{ 1, 1, T0 + 10 * SECOND, 120 },
		{ 1, 3, T0 + 10 * SECOND + 3, 7 }, /* the same report, a little later */
		/* app on beta: one report, its rows out of order */
		{ 2, 1, T0 + 10 * SECOND, 1000 },
		{ 2, 1, T0, 1 },
		{ 2, 1, T0 + 10 * SECOND,
		  500 }, /* of another allocation site with the same stack */
		/* shop has ended */
		{ 3, 4, T0, 9 },
		{ 3, 4, T0 + 10 * SECOND, 0 },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(memory); i++) {
		memory[i].type = EVENT_MEM_INUSE;
		memory[i].period_ns = 0;
	}
	FAKE_SAMPLES(fixture, memory, stacks, reports);
	fixture->request.type = EVENT_MEM_INUSE;
	assert_profile(fixture, "app;[p] app;_start;main;work=1627\n");
	fixture->request.service = "shop";
	assert_message(fixture, 0,
		       "service 'shop' has no mem-inuse samples between 2024-02-21T03:12:00Z and "
		       "2024-02-21T03:13:00Z; "
		       "last sample at 2024-02-21T03:12:00Z");
}

static void damaged_blocks_are_counted_and_in_the_message(void **state)
{
	struct fixture *fixture = *state;
	scoped(tree_freep) struct tree *tree = NULL;

	set_fleet(fixture);
	fixture->fake.n_damaged_blocks = 3;
	assert_int_equal(query(fixture, &tree), 1);
	assert_int_equal(fixture->stats.n_damaged_blocks, 3);
	assert_string_equal(fixture->message, "3 damaged blocks of samples are left out");
}

static void small_nodes_are_pruned_on_request(void **state)
{
	struct fixture *fixture = *state;
	scoped(tree_freep) struct tree *tree = NULL;
	uint32_t count;

	set_fleet(fixture);
	fixture->request.max_nodes = 5;
	assert_int_equal(query(fixture, &tree), 1);
	assert_int_equal(tree_nodes(tree, &count)[0].total, 170);
	assert_int_equal(count, 5);
	assert_int_equal(fixture->stats.n_nodes, 5);
	assert_int_equal(fixture->stats.n_nodes_pruned, 6);
}

static void names_of_threads_are_cleaned(void **state)
{
	static struct store_series strange[] = { ON_CPU(1, P_APP, 101, "a;b\x01\xff"),
						 ON_CPU(2, P_APP, 102, "") };
	static const struct fake_row strange_rows[] = { { 1, 1, T0, 2 }, { 2, 1, T0, 1 } };
	struct fixture *fixture = *state;

	FAKE_SAMPLES(fixture, strange, stacks, strange_rows);
	assert_profile(fixture, "app;[t] a:b\xef\xbf\xbd\xef\xbf\xbd;_start;main;work=20\n"
				"app;[t] unknown;_start;main;work=10\n");
}

static void a_store_that_fails_fails_the_query(void **state)
{
	struct fixture *fixture = *state;

	set_fleet(fixture);
	fixture->fake.fail_with = -EIO;
	assert_message(fixture, -EIO, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define WITH_FLEET(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)
		WITH_FLEET(paths_of_many_processes_are_read_in_one_call),
		WITH_FLEET(stacks_of_all_threads_and_hosts_merge_into_one_tree),
		WITH_FLEET(a_query_without_memory_fails_and_gives_back_what_it_took),
		WITH_FLEET(a_query_ends_when_its_cancellation_is_requested),
		WITH_FLEET(threads_can_be_folded_and_tags_can_group),
		WITH_FLEET(kernel_frames_are_limited_to_the_requested_depth),
		WITH_FLEET(total_has_a_level_for_tag_process_and_thread),
		WITH_FLEET(the_root_of_total_has_type_host),
		WITH_FLEET(total_has_no_memory_profile),
		WITH_FLEET(samples_without_a_stack_are_added_to_the_thread),
		WITH_FLEET(values_without_a_period_are_not_scaled_and_saturate),
		WITH_FLEET(memory_in_use_is_the_last_report_of_each_process),
		WITH_FLEET(damaged_blocks_are_counted_and_in_the_message),
		WITH_FLEET(small_nodes_are_pruned_on_request),
		WITH_FLEET(names_of_threads_are_cleaned),
		WITH_FLEET(a_store_that_fails_fails_the_query),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
