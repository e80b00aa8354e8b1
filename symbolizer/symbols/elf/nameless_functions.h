/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where functions begin and end that may have no symbol: the FDEs of .eh_frame, which the unwinder
 * of C++ needs in the running program, so that strip keeps them. With them frames of a stripped
 * file are told apart by the function's beginning.
 *
 * Not used: .debug_frame, which is stripped when symbols are; object files, whose FDEs have no
 * addresses yet; 32-bit files.
 */

#include "symbolizer/symbols/elf/elf_image.h"
#include "symbolizer/symbols/elf/function_candidate.h"

/* ELF addresses; start < end. */
struct nameless_function {
	uint64_t start;
	uint64_t end;
};

VEC_DEFINE(nameless_vec, struct nameless_function);

/*
 * Appends the ranges of @image's FDEs that lie in one section of @code, rising and without overlap:
 * a range ends where the next one begins. FDEs that make no sense are left out. -ENOMEM, -EFBIG
 * (SYMBOLS_MAX).
 */
int nameless_functions_read(struct elf_image *image, const struct code_section_vec *code,
			    struct nameless_vec *functions);
