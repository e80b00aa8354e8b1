/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds defined symbols of an ELF file by name: in .dynsym, and those that .dynsym lacks in
 * .symtab. Reads whole tables: call elf_symbols_find() only for files that are likely to have the
 * symbols.
 */

#include "common/elf/elf_file.h"

struct elf_symbol {
	const char *name;
	uint64_t vaddr; /* 0: not found */
	uint64_t size;
};

/* Reads initialized data at ELF address @vaddr. False: the file does not have it. */
bool elf_read_data(const struct elf_file *elf, uint64_t vaddr, void *to, size_t size);

/* Fills vaddr and size of @symbols. 0; -ENODATA: the file was truncated; -EFBIG; -ENOMEM. */
int elf_symbols_find(const struct elf_file *elf, struct elf_symbol *symbols, size_t n_symbols);

/*
 * Whether .gnu.hash has a defined symbol with the hash of @name. 1; 0: no, or there is no such
 * section; or a negative errno as above.
 */
int elf_symbol_is_exported(const struct elf_file *elf, const char *name);
