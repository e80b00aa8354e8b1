/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unwind rows for functions of glibc whose call frame information is wrong or ends too early, on
 * x86-64:
 *
 *   - The function that a context of makecontext(3) returns to: glibc describes it as if it had a
 *     caller. Its row ends the stack.
 *   - clone() and clone3(): the call frame information ends before the system call, because the
 *     child returns from it on another stack. The rows continue to the return.
 */

#include "agent/unwind/table/unwind_builder.h"
#include "common/elf/elf_file.h"

/*
 * Finds the function by the code of makecontext(). To be called before the file's call frame
 * information is added, because the builder prefers what was added first. 0, -ENOMEM, -E2BIG,
 * -ENODATA.
 */
int glibc_rows_add_context(const struct elf_file *elf, struct unwind_builder *builder);

/* To be called after the file's call frame information is added. 0, -ENOMEM, -E2BIG, -ENODATA. */
int glibc_rows_add_clone(const struct elf_file *elf, struct unwind_builder *builder);
