/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds functions of Perl that call the loop. They call it by a pointer in a variable, and are
 * not exported: S_docatch() is reached from the instructions of eval, and S_run_body() from
 * perl_run(), if it is not a part of that.
 */

#include "bpf/abi/interpreter.h"
#include "common/elf/elf_file.h"

/*
 * Finds the function that calls a function by a pointer in memory: the one that begins at @vaddr,
 * or the first one that it calls or jumps to. 1: *ret_range, ELF addresses; 0: there is none;
 * -ENODATA: the file was truncated; -ENOMEM.
 */
int loop_caller_find(const struct elf_file *elf, uint64_t vaddr, struct abi_code_range *ret_range);
