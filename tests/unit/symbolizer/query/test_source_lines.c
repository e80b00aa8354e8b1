/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#include "symbolizer/query/source_lines.h"
#include "tests/unit/symbolizer/query/profile_fixture.h"

/* The marks are at line 13, at line 14, and in helper(), which is inlined at line 15. */
static const char source_c[] = "volatile int sink;\n"
			       "static inline __attribute__((always_inline)) void helper(void)\n"
			       "#line 3 \"/src/work.c\"\n"
			       "{ __asm__ volatile(\".globl mark3\\nmark3: nop\\n nop\"); }\n"
			       "#line 11 \"/src/work.c\"\n"
			       "void __attribute__((noinline)) serve(void)\n"
			       "{\n"
			       "	__asm__ volatile(\".globl mark1\\nmark1: nop\\n nop\");\n"
			       "	__asm__ volatile(\".globl mark2\\nmark2: nop\\n nop\");\n"
			       "	helper();\n"
			       "}\n"
			       "void _start(void) { serve(); serve(); }\n";

struct marks {
	unsigned long long at[3];
};

static void add_program(struct fixture *fixture, struct marks *ret_marks)
{
	scoped(bytes_release) struct bytes output = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	scoped_free char *path = path_in(fixture->folder, "work");
	char command[1024];

	free(write_file_in(fixture->folder, "work.c", source_c, strlen(source_c)));
	(void)snprintf(command, sizeof(command),
		       "gcc -O1 -g -nostdlib -static -o %s %s.c 2>&1 &&"
		       " nm %s | sort -k 3 | sed -n 's/ . mark[123]//p'",
		       path, path, path);
	assert_int_equal(command_output(command, &output), 0);
	assert_ok(bytes_append_byte(&output, 0));
	assert_int_equal(sscanf((const char *)output.data, "%llx %llx %llx", &ret_marks->at[0],
				&ret_marks->at[1], &ret_marks->at[2]),
			 3);
	fake_debuginfo_put(&fixture->debuginfo, &fixture->executables[EXE_LIB - 1].identity, path);
}

/*
 *   stack 1   1 row   line 13
 *   stack 2   2 rows  the kernel, called by line 13
 *   stack 3   4 rows  line 14, called by line 13, called by line 13
 *   stack 4   8 rows  helper() at line 3, inlined at line 15
 *   stack 5  16 rows  another function
 */
static void add_samples(struct fixture *fixture)
{
	static const struct fake_row rows[] = {
		{ 1, 1, T0, 1 }, { 1, 2, T0, 2 },  { 1, 3, T0, 4 },
		{ 1, 4, T0, 8 }, { 1, 5, T0, 16 },
	};
	char frames[5][200];
	struct marks marks;
	const unsigned long long *at = marks.at;
	struct stack_text stacks[] = {
		{ 1, 0, frames[0] }, { 2, 0, frames[1] }, { 3, 0, frames[2] },
		{ 4, 0, frames[3] }, { 5, 0, frames[4] },
	};

	add_program(fixture, &marks);
	(void)snprintf(frames[0], sizeof(frames[0]), "native:lib:%#llx native:app:0x1110", at[0]);
	(void)snprintf(frames[1], sizeof(frames[1]), "kernel:kernel:0x110 native:lib:%#llx", at[0]);
	(void)snprintf(frames[2], sizeof(frames[2]),
		       "native:lib:%#llx native:lib:%#llx native:lib:%#llx", at[1], at[0], at[0]);
	(void)snprintf(frames[3], sizeof(frames[3]), "native:lib:%#llx", at[2]);
	(void)snprintf(frames[4], sizeof(frames[4]), "native:app:0x1410 native:app:0x1110");
	FAKE_SAMPLES(fixture, on_cpu_series, stacks, rows);
}

/*
 * Returns "FILE:LINE self total" for each line, and the sums of the function. The caller frees the
 * text.
 */
static char *lines_of(struct fixture *fixture, const char *function)
{
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(source_lines_freep) struct source_lines *lines = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct bytes out = BYTES_INIT(MIB);
	const struct source_line *sorted;
	struct stack_visitor visitor;
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	assert_ok(source_lines_new(function, arena, &lines));
	assert_ok(store_view_open(fixture->store, &fixture->options, &view));
	visitor = source_lines_visitor(lines);
	assert_int_equal(profile_visit_stacks(view, fixture->resolver, &system_clock,
					      &fixture->request, &visitor, &fixture->stats,
					      fixture->message),
			 1);
	sorted = source_lines_sorted(lines, &count);
	for (size_t i = 0; i < count; i++)
		assert_ok(bytes_append_format(&out, "%s:%u %llu %llu\n", sorted[i].file,
					      sorted[i].line, (unsigned long long)sorted[i].self,
					      (unsigned long long)sorted[i].total));
	assert_ok(bytes_append_format(&out, "%llu %llu",
				      (unsigned long long)source_lines_self(lines),
				      (unsigned long long)source_lines_total(lines)));
	assert_ok(bytes_append_byte(&out, 0));
	return (char *)out.data;
}

static void assert_lines(struct fixture *fixture, const char *function, const char *expected)
{
	scoped_free char *text = lines_of(fixture, function);

	assert_string_equal(text, expected);
}

static void a_stack_counts_once_for_each_line_of_the_function(void **state)
{
	add_samples(*state);
	assert_lines(*state, "serve",
		     "/src/work.c:13 10 70\n/src/work.c:14 40 40\n/src/work.c:15 0 80\n50 150");
}

static void an_inlined_function_has_its_own_lines(void **state)
{
	add_samples(*state);
	assert_lines(*state, "helper", "/src/work.c:3 80 80\n80 80");
}

static void what_labels_add_to_a_name_is_left_out(void **state)
{
	add_samples(*state);
	assert_lines(*state, "[l] helper", "/src/work.c:3 80 80\n80 80");
	assert_lines(*state, "[l] helper (work.c:3)", "/src/work.c:3 80 80\n80 80");
	assert_lines(*state, "helper (work.c:)", "0 0");
	assert_lines(*state, "helper(work.c:3)", "0 0");
	assert_lines(*state, "[l] ", "0 0");
	assert_lines(*state, ")", "0 0");
}

static void a_function_without_source_has_one_line_without_number(void **state)
{
	add_samples(*state);
	assert_lines(*state, "main", ":0 0 170\n0 170");
	assert_lines(*state, "do_syscall_64", ":0 20 20\n20 20");
}

static void a_linkage_name_is_a_name_too(void **state)
{
	add_samples(*state);
	assert_lines(*state, "app::sort", ":0 160 160\n160 160");
	assert_lines(*state, "_ZN3app4sortEi", ":0 160 160\n160 160");
}

int main(void)
{
#define WITH_FLEET(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		WITH_FLEET(a_stack_counts_once_for_each_line_of_the_function),
		WITH_FLEET(an_inlined_function_has_its_own_lines),
		WITH_FLEET(what_labels_add_to_a_name_is_left_out),
		WITH_FLEET(a_function_without_source_has_one_line_without_number),
		WITH_FLEET(a_linkage_name_is_a_name_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
