/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only sections that the symbolizer can read count. Otherwise a file that names no functions would
 * be stored, and the server would stop requesting a better one. Embedded tables rank below symbols:
 * stripped executables have them, and a file that was uploaded for its symbols has more.
 */

#include "common/elf/richness.h"

#include <elf.h>
#include <string.h>

static const char *const names[] = {
	[DEBUGINFO_NOTHING] = "nothing", [DEBUGINFO_EMBEDDED] = "embedded",
	[DEBUGINFO_SYMBOLS] = "symbols", [DEBUGINFO_LINES] = "lines",
	[DEBUGINFO_DWARF] = "dwarf",
};

bool elf_section_has_contents(const struct elf_section *section)
{
	return section && section->type != SHT_NOBITS && section->type != SHT_NULL &&
	       section->size > 0;
}

static bool has_contents(const struct elf_file *elf, const char *name)
{
	return elf_section_has_contents(elf_file_section(elf, name));
}

/*
 * Go's linker uses the second name if the table has relocations. .eh_frame has no names, but the
 * boundaries of functions.
 */
static bool has_embedded_tables(const struct elf_file *elf)
{
	return has_contents(elf, ".gopclntab") || has_contents(elf, ".data.rel.ro.gopclntab") ||
	       has_contents(elf, ".gnu_debugdata") || has_contents(elf, ".eh_frame");
}

static bool has_split_dwarf(const struct elf_file *elf)
{
	return has_contents(elf, ".debug_info.dwo") || has_contents(elf, ".zdebug_info.dwo");
}

/* The first entry of a symbol table is always empty, so one entry means no symbols. */
static bool has_symbols(const struct elf_file *elf)
{
	static const char *const tables[] = { ".symtab", ".dynsym" };

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		const struct elf_section *table = elf_file_section(elf, tables[i]);

		if (elf_section_has_contents(table) && table->size > sizeof(Elf64_Sym))
			return true;
	}
	return false;
}

enum debuginfo_richness elf_file_richness(const struct elf_file *elf)
{
	if (has_contents(elf, ".debug_info") || has_contents(elf, ".zdebug_info") ||
	    elf_file_is_split_dwarf(elf))
		return DEBUGINFO_DWARF;
	if (has_contents(elf, ".debug_line") || has_contents(elf, ".zdebug_line"))
		return DEBUGINFO_LINES;
	if (has_symbols(elf))
		return DEBUGINFO_SYMBOLS;
	return has_embedded_tables(elf) ? DEBUGINFO_EMBEDDED : DEBUGINFO_NOTHING;
}

bool elf_file_is_split_dwarf(const struct elf_file *elf)
{
	return has_split_dwarf(elf) && !has_contents(elf, ".debug_info") && !elf_file_has_code(elf);
}

bool elf_file_has_code(const struct elf_file *elf)
{
	for (size_t i = 0; i < elf->n_sections; i++) {
		const struct elf_section *section = &elf->sections[i];

		if ((section->flags & SHF_ALLOC) && (section->flags & SHF_EXECINSTR) &&
		    elf_section_has_contents(section))
			return true;
	}
	return false;
}

const char *debuginfo_richness_name(enum debuginfo_richness richness)
{
	return (size_t)richness < ARRAY_SIZE(names) ? names[richness] : "unknown";
}

bool debuginfo_richness_from_name(const char *name, enum debuginfo_richness *ret_richness)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i], name) == 0) {
			*ret_richness = (enum debuginfo_richness)i;
			return true;
		}
	}
	return false;
}
