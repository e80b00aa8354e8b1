/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unwind rows for x86-64 code without call frame information (CFI), computed from its machine code.
 * This is the only header of this folder that other folders include. The configuration key
 * unwind.x86_code switches all of it off; such code is then unwound by frame pointers.
 *
 * What it does, and for which code:
 *
 *   musl_rows    Programs of the C library musl, which is built without CFI: all functions.
 *   gap_rows     Hand-written assembly (codecs, cryptography): functions in address ranges of
 *                64 bytes and more without an FDE, in files with at least 1 KiB of such ranges.
 *   crt_rows     The functions that the compiler's runtime adds to each file: _init, _fini, and
 *                those of crtbegin.o.
 *   glibc_rows   clone() and clone3() around the system call, and the function that a context of
 *                makecontext(3) returns to.
 *
 * It follows the control flow from the entry of a function and computes the CFA at each
 * instruction. A function in a gap gets rows only if no path contradicts them and a return on one
 * path confirms them.
 *
 * This reader is frozen: errors are corrected, features are not added. It deliberately does not
 *
 *   - read other architectures than x86-64, or code that is generated at run time;
 *   - evaluate jump tables, conditions, or values of registers other than copies of rsp;
 *   - follow callee-saved registers other than rbp;
 *   - know AMD's XOP instructions, or guess across instructions that it does not know;
 *   - read files with more than 64 MiB of code, or more than 16 MiB of it without FDEs.
 *
 * Code in these cases gets no rows: the unwinder tries the frame pointer. Compilers and assemblers
 * that should be supported in the future have to write CFI.
 *
 * The functions keep no state and may be called from any thread. They read files by pread(2).
 * Memory is bounded: 3 MiB for gaps, 32 MiB for musl. Each returns 0, or 1 where noted, or -ENOMEM,
 * -ENODATA (the file was truncated), -E2BIG (more than UNWIND_MAX_ROWS).
 */

#include "agent/unwind/table/unwind_builder.h"
#include "common/elf/elf_file.h"

/*
 * Adds rows that replace wrong CFI. To be called before the file's CFI is added, because the
 * builder prefers what was added first.
 */
int x86_code_add_replacements(const struct elf_file *elf, struct unwind_builder *builder);

/*
 * If the file is a program of musl: adds rows for everything that the builder does not cover, and
 * returns 1. Nothing else is needed then.
 */
int x86_code_add_musl(const struct elf_file *elf, struct unwind_builder *builder);

/*
 * Adds rows for other code that the builder does not cover. @is_go: gaps are left alone, because
 * Go's table describes its assembly.
 */
int x86_code_add_missing(const struct elf_file *elf, bool is_go, struct unwind_builder *builder);

/* Bytes of the file that the rows depend on. */
struct x86_code_input {
	uint64_t file_offset, size;
	/* Facts that the rows depend on too, such as addresses. Equal inputs have equal facts. */
	uint64_t facts[4];
	bool is_small; /* a few hundred bytes, which take no time to analyze */
};

typedef int (*x86_code_input_function)(void *arg, const struct x86_code_input *input);

/*
 * Calls @on_input for each range of bytes that the functions above would read for @elf, except
 * those of makecontext(), clone() and clone3(). Returns the first negative value of @on_input.
 */
int x86_code_each_input(const struct elf_file *elf, bool is_go, x86_code_input_function on_input,
			void *arg);
