/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds and reads bytes of an ELF file by the address that they are loaded at.
 */

#include "common/elf/elf_file.h"

/*
 * The first load segment that has all of @flags (PF_X, ...) and whose part in the file contains
 * @vaddr. NULL: none.
 */
const struct load_segment *elf_segment_at(const struct elf_file *elf, uint64_t vaddr,
					  uint32_t flags);

/*
 * Reads code at @vaddr into @buffer. Returns how many of @size bytes the segment has there, 0 if no
 * executable segment has any, or a negative errno (-ENODATA: the file was truncated).
 */
ssize_t elf_code_read(const struct elf_file *elf, uint64_t vaddr, void *buffer, size_t size);
