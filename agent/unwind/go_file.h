/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where a Go program has its table of functions (agent/unwind/go_pclntab.h).
 */

#include "agent/unwind/byte_window.h"
#include "common/elf/elf_file.h"

struct go_file {
	struct byte_window pclntab; /* without a buffer: for parts of it */
	uint64_t pclntab_vaddr;
	uint64_t text_start; /* what the addresses of functions are relative to */
};

/* 1 found, 0: no Go program, or none that is understood. -ENOMEM, -ENODATA. */
int go_file_find(const struct elf_file *elf, struct go_file *ret_file);

/* Bytes of the file that will be at @vaddr: how many of @size there are, -ENODATA. */
ssize_t go_file_read_code(const struct elf_file *elf, uint64_t vaddr, void *buffer, size_t size);
