/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The code that a compiler's runtime puts into every program and library without call frame
 * information, x86-64: _init and _fini (crti.o, the sections .init and .fini), and the functions
 * that .init_array and .fini_array begin with (crtbegin.o: frame_dummy, __do_global_dtors_aux, and
 * what they call). It is some 200 bytes, but at a program's start it is the first that is executed
 * of each library, so that the page fault for its page is met there.
 */

#include "agent/unwind/unwind_builder.h"
#include "common/elf/elf_file.h"

/* _init, _fini, crtbegin.o's. */
#define START_CODE_MAX_RANGES 3

/* crtbegin.o's functions have 185 bytes. */
#define START_CODE_MAX_BYTES 512

struct start_code_range {
	uint64_t vaddr, file_offset;
	size_t size;           /* at most START_CODE_MAX_BYTES */
	uint64_t functions[2]; /* where some begin, ELF addresses */
	size_t n_functions;
};

/* Returns how many, up to START_CODE_MAX_RANGES, or -ENODATA. */
int start_code_find(const struct elf_file *elf, struct start_code_range *ranges);

/* Adds rows of what can be followed; of the rest nothing. 0, -ENOMEM, -E2BIG, -ENODATA. */
int start_code_add(const struct elf_file *elf, struct unwind_builder *builder);
