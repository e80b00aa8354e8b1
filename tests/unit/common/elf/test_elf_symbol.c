/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elf/elf_symbol.h"

#include "tests/support/unit.h"

/* Exported, so that it is in .dynsym or .symtab, whichever the program has. */
int a_function_of_the_test(int n);
int main(void);

__attribute__((noinline)) int a_function_of_the_test(int n)
{
	return n + 1;
}

static void find_in_file(const char *path, struct elf_symbol *symbols, size_t n_symbols)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped(elf_file_freep) struct elf_file *elf = NULL;

	assert_true(fd >= 0);
	assert_ok(elf_file_open(fd, &elf));
	assert_ok(elf_symbols_find(elf, symbols, n_symbols));
}

static void defined_symbols_are_found(void **state)
{
	struct elf_symbol symbols[] = {
		{ .name = "a_function_of_the_test" },
		{ .name = "main" },
		{ .name = "a_function_of_the" },
		{ .name = "no_such_function" },
		{ .name = "fopen", .vaddr = 1, .size = 1 },
	};

	(void)state;
	find_in_file("/proc/self/exe", symbols, ARRAY_SIZE(symbols));
	assert_true(symbols[0].vaddr != 0 && symbols[0].size != 0);
	assert_true(symbols[1].vaddr != 0);
	assert_true((int64_t)(symbols[1].vaddr - symbols[0].vaddr) ==
		    (int64_t)((uintptr_t)main - (uintptr_t)a_function_of_the_test));
	/* Part of a name, no symbol, and one that is not defined here. */
	for (size_t i = 2; i < ARRAY_SIZE(symbols); i++) {
		assert_int_equal(symbols[i].vaddr, 0);
		assert_int_equal(symbols[i].size, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defined_symbols_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
