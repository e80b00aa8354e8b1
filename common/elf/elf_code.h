/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds machine code in an executable by its ELF address. */

#include "common/elf/elf_file.h"

/* Bytes of code in a file. */
struct elf_code {
	uint64_t file_offset;
	uint64_t size; /* from the address to the end of its section or segment */
};

/*
 * Finds the code at @elf_addr: in an executable section that has contents, or in an executable
 * segment if the section headers are stripped. In object files (kernel modules) addresses are
 * relative to .text. Returns 1, or 0 if the file does not have the code.
 */
int elf_code_find(const struct elf_file *elf, uint64_t elf_addr, struct elf_code *ret_code);
