/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elf/richness.h"

#include <elf.h>

#include "tests/support/unit.h"

static void a_file_is_as_rich_as_its_best_section_with_contents(void **state)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t flags;
		uint64_t size;
		enum debuginfo_richness richness;
		bool has_code;
	} cases[] = {
		{ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 1, DEBUGINFO_NOTHING, true },
		{ ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, 1, DEBUGINFO_NOTHING, false },
		{ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, DEBUGINFO_NOTHING, false },
		{ ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 8, DEBUGINFO_NOTHING, false },
		{ ".symtab", SHT_SYMTAB, 0, 2 * sizeof(Elf64_Sym), DEBUGINFO_SYMBOLS, false },
		{ ".symtab", SHT_SYMTAB, 0, sizeof(Elf64_Sym), DEBUGINFO_NOTHING, false },
		{ ".dynsym", SHT_DYNSYM, SHF_ALLOC, 480, DEBUGINFO_SYMBOLS, false },
		{ ".dynsym", SHT_NOBITS, SHF_ALLOC, 480, DEBUGINFO_NOTHING, false },
		{ ".debug_line", SHT_PROGBITS, 0, 1, DEBUGINFO_LINES, false },
		{ ".zdebug_line", SHT_PROGBITS, 0, 1, DEBUGINFO_LINES, false },
		{ ".debug_info", SHT_PROGBITS, SHF_COMPRESSED, 1, DEBUGINFO_DWARF, false },
		{ ".zdebug_info", SHT_PROGBITS, 0, 1, DEBUGINFO_DWARF, false },
		{ ".debug_info", SHT_NOBITS, 0, 1, DEBUGINFO_NOTHING, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct elf_section sections[] = {
			{ .name = "" },
			{ .name = cases[i].name,
			  .type = cases[i].type,
			  .flags = cases[i].flags,
			  .size = cases[i].size },
		};
		const struct elf_file elf = { .sections = sections, .n_sections = 2 };

		assert_int_equal(elf_file_richness(&elf), cases[i].richness);
		assert_int_equal(elf_file_has_code(&elf), cases[i].has_code);
	}
}

static void a_name_leads_back_to_what_has_it(void **state)
{
	enum debuginfo_richness richness = DEBUGINFO_LINES;

	(void)state;
	for (unsigned int i = DEBUGINFO_NOTHING; i <= DEBUGINFO_DWARF; i++) {
		assert_true(debuginfo_richness_from_name(
			debuginfo_richness_name((enum debuginfo_richness)i), &richness));
		assert_int_equal(richness, i);
	}
	assert_false(debuginfo_richness_from_name("everything", &richness));
	assert_int_equal(richness, DEBUGINFO_DWARF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_as_rich_as_its_best_section_with_contents),
		cmocka_unit_test(a_name_leads_back_to_what_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
