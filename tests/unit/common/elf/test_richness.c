/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elf/richness.h"

#include <elf.h>

#include "tests/support/unit.h"

static void richness_is_that_of_the_best_section_with_contents(void **state)
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
		{ ".gopclntab", SHT_PROGBITS, SHF_ALLOC, 1, DEBUGINFO_EMBEDDED, false },
		{ ".data.rel.ro.gopclntab", SHT_PROGBITS, SHF_ALLOC, 1, DEBUGINFO_EMBEDDED, false },
		{ ".gopclntab", SHT_NOBITS, SHF_ALLOC, 1, DEBUGINFO_NOTHING, false },
		{ ".gnu_debugdata", SHT_PROGBITS, 0, 1, DEBUGINFO_EMBEDDED, false },
		{ ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 1, DEBUGINFO_EMBEDDED, false },
		{ ".eh_frame", SHT_NOBITS, SHF_ALLOC, 1, DEBUGINFO_NOTHING, false },
		{ ".symtab", SHT_SYMTAB, 0, 2 * sizeof(Elf64_Sym), DEBUGINFO_SYMBOLS, false },
		{ ".symtab", SHT_SYMTAB, 0, sizeof(Elf64_Sym), DEBUGINFO_NOTHING, false },
		{ ".dynsym", SHT_DYNSYM, SHF_ALLOC, 480, DEBUGINFO_SYMBOLS, false },
		{ ".dynsym", SHT_NOBITS, SHF_ALLOC, 480, DEBUGINFO_NOTHING, false },
		{ ".debug_line", SHT_PROGBITS, 0, 1, DEBUGINFO_LINES, false },
		{ ".zdebug_line", SHT_PROGBITS, 0, 1, DEBUGINFO_LINES, false },
		{ ".debug_info", SHT_PROGBITS, SHF_COMPRESSED, 1, DEBUGINFO_DWARF, false },
		{ ".zdebug_info", SHT_PROGBITS, 0, 1, DEBUGINFO_DWARF, false },
		{ ".debug_info", SHT_NOBITS, 0, 1, DEBUGINFO_NOTHING, false },
		{ ".debug_info.dwo", SHT_PROGBITS, SHF_EXCLUDE, 1, DEBUGINFO_DWARF, false },
		{ ".zdebug_info.dwo", SHT_PROGBITS, SHF_EXCLUDE, 1, DEBUGINFO_DWARF, false },
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

static void split_dwarf_is_distinguished_from_a_program_with_dwo_sections(void **state)
{
	struct elf_section sections[] = {
		{ .name = "" },
		{ .name = ".debug_info.dwo", .type = SHT_PROGBITS, .size = 1 },
		{ .name = ".text",
		  .type = SHT_PROGBITS,
		  .flags = SHF_ALLOC | SHF_EXECINSTR,
		  .size = 1 },
	};
	struct elf_file elf = { .sections = sections, .n_sections = 2 };

	(void)state;
	assert_true(elf_file_is_split_dwarf(&elf));
	elf.n_sections = 3;
	assert_false(elf_file_is_split_dwarf(&elf));
	assert_int_equal(elf_file_richness(&elf), DEBUGINFO_NOTHING);
	sections[2] =
		(struct elf_section){ .name = ".debug_info", .type = SHT_PROGBITS, .size = 1 };
	assert_false(elf_file_is_split_dwarf(&elf));
}

static void embedded_tables_rank_below_symbols(void **state)
{
	struct elf_section sections[] = {
		{ .name = "" },
		{ .name = ".gopclntab", .type = SHT_PROGBITS, .flags = SHF_ALLOC, .size = 1 },
		{ .name = ".dynsym", .type = SHT_DYNSYM, .size = 2 * sizeof(Elf64_Sym) },
	};
	struct elf_file elf = { .sections = sections, .n_sections = 2 };

	(void)state;
	assert_int_equal(elf_file_richness(&elf), DEBUGINFO_EMBEDDED);
	elf.n_sections = 3;
	assert_int_equal(elf_file_richness(&elf), DEBUGINFO_SYMBOLS);
	assert_true(DEBUGINFO_NOTHING < DEBUGINFO_EMBEDDED &&
		    DEBUGINFO_EMBEDDED < DEBUGINFO_SYMBOLS);
}

static void names_are_converted_back_to_richness(void **state)
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
		cmocka_unit_test(richness_is_that_of_the_best_section_with_contents),
		cmocka_unit_test(split_dwarf_is_distinguished_from_a_program_with_dwo_sections),
		cmocka_unit_test(embedded_tables_rank_below_symbols),
		cmocka_unit_test(names_are_converted_back_to_richness),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
