/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/v8/find_v8.h"

#include "tests/unit/agent/interpreter/v8/node_file.h"

static void node_has_a_version(void **state)
{
	const struct interpreter_facts facts = installed_v8();

	(void)state;
	assert_int_equal(facts.runtime, INTERPRETER_V8);
	assert_non_null(v8_layout_of(facts.version));
	/* If the file has its symbols, the first range is one of the built-in functions. */
	assert_true(facts.loop[0].end - facts.loop[0].start < 4 * KIB);
	if (facts.loop[0].start != 0) {
		assert_in_range(facts.loop[1].end - facts.loop[1].start, 512 * KIB, 8 * MIB);
		assert_in_range(facts.loop[0].start, facts.loop[1].start, facts.loop[1].end);
	}
}

static void other_programs_have_none(void **state)
{
	struct interpreter_facts facts = {};

	(void)state;
	assert_int_equal(find_v8_in("/bin/true", &facts), 0);
	assert_int_equal(find_v8_in("/proc/self/exe", &facts), 0);
	assert_int_equal(facts.runtime, INTERPRETER_NONE);
}

static void unknown_versions_have_no_layout(void **state)
{
	(void)state;
	assert_null(v8_layout_of(0));
	assert_null(v8_layout_of(9 << 8 | 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(node_has_a_version),
		cmocka_unit_test(other_programs_have_none),
		cmocka_unit_test(unknown_versions_have_no_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
