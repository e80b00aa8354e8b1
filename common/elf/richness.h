/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What an ELF file can tell about its functions, from its section headers alone; the same for who
 * uploads it and for who stores it.
 */

#include "common/elf/elf_file.h"

/* The numbers stand in databases. */
enum debuginfo_richness {
	DEBUGINFO_NOTHING = 0,
	/* .gopclntab (Go's runtime), .gnu_debugdata (MiniDebugInfo), .eh_frame; nothing else */
	DEBUGINFO_EMBEDDED = 1,
	DEBUGINFO_SYMBOLS = 2, /* .dynsym or .symtab with entries */
	DEBUGINFO_LINES = 3,   /* .debug_line without .debug_info */
	DEBUGINFO_DWARF = 4,   /* .debug_info, or what was split off it */
};

/* Whether the file has bytes for the section, not but a header of it. NULL: none. */
bool elf_section_has_contents(const struct elf_section *section);

enum debuginfo_richness elf_file_richness(const struct elf_file *elf);

/* Whether the bytes of the program are in it: of some section that is executed. */
bool elf_file_has_code(const struct elf_file *elf);

/*
 * Whether it holds what the compiler split off the DWARF of a program: a .dwp, or the .dwo of one
 * unit. It has no build-ID and no code.
 */
bool elf_file_is_split_dwarf(const struct elf_file *elf);

/* "nothing", "embedded", "symbols", "lines", "dwarf". */
const char *debuginfo_richness_name(enum debuginfo_richness richness);

/* false when no richness has this name. */
bool debuginfo_richness_from_name(const char *name, enum debuginfo_richness *ret_richness);
