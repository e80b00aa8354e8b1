/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/agent/interpreter/ruby/ruby_file.h"

/* HEARTH_LIBRUBY: the library of another version. */
static void the_library_has_a_loop_and_a_variable_of_the_thread(void **state)
{
	const char *path = getenv("HEARTH_LIBRUBY");
	struct interpreter_facts facts = {};
	const struct ruby_layout *layout;

	(void)state;
	assert_int_equal(find_ruby_in(path ? path : RUBY_LIBRARY, &facts), 1);
	assert_int_equal(facts.runtime, INTERPRETER_RUBY);
	layout = ruby_layout_of(facts.version);
	assert_non_null(layout);
	/* vm_exec_core() has 17 to 23 KiB, and a second part. */
	assert_in_range(facts.loop[0].end - facts.loop[0].start, 12 * KIB, 64 * KIB);
	assert_true(facts.runtime_addr != 0);
	assert_int_equal(facts.vm_addr != 0, layout->walk.vm_threads != 0);
	assert_in_range(facts.tls_offset, 0, 64);
}

#if defined(FIXTURES)
/* The agent logs them. */
static void other_versions_have_no_loop(void **state)
{
	struct interpreter_facts facts = {};

	(void)state;
	assert_int_equal(find_ruby_in(FIXTURES "/ruby2.6.so", &facts), 1);
	assert_int_equal(facts.runtime, INTERPRETER_RUBY);
	assert_int_equal(facts.version, 2 << 8 | 6);
	assert_int_equal(facts.loop[0].end, 0);
	/* A known version, but no code that is understood. */
	facts = (struct interpreter_facts){};
	assert_int_equal(find_ruby_in(FIXTURES "/ruby3.1.so", &facts), 0);
	assert_int_equal(facts.runtime, INTERPRETER_NONE);
}
#endif

static void other_programs_have_none(void **state)
{
	struct interpreter_facts facts = {};

	(void)state;
	assert_int_equal(find_ruby_in("/bin/true", &facts), 0);
	assert_int_equal(find_ruby_in("/proc/self/exe", &facts), 0);
	assert_int_equal(find_ruby_in(RUBY, &facts), 0);
	assert_int_equal(facts.runtime, INTERPRETER_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_library_has_a_loop_and_a_variable_of_the_thread),
#if defined(FIXTURES)
		cmocka_unit_test(other_versions_have_no_loop),
#endif
		cmocka_unit_test(other_programs_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
