/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elf/elf_code.h"

#include <elf.h>

#include "tests/support/unit.h"

static struct elf_section sections[] = {
	{ .name = "", .type = SHT_NULL },
	{ .name = ".rodata",
	  .type = SHT_PROGBITS,
	  .flags = SHF_ALLOC,
	  .vaddr = 0x800,
	  .size = 0x800 },
	{ .name = ".text",
	  .type = SHT_PROGBITS,
	  .flags = SHF_ALLOC | SHF_EXECINSTR,
	  .vaddr = 0x1000,
	  .file_offset = 0x400,
	  .size = 0x100 },
	{ .name = ".text.unlikely",
	  .type = SHT_PROGBITS,
	  .flags = SHF_ALLOC | SHF_EXECINSTR,
	  .vaddr = 0x2000,
	  .file_offset = 0x600,
	  .size = 0x10 },
	{ .name = ".plt",
	  .type = SHT_NOBITS,
	  .flags = SHF_ALLOC | SHF_EXECINSTR,
	  .vaddr = 0x3000,
	  .file_offset = 0x700,
	  .size = 0x10 },
};

static struct load_segment segments[] = {
	{ .vaddr = 0x800, .file_size = 0x800, .flags = PF_R },
	{ .file_offset = 0x400,
	  .vaddr = 0x1000,
	  .file_size = 0x100,
	  .memory_size = 0x200,
	  .flags = PF_R | PF_X },
};

static struct elf_file file_with(size_t n_sections)
{
	return (struct elf_file){ .type = ET_DYN,
				  .sections = sections,
				  .n_sections = n_sections,
				  .load_segments = segments,
				  .n_load_segments = ARRAY_SIZE(segments) };
}

static void assert_code(const struct elf_file *elf, uint64_t elf_addr, uint64_t offset,
			uint64_t size)
{
	struct elf_code code = {};

	assert_int_equal(elf_code_find(elf, elf_addr, &code), size > 0);
	assert_int_equal(code.file_offset, offset);
	assert_int_equal(code.size, size);
}

static void code_is_found_in_executable_sections_with_contents(void **state)
{
	const struct elf_file elf = file_with(ARRAY_SIZE(sections));

	(void)state;
	assert_code(&elf, 0x1000, 0x400, 0x100);
	assert_code(&elf, 0x10ff, 0x4ff, 1);
	assert_code(&elf, 0x2004, 0x604, 12);
	assert_code(&elf, 0xfff, 0, 0);
	assert_code(&elf, 0x1100, 0, 0);
	assert_code(&elf, 0x3000, 0, 0);
	assert_code(&elf, UINT64_MAX, 0, 0);
}

static void without_section_headers_the_segments_are_used(void **state)
{
	const struct elf_file elf = file_with(0);

	(void)state;
	assert_code(&elf, 0x1010, 0x410, 0xf0);
	assert_code(&elf, 0x900, 0, 0);
	assert_code(&elf, 0x1100, 0, 0);
}

static void addresses_of_object_files_are_relative_to_text(void **state)
{
	struct elf_section of_module[] = {
		{ .name = ".init.text",
		  .type = SHT_PROGBITS,
		  .flags = SHF_ALLOC | SHF_EXECINSTR,
		  .file_offset = 0x900,
		  .size = 0x100 },
		{ .name = ".text",
		  .type = SHT_PROGBITS,
		  .flags = SHF_ALLOC | SHF_EXECINSTR,
		  .file_offset = 0x40,
		  .size = 0x100 },
	};
	const struct elf_file elf = { .type = ET_REL,
				      .sections = of_module,
				      .n_sections = ARRAY_SIZE(of_module) };

	(void)state;
	assert_code(&elf, 0x20, 0x60, 0xe0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_found_in_executable_sections_with_contents),
		cmocka_unit_test(without_section_headers_the_segments_are_used),
		cmocka_unit_test(addresses_of_object_files_are_relative_to_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
