/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions of one ELF file by libelf and libdw.
 */

#include <elfutils/libdw.h>
#include <gelf.h>

#include "symbolizer/symbols/function_candidate.h"
#include "symbolizer/symbols/symbol_table.h"

struct function_source {
	Elf *elf;
	Dwarf *dwarf;     /* once function_source_read_dwarf() opened it */
	bool relocatable; /* a kernel module's object file: addresses are offsets in .text */
	struct code_section_vec code; /* executable sections by start */
	uint64_t debug_info_bytes;    /* of .debug_info, expanded; 0 none */
	int dwarf_error; /* why DWARF must not be opened (the message tells more), or 0 */
	struct candidate_vec functions;
	bool has_text;
	uint64_t text; /* value of _text */
	char *message; /* [SYMBOL_TABLE_MESSAGE_SIZE] */
};

/* Opens the file behind @fd; release also after an error. -ENOEXEC, -ENOMEM. */
int function_source_open(struct function_source *source, int fd, char *message);
void function_source_release(struct function_source *source);

/*
 * Sections within the file, what debug sections expand to, and which are code. -EBADMSG, -ENOMEM.
 * Debug sections beyond a limit are no error: they set dwarf_error.
 */
int function_source_check(struct function_source *source, uint64_t file_size);

/* The candidates of .symtab and .dynsym. */
int function_source_read_symbols(struct function_source *source);

/* The candidates of DWARF. */
int function_source_read_dwarf(struct function_source *source);
