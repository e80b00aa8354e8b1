/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries and a program that read a variable of the thread (thread_variable.c). */
#include "agent/interpreter/ruby/thread_variable.h"

#include <dlfcn.h>
#include <pthread.h>

#include "tests/support/unit.h"

static int find_in(const char *path, uint64_t *ret_index_addr, uint64_t *ret_offset)
{
	struct elf_symbol function = { .name = "rb_thread_current" };
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped(elf_file_freep) struct elf_file *elf = NULL;

	assert_true(fd >= 0);
	assert_ok(elf_file_open(fd, &elf));
	assert_ok(elf_symbols_find(elf, &function, 1));
	return thread_variable_find(elf, &function, ret_index_addr, ret_offset);
}

static uint64_t word_at(uint64_t address)
{
	uint64_t word;

	memcpy(&word, (const void *)(uintptr_t)address, sizeof(word));
	return word;
}

/* Reads the variable as the unwinder does. */
static void the_variable_of_a_library_is_found(void **state)
{
	static const char *const paths[] = { FIXTURES "/exported.so", FIXTURES "/hidden.so" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		void *library = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
		void *(*address_of)(void) = NULL;
		uint64_t index_addr, offset, vector, index, block;
		Dl_info info;

		assert_non_null(library);
		*(void **)&address_of = dlsym(library, "address_of_variable");
		assert_non_null(address_of);
		assert_int_not_equal(dladdr(*(void **)&address_of, &info), 0);
		assert_int_equal(find_in(paths[i], &index_addr, &offset), 1);
		assert_true(index_addr != 0);
		index = (uint64_t)(uintptr_t)info.dli_fbase + index_addr;
		assert_non_null(address_of()); /* now the thread has the block */
		vector = word_at((uint64_t)pthread_self() + 8);
		block = word_at(vector + word_at(index) * 16);
		assert_ptr_equal((void *)(uintptr_t)(block + word_at(index + 8) + offset),
				 address_of());
		(void)dlclose(library);
	}
}

static void the_variable_of_a_program_is_found(void **state)
{
	uint64_t index_addr = 1, offset = 0;

	(void)state;
	assert_int_equal(find_in(FIXTURES "/program", &index_addr, &offset), 1);
	assert_int_equal(index_addr, 0);
	/* The program has two variables of 8 bytes, below pthread_self(). */
	assert_true(offset == (uint64_t)-8 || offset == (uint64_t)-16);
}

static void other_code_has_no_variable(void **state)
{
	uint64_t index_addr, offset;

	(void)state;
	assert_int_equal(find_in(FIXTURES "/global.so", &index_addr, &offset), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_variable_of_a_library_is_found),
		cmocka_unit_test(the_variable_of_a_program_is_found),
		cmocka_unit_test(other_code_has_no_variable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
