/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unwind rows for programs of the C library musl on x86-64: the library itself, which is also the
 * dynamic linker, statically linked programs, and the start code of dynamically linked ones. musl's
 * developers want call frame information in debuginfo only, so that the code has none. The rows are
 * computed from the code (function_analysis.h).
 */

#include "agent/unwind/table/unwind_builder.h"
#include "common/elf/elf_file.h"

/*
 * Whether the entry of the file is musl's start code: xor %rbp,%rbp; mov %rsp,%rdi; lea
 * _DYNAMIC(%rip),%rsi; and $-16,%rsp; call. 1, 0, -ENODATA.
 */
int musl_rows_are_needed(const struct elf_file *elf);

/* The executable segment that is analyzed, and how many of its bytes. NULL: none. */
const struct load_segment *musl_rows_segment(const struct elf_file *elf, uint64_t *ret_size);

/*
 * Adds rows for everything that the builder does not cover. 1: added; 0: there is no segment;
 * -ENOMEM, -ENODATA, -E2BIG.
 */
int musl_rows_add(const struct elf_file *elf, struct unwind_builder *builder);
