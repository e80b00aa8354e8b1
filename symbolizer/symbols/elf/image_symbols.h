/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions named by the symbols of an ELF file: by .symtab, .dynsym, the .symtab within
 * MiniDebugInfo, and the relocations of PLT stubs. Names point into the image, into the expanded
 * MiniDebugInfo, or into the arena @names.
 */

#include "common/arena.h"
#include "symbolizer/symbols/elf/elf_image.h"
#include "symbolizer/symbols/elf/function_candidate.h"

struct image_symbols {
	const struct code_section_vec *code; /* of the executable, sorted by start */
	struct candidate_vec functions;
	struct arena *names;
	uint32_t sources; /* enum symbol_source */
	bool has_text;
	uint64_t text; /* value of _text */
};

/* Appends the sections that hold code, sorted by start. Returns 0 or -ENOMEM. */
int image_code_sections(const struct elf_image *image, struct code_section_vec *code);

/* Appends the functions of .symtab and .dynsym. -EBADMSG, -EFBIG (SYMBOLS_MAX), -ENOMEM. */
int image_symbols_read(struct image_symbols *symbols, struct elf_image *image);

/*
 * mini_debuginfo.c: expands .gnu_debugdata into @xz, which must outlive the names. Returns 1, or 0
 * if there is no such section.
 */
int image_symbols_read_mini(struct image_symbols *symbols, struct elf_image *image,
			    struct bytes *xz);

/* plt_stubs.c: appends PLT stubs of x86-64 and arm64. -EBADMSG, -EFBIG, -ENOMEM. */
int image_symbols_read_plt(struct image_symbols *symbols, struct elf_image *image);
