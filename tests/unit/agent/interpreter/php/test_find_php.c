/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/php/find_php.h"

#include "tests/unit/agent/interpreter/php/php_file.h"

static void php_has_a_version_and_a_loop(void **state)
{
	const struct interpreter_facts facts = installed_php();

	(void)state;
	assert_int_equal(facts.runtime, INTERPRETER_PHP);
	assert_in_range(facts.version, 7 << 8 | 4, 8 << 8 | 4);
	assert_int_not_equal(facts.runtime_addr, 0);
	/* Debian's is built by gcc: the loop has its frame in registers. */
	assert_true(facts.has_loop_registers);
	assert_in_range(facts.loop[0].end - facts.loop[0].start, 4 * KIB, MIB);
}

static void other_programs_have_none(void **state)
{
	struct interpreter_facts facts = {};

	(void)state;
	assert_int_equal(find_php_in("/bin/true", &facts), 0);
	assert_int_equal(find_php_in("/proc/self/exe", &facts), 0);
	assert_int_equal(facts.runtime, INTERPRETER_NONE);
}

static void versions_and_kinds_are_told_apart(void **state)
{
	static const struct {
		const char *file;
		uint32_t version;
		bool has_registers, has_layout;
	} cases[] = {
		{ LIBRARIES "/php8.4", 8 << 8 | 4, true, true },
		{ LIBRARIES "/php8.4-call", 8 << 8 | 4, false, true },
		{ LIBRARIES "/php8.3-zts", PHP_VERSION_ZTS | 8 << 8 | 3, true, false },
		{ LIBRARIES "/php9.1", 9 << 8 | 1, true, false },
		{ LIBRARIES "/php-unknown", 0, true, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct interpreter_facts facts = {};

		assert_int_equal(find_php_in(cases[i].file, &facts), 1);
		assert_int_equal(facts.version, cases[i].version);
		assert_int_equal(facts.has_loop_registers, cases[i].has_registers);
		assert_int_equal(php_layout_of(facts.version) != NULL, cases[i].has_layout);
		assert_true(facts.loop[0].end > facts.loop[0].start);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(php_has_a_version_and_a_loop),
		cmocka_unit_test(other_programs_have_none),
		cmocka_unit_test(versions_and_kinds_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
