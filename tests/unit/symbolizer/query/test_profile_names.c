/* SPDX-License-Identifier: Apache-2.0 */
/* The names of frames, and of what is shown where a name is missing. */

#include "symbolizer/query/profile.h"

#include "tests/unit/symbolizer/query/profile_fixture.h"

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

	FAKE_SET(fixture, series, on_cpu_series);
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

	FAKE_SAMPLES(fixture, on_cpu_series, shared, shared_rows);
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
	FAKE_SAMPLES(fixture, on_cpu_series, nameless, nameless_rows);
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
	FAKE_SAMPLES(fixture, on_cpu_series, nameless, nameless_rows);
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

	FAKE_SAMPLES(fixture, on_cpu_series, nameless, nameless_rows);
	assert_int_equal(query(fixture, &tree), 1);
	assert_int_equal(fixture->stats.unsymbolized_no_debuginfo, 10);
	assert_int_equal(fixture->stats.unsymbolized_outside, 20);
	assert_int_equal(fixture->stats.unsymbolized_table_failed, 40);
	assert_int_equal(fixture->stats.unsymbolized_no_mapping, 80);
	assert_int_equal(fixture->stats.value_unsymbolized, 150);
	assert_int_equal(fixture->stats.value_total, 310);
}

static void debuginfo_uploaded_later_names_earlier_samples(void **state)
{
	static const struct stack_text late[] = { { 9, 0, "native:stripped:0x1110" } };
	static const struct fake_row late_rows[] = { { 1, 9, T0, 1 } };
	struct fixture *fixture = *state;

	FAKE_SAMPLES(fixture, on_cpu_series, late, late_rows);
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
	FAKE_SET(fixture, series, on_cpu_series);
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
	FAKE_SET(fixture, series, on_cpu_series);
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

	FAKE_SAMPLES(fixture, on_cpu_series, app, app_rows);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
#define WITH_FLEET(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)
		WITH_FLEET(frames_are_labelled_by_name_path_or_address),
		WITH_FLEET(a_shared_stack_is_labelled_separately_for_each_process),
		WITH_FLEET(a_function_without_a_name_is_one_frame_with_function_starts),
		WITH_FLEET(a_function_without_a_name_has_the_type_of_unresolved_frames),
		WITH_FLEET(values_without_a_name_are_counted_by_reason),
		WITH_FLEET(debuginfo_uploaded_later_names_earlier_samples),
		WITH_FLEET(inlined_functions_are_frames_below_the_function_with_their_code),
		WITH_FLEET(inlined_functions_of_the_kernel_count_as_frames),
		WITH_FLEET(tables_that_are_not_ready_in_time_are_in_the_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
