/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Programs of the C library musl, x86-64: the library itself, which is also the dynamic linker,
 * programs that it is linked into, and the start code of others. Nothing of it has call frame
 * information, as its makers want that in debuginfo alone; its rows come from its code
 * (agent/unwind/code_frames.h).
 */

#include "agent/unwind/unwind_builder.h"
#include "common/elf/elf_file.h"

/*
 * Whether the file begins with musl's start code, which it is known by: xor %rbp,%rbp; mov
 * %rsp,%rdi; lea _DYNAMIC(%rip),%rsi; and $-16,%rsp; call. 1, 0, -ENODATA.
 */
int musl_frames_are_needed(const struct elf_file *elf);

/* The executable segment that is looked at, and how much of it. NULL: none. */
const struct load_segment *musl_frames_segment(const struct elf_file *elf, uint64_t *ret_size);

/* What nothing that was added covers. 1 added, 0 nothing, -ENOMEM, -ENODATA, -E2BIG. */
int musl_frames_add(const struct elf_file *elf, struct unwind_builder *builder);
