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
		{ .name = "_cmocka_run_group_tests", .vaddr = 1, .size = 1 },
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

/* The C library that this test has mapped. */
static void open_libc(int *ret_fd)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];

	*ret_fd = -1;
	assert_non_null(maps);
	while (*ret_fd < 0 && fgets(line, sizeof(line), maps)) {
		char *path = strchr(line, '/');

		if (!path || (!strstr(path, "/libc.so") && !strstr(path, "/libc-")))
			continue;
		path[strcspn(path, "\n")] = '\0';
		*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	(void)fclose(maps);
	if (*ret_fd < 0)
		skip();
}

static void exported_symbols_are_found_by_their_hash(void **state)
{
	static const char *const exported[] = { "fopen",   "malloc",         "qsort",
						"environ", "pthread_create", "printf" };
	static const char *const others[] = { "fope", "fopen2", "_PyRuntime",
					      "",     "main",   "no_such_function" };
	scoped_fd int fd = -1;
	scoped(elf_file_freep) struct elf_file *elf = NULL;

	(void)state;
	open_libc(&fd);
	assert_ok(elf_file_open(fd, &elf));
	for (size_t i = 0; i < ARRAY_SIZE(exported); i++)
		assert_int_equal(elf_symbol_is_exported(elf, exported[i]), 1);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(elf_symbol_is_exported(elf, others[i]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defined_symbols_are_found),
		cmocka_unit_test(exported_symbols_are_found_by_their_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
