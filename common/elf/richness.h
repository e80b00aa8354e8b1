/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Classifies ELF files by the debuginfo that they contain, from their section headers. The uploader
 * and the store of debuginfo use the same classes.
 */

#include "common/elf/elf_file.h"

/* The numbers are stored in databases. */
enum debuginfo_richness {
	DEBUGINFO_NOTHING = 0,
	/* only .gopclntab (Go's runtime), .gnu_debugdata (MiniDebugInfo) or .eh_frame */
	DEBUGINFO_EMBEDDED = 1,
	DEBUGINFO_SYMBOLS = 2, /* .dynsym or .symtab with entries */
	DEBUGINFO_LINES = 3,   /* .debug_line without .debug_info */
	DEBUGINFO_DWARF = 4,   /* .debug_info or .debug_info.dwo */
};

/* Whether the file contains bytes of the section. False for NULL. */
bool elf_section_has_contents(const struct elf_section *section);

enum debuginfo_richness elf_file_richness(const struct elf_file *elf);

/* Whether the file contains the bytes of an executable section. */
bool elf_file_has_code(const struct elf_file *elf);

/*
 * Whether the file contains split DWARF only: a .dwp, or the .dwo of one unit. Such files have no
 * build-ID and no code.
 */
bool elf_file_is_split_dwarf(const struct elf_file *elf);

/* "nothing", "embedded", "symbols", "lines", "dwarf". */
const char *debuginfo_richness_name(enum debuginfo_richness richness);

/* False: unknown name. */
bool debuginfo_richness_from_name(const char *name, enum debuginfo_richness *ret_richness);
