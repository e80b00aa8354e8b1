/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/executable.h"

#include <elf.h>
#include <link.h>

#include "tests/support/unit.h"

static void a_mapping_of_a_segment_gives_its_bias(void **state)
{
	/*
	 * As linkers arrange segments: the first page of the second segment is also the last page
	 * of the first one.
	 */
	static struct load_segment segments[] = {
		{ .file_offset = 0, .vaddr = 0x400000, .file_size = 0x1234, .flags = PF_R },
		{ .file_offset = 0x1234,
		  .vaddr = 0x402234,
		  .file_size = 0x5000,
		  .flags = PF_R | PF_X },
		{ .file_offset = 0x6234,
		  .vaddr = 0x409234,
		  .file_size = 0x800,
		  .flags = PF_R | PF_W },
	};
	static const struct executable executable = { .segments = segments,
						      .n_segments = ARRAY_SIZE(segments) };
	static const struct {
		uint64_t start, file_offset;
		int found;
		uint64_t bias;
	} cases[] = {
		{ 0x400000, 0, 1, 0 },
		{ 0x7f0000002000, 0x1000, 1, 0x7f0000002000 - 0x402000 },
		/* The rest of the code after mprotect() has split the mapping. */
		{ 0x7f0000004000, 0x3000, 1, 0x7f0000004000 - 0x404000 },
		{ 0x7f0000009000, 0x6000, 1, 0x7f0000009000 - 0x407000 },
		{ 0x7f0000000000, 0x7000, 0, 0 },
		{ 0x7f0000000000, 0xfffffffffffff000, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t bias = 0;

		assert_int_equal(executable_load_bias(&executable, cases[i].start,
						      cases[i].file_offset, &bias),
				 cases[i].found);
		assert_int_equal(bias, cases[i].bias);
	}
}

static int is_own_program(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)size;
	*(uint64_t *)argument = info->dlpi_addr;
	return 1;
}

static void the_bias_of_this_program_is_the_one_that_the_loader_used(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = NULL;
	scoped_file FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t expected = UINT64_MAX;
	char line[4096], path[4096] = "", permissions[8];
	struct executable *executable = NULL;
	struct mapped_file file = { .pid = (uint32_t)getpid(), .path = path };
	uint64_t start, end, offset, bias = 0;
	bool found = false;

	(void)state;
	assert_ok(executable_cache_new(4, &cache));
	(void)dl_iterate_phdr(is_own_program, &expected);
	while (!found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &start, &end, permissions,
			       &offset, path) == 5 &&
			permissions[2] == 'x' && (uintptr_t)is_own_program >= start &&
			(uintptr_t)is_own_program < end;
	assert_true(found);
	file.start = start;
	file.end = end;
	file.file_offset = offset;
	assert_int_equal(executable_cache_identify(cache, &file, &executable), 1);
	assert_int_equal(executable_load_bias(executable, start, offset, &bias), 1);
	assert_int_equal(bias, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mapping_of_a_segment_gives_its_bias),
		cmocka_unit_test(the_bias_of_this_program_is_the_one_that_the_loader_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
