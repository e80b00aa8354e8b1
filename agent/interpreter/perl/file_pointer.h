/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads a pointer of the initialized data of a file. A file that may be loaded at any address has
 * the value in a relocation, others have it in the data.
 */

#include "common/elf/elf_file.h"

/*
 * 1: *ret_value is the pointer at the ELF address @vaddr; 0: there is none; -ENODATA: the file was
 * truncated; -EFBIG: it has too many relocations; -ENOMEM.
 */
int file_pointer_read(const struct elf_file *elf, uint64_t vaddr, uint64_t *ret_value);
