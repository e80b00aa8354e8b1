/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Address ranges of functions that may have no symbol, from the FDEs of .eh_frame. strip keeps
 * .eh_frame, because C++ needs it at run time to unwind. With these ranges, a frame of a stripped
 * file is labelled with the start of its function.
 *
 * Not read: .debug_frame, which strip removes together with the symbols; object files, whose FDEs
 * have no addresses before they are linked; 32-bit files.
 */

#include "symbolizer/symbols/elf/elf_image.h"
#include "symbolizer/symbols/elf/function_candidate.h"

/* [start, end) in ELF addresses; start < end. */
struct nameless_function {
	uint64_t start;
	uint64_t end;
};

VEC_DEFINE(nameless_vec, struct nameless_function);

/*
 * Appends the ranges of all FDEs that lie within one section of @code, sorted. Where ranges
 * overlap, the earlier one ends at the start of the next. Damaged FDEs are left out. -ENOMEM,
 * -EFBIG (SYMBOLS_MAX).
 */
int nameless_functions_read(struct elf_image *image, const struct code_section_vec *code,
			    struct nameless_vec *functions);
