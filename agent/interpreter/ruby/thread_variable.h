/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds where a thread has ruby_current_ec, a variable of the thread (TLS) that some versions do
 * not export. rb_thread_current() begins with reading it.
 */

#include "common/elf/elf_file.h"
#include "common/elf/elf_symbol.h"

/*
 * @function: rb_thread_current(). 1: at the ELF address *ret_index_addr are the number of the
 * file's TLS block and an offset in the block, and the variable is *ret_offset bytes further; or
 * *ret_index_addr is 0: it is at *ret_offset from pthread_self(). 0: the code is not understood;
 * -ENODATA: the file was truncated.
 */
int thread_variable_find(const struct elf_file *elf, const struct elf_symbol *function,
			 uint64_t *ret_index_addr, uint64_t *ret_offset);
