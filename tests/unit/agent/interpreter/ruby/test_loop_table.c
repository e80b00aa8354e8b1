/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that have only exported symbols, with functions that jump by tables (labels.c). */
#include "agent/interpreter/ruby/loop_table.h"

#include "common/elf/elf_symbol.h"
#include "tests/support/unit.h"

static int find_in(const char *path, struct abi_code_range *ret_loop,
		   struct elf_symbol *ret_function)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped(elf_file_freep) struct elf_file *elf = NULL;

	assert_true(fd >= 0);
	assert_ok(elf_file_open(fd, &elf));
	assert_ok(elf_symbols_find(elf, ret_function, 1));
	return loop_table_find(elf, ret_loop);
}

static void the_function_with_most_labels_is_the_loop(void **state)
{
	struct elf_symbol function = { .name = "loop" };
	struct abi_code_range loop;

	(void)state;
	assert_int_equal(find_in(FIXTURES "/labels.so", &loop, &function), 1);
	assert_int_equal(loop.start, function.vaddr);
	assert_true(loop.end >= function.vaddr + function.size);
	assert_true(loop.end < function.vaddr + function.size + 64);
}

static void small_tables_are_no_loop(void **state)
{
	struct elf_symbol function = { .name = "loop" };
	struct abi_code_range loop;

	(void)state;
	assert_int_equal(find_in(FIXTURES "/few_labels.so", &loop, &function), 0);
	/* Nor are tables of functions: this program has no other ones. */
	assert_int_equal(find_in("/proc/self/exe", &loop, &function), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_function_with_most_labels_is_the_loop),
		cmocka_unit_test(small_tables_are_no_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
