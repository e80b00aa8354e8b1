/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds CFI gaps: address ranges of executable sections that no FDE of .eh_frame covers. Libraries
 * with hand-written assembly have hundreds of KB of them, other files a few hundred bytes of the
 * compiler's runtime.
 */

#include "common/elf/elf_file.h"
#include "common/vec.h"

struct cfi_gap {
	uint64_t start, end;  /* ELF addresses */
	uint64_t file_offset; /* of the first byte */
};

VEC_DEFINE(cfi_gap_vec, struct cfi_gap);

/*
 * Appends the gaps by rising address to @gaps, which is empty. 1: it found gaps that are worth
 * analyzing; 0: it found too few bytes, or the file is not for x86-64, has no .eh_frame, or has too
 * much code to search it; -ENODATA, -ENOMEM.
 */
int cfi_gaps_find(const struct elf_file *elf, struct cfi_gap_vec *gaps);

/* Whether a gap contains @address. */
bool cfi_gaps_contain(const struct cfi_gap_vec *gaps, uint64_t address);

/* Whether the section holds code that is wholly in the file. */
bool cfi_gaps_section_is_code(const struct elf_file *elf, const struct elf_section *section);
