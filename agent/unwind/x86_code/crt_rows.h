/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unwind rows for the code without call frame information that the compiler's runtime adds to every
 * x86-64 program and library: _init and _fini (crti.o, sections .init and .fini), and the functions
 * that .init_array and .fini_array begin with (crtbegin.o: frame_dummy, __do_global_dtors_aux, and
 * the functions that they call). It is 200 bytes a file. At the start of a program it is the first
 * code of each library that runs, so that many stacks of page faults begin there.
 */

#include "agent/unwind/table/unwind_builder.h"
#include "common/elf/elf_file.h"

/* _init, _fini, and the functions of crtbegin.o */
#define CRT_MAX_RANGES 3

/* The functions of crtbegin.o have 185 bytes. */
#define CRT_MAX_BYTES 512

struct crt_range {
	uint64_t vaddr, file_offset;
	size_t size;           /* at most CRT_MAX_BYTES */
	uint64_t functions[2]; /* entries of functions in it, ELF addresses */
	size_t n_functions;
};

/* Returns the number of ranges, at most CRT_MAX_RANGES, or -ENODATA. */
int crt_ranges_find(const struct elf_file *elf, struct crt_range *ranges);

/* Adds rows for the functions that the analysis accepts. 0, -ENOMEM, -E2BIG, -ENODATA. */
int crt_rows_add(const struct elf_file *elf, struct unwind_builder *builder);
