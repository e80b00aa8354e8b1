/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the readers of symbols and DWARF find, before aliases are chosen and ranges cut.
 */

#include <elfutils/libdw.h>
#include <gelf.h>

#include "common/vec.h"
#include "symbolizer/symbols/symbol_table.h"

struct function_candidate {
	uint64_t start;
	uint64_t size;    /* 0: not known */
	uint64_t limit;   /* where it ends at the latest: its section's end */
	const char *name; /* of the open file */
	bool label;       /* not marked as a function */
	bool weak;
	bool dwarf; /* a subprogram; symbols at the same address know its name better */
};

VEC_DEFINE(candidate_vec, struct function_candidate);

struct code_section {
	size_t index; /* of the section */
	uint64_t start;
	uint64_t end;
};

VEC_DEFINE(code_section_vec, struct code_section);

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

/* The executable section around @elf_addr, or NULL. */
const struct code_section *code_section_at(const struct code_section_vec *code, uint64_t elf_addr);

/*
 * Sections within the file, what debug sections expand to, and which are code. -EBADMSG, -ENOMEM.
 * Debug sections beyond a limit are no error: they set dwarf_error.
 */
int function_source_check(struct function_source *source, uint64_t file_size);

/* The candidates of .symtab and .dynsym. */
int function_source_read_symbols(struct function_source *source);

/* The candidates of DWARF. */
int function_source_read_dwarf(struct function_source *source);

/* A range of the finished table. */
struct function_range {
	uint64_t start;
	uint64_t end;
	const char *name;
};

VEC_DEFINE(function_range_vec, struct function_range);

/* Sorts @functions, and appends the ranges that they leave, rising and apart. 0 or -ENOMEM. */
int function_ranges_make(struct candidate_vec *functions, struct function_range_vec *ranges);
