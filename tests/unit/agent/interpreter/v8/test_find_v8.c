/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/v8/find_v8.h"

#include "common/elf/elf_symbol.h"
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

/* Where V8 13 has the table, and what the unwinder gets of that. */
static void the_code_of_functions_is_known_if_the_table_is(void **state)
{
	const struct v8_layout *pointers = v8_layout_of(12 << 8 | 4);
	const struct v8_layout *handles = v8_layout_of(13 << 8 | 6);
	const struct interpreter_facts without_table = {}, with_table = { .dispatch_table = 8 };
	const struct interpreter_facts facts = installed_v8();

	(void)state;
	assert_int_equal(v8_walk_of(pointers, &without_table).function_code, 24);
	assert_int_equal(v8_walk_of(handles, &without_table).function_code, 0);
	assert_int_equal(v8_walk_of(handles, &with_table).function_code, 24);
	assert_int_equal(v8_walk_of(handles, &with_table).dispatch_table, 8);
	if (facts.version < V8_FIRST_WITH_HANDLES)
		assert_int_equal(facts.dispatch_table, 0);
	assert_int_equal(facts.dispatch_table != 0, facts.runtime_addr != 0);
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

/* A number that V8 exports for debuggers, under one of two names. */
static void expect_constant(const struct elf_file *elf, const char *name, const char *other_name,
			    int expected)
{
	struct elf_symbol symbols[] = { { .name = name }, { .name = other_name } };
	int value;

	assert_ok(elf_symbols_find(elf, symbols, ARRAY_SIZE(symbols)));
	assert_true(
		elf_read_data(elf, symbols[symbols[0].vaddr ? 0 : 1].vaddr, &value, sizeof(value)));
	assert_int_equal(value, expected);
}

#define SHARED_INFO "v8dbg_class_SharedFunctionInfo__"

static void the_layout_is_what_v8_exports_for_debuggers(void **state)
{
	const struct interpreter_facts facts = installed_v8();
	const struct v8_layout *layout = v8_layout_of(facts.version);
	scoped_fd int fd = open(NODE, O_RDONLY | O_CLOEXEC);
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	struct interpreter_facts of_program = {};

	(void)state;
	/* The library of Debian's package has the same names; here the program is enough. */
	if (fd < 0 || find_v8_in(NODE, &of_program) != 1)
		skip();
	assert_ok(elf_file_open(fd, &elf));
	expect_constant(elf, "v8dbg_class_JSFunction__shared__SharedFunctionInfo", "",
			layout->function_shared);
	expect_constant(elf, SHARED_INFO "name_or_scope_info__Object",
			SHARED_INFO "name_or_scope_info__Tagged_Object_", layout->shared_name);
	expect_constant(elf, SHARED_INFO "script_or_debug_info__HeapObject",
			SHARED_INFO "script__Tagged_HeapObject_", layout->shared_script);
	expect_constant(elf, "v8dbg_type_Script__SCRIPT_TYPE", "", layout->script_type);
	expect_constant(elf, "v8dbg_off_fp_context", "", -8);
	expect_constant(elf, "v8dbg_off_fp_function", "", -16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(node_has_a_version),
		cmocka_unit_test(the_code_of_functions_is_known_if_the_table_is),
		cmocka_unit_test(other_programs_have_none),
		cmocka_unit_test(unknown_versions_have_no_layout),
		cmocka_unit_test(the_layout_is_what_v8_exports_for_debuggers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
