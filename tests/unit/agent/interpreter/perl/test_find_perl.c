/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/agent/interpreter/perl/perl_file.h"

static bool is_piece(const struct abi_code_piece *piece)
{
	return piece->start != 0 && piece->bytes >= 8 && piece->bytes < 4096;
}

/* HEARTH_PERL: the program, or the library, of another version. */
static void perl_has_a_loop_and_functions_that_call_it(void **state)
{
	const char *path = getenv("HEARTH_PERL");
	struct interpreter_facts facts = {};

	(void)state;
	if (!path && access(PERL, F_OK) < 0)
		skip();
	assert_int_equal(find_perl_in(path ? path : PERL, &facts), 1);
	assert_int_equal(facts.runtime, INTERPRETER_PERL);
	assert_non_null(perl_layout_of(facts.version));
	assert_in_range(facts.loop[0].end - facts.loop[0].start, 32, 512);
	assert_true(is_piece(&facts.perl.main_run));
	assert_true(is_piece(&facts.perl.again_run));
	assert_int_not_equal(facts.perl.main_run.start, facts.perl.again_run.start);
	assert_int_equal(facts.version & PERL_VERSION_NO_THREADS,
			 facts.perl.threads_key ? 0 : PERL_VERSION_NO_THREADS);
}

#if defined(LIBRARIES)
static void functions_that_are_not_exported_are_found(void **state)
{
	struct interpreter_facts facts = {};

	(void)state;
	assert_int_equal(find_perl_in(LIBRARIES "/perl5.36", &facts), 1);
	assert_int_equal(facts.version, 5 << 8 | 36);
	assert_true(facts.perl.threads_key != 0 && facts.runtime_addr != 0);
	assert_true(is_piece(&facts.perl.main_run));
	assert_true(is_piece(&facts.perl.again_run));
	assert_int_not_equal(facts.perl.main_run.start, facts.perl.again_run.start);
}

static void a_build_without_threads_has_addresses_of_variables(void **state)
{
	struct interpreter_facts facts = {};

	(void)state;
	assert_int_equal(find_perl_in(LIBRARIES "/perl5.36-global", &facts), 1);
	assert_int_equal(facts.version, PERL_VERSION_NO_THREADS | 5 << 8 | 36);
	assert_int_equal(facts.perl.threads_key, 0);
	assert_true(facts.perl.statement != 0 && facts.perl.stack != 0 &&
		    facts.perl.instruction != 0);
	assert_true(is_piece(&facts.perl.main_run));
	assert_true(is_piece(&facts.perl.again_run));
}

/* The agent logs them. */
static void other_versions_have_no_loop(void **state)
{
	struct interpreter_facts facts = {};

	(void)state;
	assert_int_equal(find_perl_in(LIBRARIES "/perl5.90", &facts), 1);
	assert_int_equal(facts.runtime, INTERPRETER_PERL);
	assert_int_equal(facts.version, 5 << 8 | 90);
	assert_int_equal(facts.loop[0].end, 0);
}
#endif

static void other_programs_have_none(void **state)
{
	struct interpreter_facts facts = {};

	(void)state;
	assert_int_equal(find_perl_in("/bin/true", &facts), 0);
	assert_int_equal(find_perl_in("/proc/self/exe", &facts), 0);
	assert_int_equal(facts.runtime, INTERPRETER_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(perl_has_a_loop_and_functions_that_call_it),
#if defined(LIBRARIES)
		cmocka_unit_test(functions_that_are_not_exported_are_found),
		cmocka_unit_test(a_build_without_threads_has_addresses_of_variables),
		cmocka_unit_test(other_versions_have_no_loop),
#endif
		cmocka_unit_test(other_programs_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
