/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/agent/interpreter/lua/lua_file.h"

static void installed_versions_have_a_loop(void **state)
{
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lua_programs); i++) {
		struct interpreter_facts facts = {};

		if (access(lua_programs[i].path, F_OK) < 0)
			continue;
		assert_int_equal(find_lua_in(lua_programs[i].path, &facts), 1);
		assert_int_equal(facts.runtime, INTERPRETER_LUA);
		assert_int_equal(facts.version & 0xffff, lua_programs[i].version);
		assert_non_null(lua_layout_of(facts.version));
		assert_in_range(facts.loop[0].end - facts.loop[0].start, 3072, 65536);
		n++;
	}
	if (n == 0)
		skip();
}

#if defined(PROGRAMS)
static const char *const made[] = MADE_VERSIONS;

/* The symbol says where the loop is; the stripped program has none. */
static void the_loop_is_found_without_symbols(void **state)
{
	char path[4096];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
		struct interpreter_facts facts = {}, stripped = {};

		(void)snprintf(path, sizeof(path), "%s/lua%s", PROGRAMS, made[i]);
		assert_int_equal(find_lua_in(path, &facts), 1);
		(void)snprintf(path, sizeof(path), "%s/lua%s-stripped", PROGRAMS, made[i]);
		assert_int_equal(find_lua_in(path, &stripped), 1);
		assert_int_equal(stripped.version, facts.version);
		assert_int_equal(stripped.loop[0].start, facts.loop[0].start);
		/* Up to the next function, which is aligned. */
		assert_in_range(stripped.loop[0].end - facts.loop[0].end, 0, 15);
		assert_int_equal(stripped.loop[1].start, facts.loop[1].start);
	}
}

/* The agent logs them. */
static void other_versions_have_no_loop(void **state)
{
	struct interpreter_facts facts = {};

	(void)state;
	assert_int_equal(find_lua_in(PROGRAMS "/lua9.9", &facts), 1);
	assert_int_equal(facts.version, 9U << 8 | 9);
	assert_int_equal(facts.loop[0].end, 0);
	facts = (struct interpreter_facts){};
	assert_int_equal(find_lua_in(PROGRAMS "/lua-none", &facts), 0);
	assert_int_equal(facts.runtime, INTERPRETER_NONE);
}
#endif

static void other_programs_have_none(void **state)
{
	struct interpreter_facts facts = {};

	(void)state;
	assert_int_equal(find_lua_in("/bin/true", &facts), 0);
	assert_int_equal(facts.runtime, INTERPRETER_NONE);
}

static void a_layout_is_that_of_later_releases(void **state)
{
	(void)state;
	assert_null(lua_layout_of(0));
	assert_null(lua_layout_of(0x0505));
	assert_null(lua_layout_of(2U << LUA_RELEASE_SHIFT | 0x0504));
	assert_null(lua_layout_of(1U << LUA_RELEASE_SHIFT | 0x0502));
	assert_non_null(lua_layout_of(0x0501));
	assert_non_null(lua_layout_of(3U << LUA_RELEASE_SHIFT | 0x0504));
	assert_ptr_equal(lua_layout_of(8U << LUA_RELEASE_SHIFT | 0x0504),
			 lua_layout_of(3U << LUA_RELEASE_SHIFT | 0x0504));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(installed_versions_have_a_loop),
#if defined(PROGRAMS)
		cmocka_unit_test(the_loop_is_found_without_symbols),
		cmocka_unit_test(other_versions_have_no_loop),
#endif
		cmocka_unit_test(other_programs_have_none),
		cmocka_unit_test(a_layout_is_that_of_later_releases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
