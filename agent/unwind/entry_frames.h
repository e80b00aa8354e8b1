/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The outermost frames that call frame information leaves out: a program's first instructions (the
 * dynamic loader's, hand-written ones), and the function that a context made by makecontext(3)
 * returns into, which glibc on x86-64 describes as if it had a caller. Both get rows that end a
 * stack.
 *
 * And the places where the C library makes threads and processes: glibc ends the call frame
 * information of clone() and of its clone3() before the system call, as the child comes back from
 * it on another stack.
 */

#include "agent/unwind/unwind_builder.h"
#include "common/elf/elf_file.h"

/*
 * The row of the context's entry goes before what the file says, so it is added first. The entry of
 * the program counts where the file says nothing of it: it is added after call frame information,
 * and before what is guessed from code. 0, -ENOMEM, -E2BIG, -ENODATA.
 */
int entry_frames_add_context(const struct elf_file *elf, struct unwind_builder *builder);
int entry_frames_add_start(const struct elf_file *elf, struct unwind_builder *builder);

/* Counts where the file says nothing, like the program's entry. */
int entry_frames_add_clone(const struct elf_file *elf, struct unwind_builder *builder);
