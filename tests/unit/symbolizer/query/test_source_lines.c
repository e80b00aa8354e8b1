/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#include "symbolizer/query/source_lines.h"
#include "tests/unit/symbolizer/query/marked_program.h"

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
	struct marks marks;

	add_samples(*state, &marks);
	assert_lines(*state, "serve",
		     "/src/work.c:13 10 70\n/src/work.c:14 40 40\n/src/work.c:15 0 80\n50 150");
}

static void an_inlined_function_has_its_own_lines(void **state)
{
	struct marks marks;

	add_samples(*state, &marks);
	assert_lines(*state, "helper", "/src/work.c:3 80 80\n80 80");
}

static void what_labels_add_to_a_name_is_left_out(void **state)
{
	struct marks marks;

	add_samples(*state, &marks);
	assert_lines(*state, "[l] helper", "/src/work.c:3 80 80\n80 80");
	assert_lines(*state, "[l] helper (work.c:3)", "/src/work.c:3 80 80\n80 80");
	assert_lines(*state, "helper (work.c:)", "0 0");
	assert_lines(*state, "helper(work.c:3)", "0 0");
	assert_lines(*state, "[l] ", "0 0");
	assert_lines(*state, ")", "0 0");
}

static void a_function_without_source_has_one_line_without_number(void **state)
{
	struct marks marks;

	add_samples(*state, &marks);
	assert_lines(*state, "main", ":0 0 170\n0 170");
	assert_lines(*state, "do_syscall_64", ":0 20 20\n20 20");
}

static void a_linkage_name_is_a_name_too(void **state)
{
	struct marks marks;

	add_samples(*state, &marks);
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
