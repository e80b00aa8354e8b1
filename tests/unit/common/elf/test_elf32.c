/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elf/elf32.h"

#include "tests/support/unit.h"

/*
 * Each field has a different value. test_elf_file compares real files with libelf.
 */

static void a_header_keeps_every_field(void **state)
{
	const Elf32_Ehdr narrow = { "\177ELF\1\1\1", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 };
	const Elf64_Ehdr expected = { "\177ELF\1\1\1", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 };
	Elf64_Ehdr wide = elf32_header(&narrow);

	(void)state;
	assert_memory_equal(&wide, &expected, sizeof(wide));
}

static void a_program_header_keeps_every_field(void **state)
{
	const Elf32_Phdr narrow = { PT_LOAD, 0xfffff000, 0x8048000, 3, 0xffffffff, 5, PF_X, 7 };
	const Elf64_Phdr expected = { .p_type = PT_LOAD,
				      .p_offset = 0xfffff000,
				      .p_vaddr = 0x8048000,
				      .p_paddr = 3,
				      .p_filesz = 0xffffffff,
				      .p_memsz = 5,
				      .p_flags = PF_X,
				      .p_align = 7 };
	Elf64_Phdr wide = elf32_program_header(&narrow);

	(void)state;
	assert_memory_equal(&wide, &expected, sizeof(wide));
}

static void a_section_header_keeps_every_field(void **state)
{
	const Elf32_Shdr narrow = { 1, SHT_NOTE, 3, 0xffffffff, 5, 6, 7, 8, 9, 10 };
	const Elf64_Shdr expected = { 1, SHT_NOTE, 3, 0xffffffff, 5, 6, 7, 8, 9, 10 };
	Elf64_Shdr wide = elf32_section_header(&narrow);

	(void)state;
	assert_memory_equal(&wide, &expected, sizeof(wide));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_keeps_every_field),
		cmocka_unit_test(a_program_header_keeps_every_field),
		cmocka_unit_test(a_section_header_keeps_every_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
