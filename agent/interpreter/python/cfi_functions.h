/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions of an ELF file that has no symbols: the table of .eh_frame_hdr has the address of
 * each part of a function. Sorted by address.
 */

#include "bpf/abi/interpreter.h"
#include "common/elf/elf_file.h"

struct cfi_functions {
	struct bytes header; /* the section */
	uint64_t vaddr;
	size_t count;
};

/* 1; 0: the file has no such table; -ENODATA: it was truncated; -ENOMEM. */
int cfi_functions_read(const struct elf_file *elf, struct cfi_functions *ret_functions);
void cfi_functions_release(struct cfi_functions *functions);

/* Address of function @index < count. */
uint64_t cfi_functions_start(const struct cfi_functions *functions, size_t index);

/* Index of the last function that starts at or before @vaddr; count: there is none. */
size_t cfi_functions_find(const struct cfi_functions *functions, uint64_t vaddr);

/* 1: *ret_range, up to the next function; 0: it is the last one, or there is no such function. */
int cfi_functions_range(const struct cfi_functions *functions, size_t index,
			struct abi_code_range *ret_range);
