/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/python/loop_parts.h"

#include "common/elf/elf_symbol.h"
#include "tests/support/unit.h"

static int find_parts(const char *path, struct abi_code_range *ret_second, uint64_t *ret_cold)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	struct elf_symbol symbols[] = { { .name = "split" }, { .name = "split.cold" } };
	struct abi_code_range first;

	assert_true(fd >= 0);
	assert_ok(elf_file_open(fd, &elf));
	assert_ok(elf_symbols_find(elf, symbols, ARRAY_SIZE(symbols)));
	first = (struct abi_code_range){ symbols[0].vaddr, symbols[0].vaddr + symbols[0].size };
	*ret_cold = symbols[1].vaddr;
	return loop_parts_find(elf, &first, ret_second);
}

static void the_second_part_is_found_by_jumps(void **state)
{
	struct abi_code_range second = {};
	uint64_t cold;
	int r;

	(void)state;
	r = find_parts(FIXTURES "/in_two_parts", &second, &cold);
	/* clang does not split functions. */
	if (cold == 0)
		skip();
	assert_int_equal(r, 1);
	assert_int_equal(second.start, cold);
	assert_true(second.end > second.start);
}

static void a_function_in_one_part_has_no_second_one(void **state)
{
	struct abi_code_range second = {};
	uint64_t cold;

	(void)state;
	assert_int_equal(find_parts(FIXTURES "/in_one_part", &second, &cold), 0);
	assert_int_equal(second.end, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_second_part_is_found_by_jumps),
		cmocka_unit_test(a_function_in_one_part_has_no_second_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
