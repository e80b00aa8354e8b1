/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/profile.h"

#include "tests/unit/symbolizer/query/profile_fixture.h"

#define ON_CPU(id_, process_, tid_, name_)                                                         \
	{                                                                                          \
		.id = (id_), .tenant = "default", .process = &processes[process_], .tid = (tid_),  \
		.thread_name = (name_), .type = EVENT_ON_CPU, .cpu = -1, .period_ns = 10,          \
		.first_slot = T0, .last_slot = T0 + 10                                             \
	}

static const struct store_series series[] = {
	ON_CPU(1, P_APP, 100, "app"),      ON_CPU(2, P_APP, 101, "worker"),
	ON_CPU(3, P_APP, 102, "worker"),   ON_CPU(4, P_APP_BETA, 200, "app"),
	ON_CPU(5, P_SHOP, 300, "shop"),    ON_CPU(6, P_HIDDEN, 400, "hidden"),
	ON_CPU(7, P_HIDDEN, 401, "hider"), ON_CPU(8, P_KWORKER, 5, "kworker/0:1"),
};

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
	FAKE_SET(fixture, series, series);
	set_stacks(fixture, stacks, ARRAY_SIZE(stacks));
	FAKE_SET(fixture, rows, rows);
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
		many_series[i] = series[0];
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

	FAKE_SET(fixture, series, series);
	set_stacks(fixture, deep, ARRAY_SIZE(deep));
	FAKE_SET(fixture, rows, deep_rows);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fixture->request.max_kernel_stack_depth = cases[i].depth;
		assert_profile(fixture, cases[i].expected);
	}
}

static void frames_are_labelled_by_name_path_or_address(void **state)
{
	/* One stack per case, of app 100 on alpha. */
	static const struct {
		struct stack_text stack;
		const char *expected; /* after "app;[p] app;" */
	} cases[] = {
		{ { 9, 0, "native:app:0x1110" }, "main" },
		{ { 9, 0, "native:app:0x1410" }, "app::sort" },
		{ { 9, 0, "native:lib:0x2110" }, "[l] fast_copy" },
		{ { 9, 0, "native:vdso:0x2010" }, "[l] lib_entry" },
		{ { 9, 0, "kernel:kernel:0x310" }, "[k] schedule" },
		{ { 9, 0, "named:none:0x4d" }, "[k] bpf_prog_1234_filter" },
		/* no name */
		{ { 9, 0, "native:app:0x10" }, "[/usr/bin/app]" },
		{ { 9, 0, "native:lib:0x10" }, "[/lib/libx.so]" },
		{ { 9, 0, "native:stripped:0x10" }, "[/opt/stripped]" },
		{ { 9, 0, "native:stripped:0x10 native:stripped:0x20" },
		  "[/opt/stripped];[/opt/stripped]" },
		{ { 9, 0, "native:damaged:0x10" }, "[/opt/damaged]" },
		{ { 9, 0, "native:vdso:0x10" }, "[vdso]" },
		{ { 9, 0, "native:shop:0x10" }, "[shop]" },
		{ { 9, 0, "native:gone:0x10" }, "[unknown]" },
		{ { 9, 0, "kernel:kernel:0x1" }, "[k] [kernel]" },
		{ { 9, 0, "kernel:module:0x10" }, "[k] [nf_tables]" },
		{ { 9, 0, "kernel:none:0x10" }, "[k] [unknown]" },
		{ { 9, 0, "named:none:0x4e" }, "[k] [unknown]" },
		/* in no executable */
		{ { 9, 0, "native:none:0x3932388" }, "[unknown start_thread?]" },
		{ { 9, 0, "native:none:0x3932388 native:app:0x1110" },
		  "main;[unknown] 0x0000000003932388" },
		{ { 9, 0, "native:none:0x10 native:none:0x20" },
		  "[unknown start_thread?];[unknown] 0x0000000000000010" },
		{ { 9, 0, "native:stripped:0x10 native:none:0x20" },
		  "[unknown start_thread?];[/opt/stripped]" },
		{ { 9, 0, "kernel:kernel:0x310 native:none:0x20" },
		  "[unknown start_thread?];[k] schedule" },
		/* file offsets: with load segments, beyond them, without */
		{ { 9, 0, "offset:app:0x310" }, "recurse" },
		{ { 9, 0, "offset:app:0x9999999" }, "[/usr/bin/app]" },
		{ { 9, 0, "offset:lib:0x2010" }, "[/lib/libx.so]" },
		/* truncated stacks */
		{ { 9, STACK_CUT_DEPTH, "native:app:0x1210" }, "[truncated: depth];work" },
		{ { 9, STACK_CUT_READ_FAULT, "native:app:0x1210" },
		  "[truncated: read-fault];work" },
		{ { 9, STACK_CUT_DEPTH, "native:none:0x10" },
		  "[truncated: depth];[unknown] 0x0000000000000010" },
		{ { 9, STACK_CUT_NO_MAPPING, "native:app:0x1210" },
		  "[truncated: no-mapping];work" },
		{ { 9, STACK_CUT_BAD_FRAME, "native:app:0x1210" }, "[truncated: bad-frame];work" },
		{ { 9, STACK_CUT_UNKNOWN, "native:app:0x1210" },
		  "[truncated: unknown-process];work" },
		{ { 9, STACK_CUT_NO_USER_REGS, "kernel:kernel:0x310" }, "[k] schedule" },
		/* a stack that the store does not have */
		{ { 10, 0, "native:app:0x1210" }, "[stack trace lost]" },
	};
	static const struct fake_row one_row[] = { { 1, 9, T0, 1 } };
	struct fixture *fixture = *state;

	FAKE_SET(fixture, series, series);
	FAKE_SET(fixture, rows, one_row);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char expected[256];

		set_stacks(fixture, &cases[i].stack, 1);
		(void)snprintf(expected, sizeof(expected), "app;[p] app;%s=10\n",
			       cases[i].expected);
		assert_profile(fixture, expected);
		assert_int_equal(fixture->stats.value_cut, cases[i].stack.cut ? 10 : 0);
	}
}

static void a_shared_stack_is_labelled_separately_for_each_process(void **state)
{
	/* The same frames are own code of app and a library in shop, with different paths. */
	static const struct stack_text shared[] = {
		{ 9, 0, "native:lib:0x10 native:app:0x1110" },
	};
	static const struct fake_row shared_rows[] = { { 1, 9, T0, 1 },
						       { 4, 9, T0, 2 },
						       { 5, 9, T0, 3 } };
	struct fixture *fixture = *state;

	FAKE_SET(fixture, series, series);
	set_stacks(fixture, shared, ARRAY_SIZE(shared));
	FAKE_SET(fixture, rows, shared_rows);
	fixture->request.service = NULL;
	assert_profile(fixture, "app, shop;[p] app;main;[/lib64/libx.so]=20\n"
				"app, shop;[p] app;main;[/lib/libx.so]=10\n"
				"app, shop;[p] shop;[l] main;[libx.so]=30\n");
}

/* Two functions of 0x20 bytes each, at 0x3000 and 0x3040, that only .eh_frame describes. */
static const char nameless_s[] = "	.text\n"
				 "	.cfi_startproc\n	.skip 0x20\n	.cfi_endproc\n"
				 "	.skip 0x20\n"
				 "	.cfi_startproc\n	.skip 0x20\n	.cfi_endproc\n";

static void add_nameless_functions(struct fixture *fixture)
{
	scoped_free char *path = path_in(fixture->folder, "nameless");
	scoped_free char *source =
		write_file_in(fixture->folder, "nameless.s", nameless_s, strlen(nameless_s));
	scoped(bytes_release) struct bytes output = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	char command[1024];

	(void)snprintf(command, sizeof(command),
		       "gcc -nostdlib -static -s -Wl,-e,0 -Wl,-Ttext=0x3000 -o %s %s 2>&1", path,
		       source);
	assert_int_equal(command_output(command, &output), 0);
	fake_debuginfo_put(&fixture->debuginfo, &fixture->executables[EXE_STRIPPED - 1].identity,
			   path);
}

static void a_function_without_a_name_is_one_frame_with_function_starts(void **state)
{
	static const struct stack_text nameless[] = {
		{ 1, 0, "native:stripped:0x3000 native:app:0x1110" },
		{ 2, 0, "native:stripped:0x301f native:app:0x1110" },
		{ 3, 0, "native:stripped:0x3040 native:app:0x1110" },
		{ 4, 0, "native:stripped:0x3030 native:app:0x1110" }, /* in no function */
	};
	static const struct fake_row nameless_rows[] = {
		{ 1, 1, T0, 1 }, { 1, 2, T0, 2 },  { 1, 3, T0, 4 },
		{ 4, 4, T0, 8 }, { 4, 1, T0, 16 },
	};
	struct fixture *fixture = *state;

	add_nameless_functions(fixture);
	FAKE_SET(fixture, series, series);
	set_stacks(fixture, nameless, ARRAY_SIZE(nameless));
	FAKE_SET(fixture, rows, nameless_rows);
	assert_profile(fixture, "app;[p] app;main;[stripped]=240\n"
				"app;[p] app;main;[/opt/stripped]=70\n");
	fixture->request.function_starts = true;
	assert_profile(fixture, "app;[p] app;main;stripped+0x3000=190\n"
				"app;[p] app;main;[stripped]=80\n"
				"app;[p] app;main;stripped+0x3040=40\n");
	assert_int_equal(fixture->stats.value_unsymbolized, 310);
	assert_int_equal(fixture->stats.unsymbolized_stripped, 310);
}

static void a_function_without_a_name_has_the_type_of_unresolved_frames(void **state)
{
	static const struct stack_text nameless[] = { { 1, 0, "native:stripped:0x3000" } };
	static const struct fake_row nameless_rows[] = { { 1, 1, T0, 1 } };
	struct fixture *fixture = *state;
	scoped(tree_freep) struct tree *tree = NULL;
	const struct tree_node *nodes;
	uint32_t n_nodes;

	add_nameless_functions(fixture);
	FAKE_SET(fixture, series, series);
	set_stacks(fixture, nameless, ARRAY_SIZE(nameless));
	FAKE_SET(fixture, rows, nameless_rows);
	fixture->request.function_starts = true;
	assert_int_equal(query(fixture, &tree), 1);
	nodes = tree_nodes(tree, &n_nodes);
	assert_string_equal(tree_label(tree, n_nodes - 1), "stripped+0x3000");
	assert_int_equal(nodes[n_nodes - 1].type, '?');
}

static void values_without_a_name_are_counted_by_reason(void **state)
{
	static const struct stack_text nameless[] = {
		{ 1, 0, "native:stripped:0x10" },
		{ 2, 0, "native:app:0x10" },
		{ 3, 0, "native:damaged:0x10" },
		{ 4, 0, "native:none:0x10" },
		{ 5, 0, "native:app:0x1110 native:none:0x10" }, /* the leaf has a name */
	};
	static const struct fake_row nameless_rows[] = {
		{ 1, 1, T0, 1 }, { 1, 2, T0, 2 },  { 1, 3, T0, 4 },
		{ 1, 4, T0, 8 }, { 1, 5, T0, 16 },
	};
	struct fixture *fixture = *state;
	scoped(tree_freep) struct tree *tree = NULL;

	FAKE_SET(fixture, series, series);
	set_stacks(fixture, nameless, ARRAY_SIZE(nameless));
	FAKE_SET(fixture, rows, nameless_rows);
	assert_int_equal(query(fixture, &tree), 1);
	assert_int_equal(fixture->stats.unsymbolized_no_debuginfo, 10);
	assert_int_equal(fixture->stats.unsymbolized_outside, 20);
	assert_int_equal(fixture->stats.unsymbolized_table_failed, 40);
	assert_int_equal(fixture->stats.unsymbolized_no_mapping, 80);
	assert_int_equal(fixture->stats.value_unsymbolized, 150);
	assert_int_equal(fixture->stats.value_total, 310);
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

	FAKE_SET(fixture, series, series);
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
	FAKE_SET(fixture, series, off_cpu);
	set_stacks(fixture, stacks, ARRAY_SIZE(stacks));
	FAKE_SET(fixture, rows, off_cpu_rows);
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
	FAKE_SET(fixture, series, memory);
	set_stacks(fixture, stacks, ARRAY_SIZE(stacks));
	FAKE_SET(fixture, rows, reports);
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

	FAKE_SET(fixture, series, strange);
	set_stacks(fixture, stacks, ARRAY_SIZE(stacks));
	FAKE_SET(fixture, rows, strange_rows);
	assert_profile(fixture, "app;[t] a:b\xef\xbf\xbd\xef\xbf\xbd;_start;main;work=20\n"
				"app;[t] unknown;_start;main;work=10\n");
}

static void debuginfo_uploaded_later_names_earlier_samples(void **state)
{
	static const struct stack_text late[] = { { 9, 0, "native:stripped:0x1110" } };
	static const struct fake_row late_rows[] = { { 1, 9, T0, 1 } };
	struct fixture *fixture = *state;

	FAKE_SET(fixture, series, series);
	set_stacks(fixture, late, ARRAY_SIZE(late));
	FAKE_SET(fixture, rows, late_rows);
	assert_profile(fixture, "app;[p] app;[/opt/stripped]=10\n");
	add_file(fixture, &fixture->executables[5].identity, "late", app_s);
	assert_profile(fixture, "app;[p] app;[l] main=10\n");
}

/* mark_inner is in inner(), which is inlined into middle(), which is inlined into outer(). */
static const char inlined_c[] =
	"volatile int sink;\n"
	"static inline __attribute__((always_inline)) void inner(void)\n"
	"{\n"
	"	__asm__ volatile(\".globl mark_inner\\nmark_inner: nop\\n nop\");\n"
	"}\n"
	"static inline __attribute__((always_inline)) void middle(void) { inner(); sink = 2; }\n"
	"void __attribute__((noinline)) outer(void) { middle(); sink = 3; }\n"
	"__asm__(\".globl _text\\n_text = 0x400000\");\n"
	"void _start(void) { outer(); outer(); }\n";

/* Makes a program the debuginfo of @executable, and returns the address of mark_inner in it. */
static unsigned long long add_inlined(struct fixture *fixture, int executable)
{
	struct bytes output = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	scoped_free char *path = path_in(fixture->folder, "inlined");
	unsigned long long address;
	char command[1024];

	free(write_file_in(fixture->folder, "inlined.c", inlined_c, strlen(inlined_c)));
	(void)snprintf(command, sizeof(command),
		       "gcc -O2 -g -nostdlib -static -o %s %s.c 2>&1 &&"
		       " nm %s | sed -n 's/ . mark_inner//p'",
		       path, path, path);
	assert_int_equal(command_output(command, &output), 0);
	address = strtoull((const char *)output.data, NULL, 16);
	assert_true(address > 0x400000);
	bytes_release(&output);
	fake_debuginfo_put(&fixture->debuginfo, &fixture->executables[executable - 1].identity,
			   path);
	return address;
}

static void inlined_functions_are_frames_below_the_function_with_their_code(void **state)
{
	struct fixture *fixture = *state;
	const unsigned long long address = add_inlined(fixture, EXE_LIB);
	struct stack_text text = { 3, 0, NULL };
	char frames[128];
	static const struct fake_row inlined_rows[] = { { 1, 3, T0, 1 } };

	(void)snprintf(frames, sizeof(frames), "native:lib:%#llx native:app:0x1110", address);
	text.frames = frames;
	FAKE_SET(fixture, series, series);
	set_stacks(fixture, &text, 1);
	FAKE_SET(fixture, rows, inlined_rows);
	assert_profile(fixture, "app;[p] app;main;[l] outer;[l] middle;[l] inner=10\n");
	assert_int_equal(fixture->stats.value_unsymbolized, 0);
	assert_int_equal(fixture->stats.n_frames, 2);
	fixture->request.no_inlines = true;
	assert_profile(fixture, "app;[p] app;main;[l] outer=10\n");
}

static void inlined_functions_of_the_kernel_count_as_frames(void **state)
{
	static const struct {
		int depth;
		const char *expected;
	} cases[] = {
		{ -1, "app;[p] app;main;[k] outer;[k] middle;[k] inner=10\n" },
		{ 0, "app;[p] app;main=10\n" },
		{ 1, "app;[p] app;main;[k] outer=10\n" },
		{ 2, "app;[p] app;main;[k] outer;[k] middle=10\n" },
		{ 3, "app;[p] app;main;[k] outer;[k] middle;[k] inner=10\n" },
	};
	struct fixture *fixture = *state;
	const unsigned long long address = add_inlined(fixture, EXE_KERNEL);
	struct stack_text text = { 3, 0, NULL };
	char frames[128];
	static const struct fake_row inlined_rows[] = { { 1, 3, T0, 1 } };

	(void)snprintf(frames, sizeof(frames), "kernel:kernel:%#llx native:app:0x1110",
		       address - 0x400000);
	text.frames = frames;
	FAKE_SET(fixture, series, series);
	set_stacks(fixture, &text, 1);
	FAKE_SET(fixture, rows, inlined_rows);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fixture->request.max_kernel_stack_depth = cases[i].depth;
		assert_profile(fixture, cases[i].expected);
	}
}

static void tables_that_are_not_ready_in_time_are_in_the_message(void **state)
{
	static const struct stack_text app[] = { { 9, 0, "native:app:0x1110" } };
	static const struct fake_row app_rows[] = { { 1, 9, T0, 1 } };
	struct fixture *fixture = *state;
	scoped(tree_freep) struct tree *tree = NULL;

	FAKE_SET(fixture, series, series);
	set_stacks(fixture, app, ARRAY_SIZE(app));
	FAKE_SET(fixture, rows, app_rows);
	fake_debuginfo_hold(&fixture->debuginfo, &fixture->executables[0].identity);
	assert_int_equal(query(fixture, &tree), 1);
	assert_int_equal(fixture->stats.n_tables_pending, 1);
	assert_int_equal(fixture->stats.unsymbolized_pending, 10);
	assert_non_null(strstr(fixture->message, "symbol tables of 1 executables are being made"));
	fake_debuginfo_hold(&fixture->debuginfo, NULL);
	do {
		tree = tree_free(tree);
		assert_int_equal(query(fixture, &tree), 1);
	} while (fixture->stats.n_tables_pending > 0);
	assert_profile(fixture, "app;[p] app;main=10\n");
	assert_string_equal(fixture->message, "");
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
		WITH_FLEET(frames_are_labelled_by_name_path_or_address),
		WITH_FLEET(a_shared_stack_is_labelled_separately_for_each_process),
		WITH_FLEET(a_function_without_a_name_is_one_frame_with_function_starts),
		WITH_FLEET(a_function_without_a_name_has_the_type_of_unresolved_frames),
		WITH_FLEET(values_without_a_name_are_counted_by_reason),
		WITH_FLEET(total_has_a_level_for_tag_process_and_thread),
		WITH_FLEET(the_root_of_total_has_type_host),
		WITH_FLEET(total_has_no_memory_profile),
		WITH_FLEET(samples_without_a_stack_are_added_to_the_thread),
		WITH_FLEET(values_without_a_period_are_not_scaled_and_saturate),
		WITH_FLEET(memory_in_use_is_the_last_report_of_each_process),
		WITH_FLEET(damaged_blocks_are_counted_and_in_the_message),
		WITH_FLEET(small_nodes_are_pruned_on_request),
		WITH_FLEET(names_of_threads_are_cleaned),
		WITH_FLEET(debuginfo_uploaded_later_names_earlier_samples),
		WITH_FLEET(inlined_functions_are_frames_below_the_function_with_their_code),
		WITH_FLEET(inlined_functions_of_the_kernel_count_as_frames),
		WITH_FLEET(tables_that_are_not_ready_in_time_are_in_the_message),
		WITH_FLEET(a_store_that_fails_fails_the_query),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
