/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions that the symbols of an ELF file name: .symtab, .dynsym, the .symtab within
 * MiniDebugInfo, and the stubs of the PLT. Names are of the image, or live in @names.
 */

#include "common/arena.h"
#include "symbolizer/symbols/elf/elf_image.h"
#include "symbolizer/symbols/elf/function_candidate.h"

struct image_symbols {
	const struct code_section_vec *code; /* of the executable, by start */
	struct candidate_vec functions;
	struct arena *names;
	uint32_t sources; /* enum symbol_source */
	bool has_text;
	uint64_t text; /* value of _text */
};

/* Executable sections, sorted. -ENOMEM. */
int image_code_sections(const struct elf_image *image, struct code_section_vec *code);

/* .symtab and .dynsym. -EBADMSG, -EFBIG (SYMBOLS_MAX), -ENOMEM. */
int image_symbols_read(struct image_symbols *symbols, struct elf_image *image);

/*
 * mini_debuginfo.c: expands .gnu_debugdata into @xz, which must outlive the names. 1 read, 0 none.
 */
int image_symbols_read_mini(struct image_symbols *symbols, struct elf_image *image,
			    struct bytes *xz);

/* plt_stubs.c: x86-64 and arm64. */
int image_symbols_read_plt(struct image_symbols *symbols, struct elf_image *image);
