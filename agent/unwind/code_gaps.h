/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Code that a file's call frame information leaves out: what no FDE of .eh_frame covers of its
 * executable sections. Libraries with hand-written assembly have hundreds of KB of it, others a few
 * hundred bytes of start code.
 */

#include "common/elf/elf_file.h"
#include "common/vec.h"

struct code_gap {
	uint64_t start, end;  /* ELF addresses */
	uint64_t file_offset; /* of the first byte */
};

VEC_DEFINE(code_gap_vec, struct code_gap);

/*
 * The gaps by rising address, appended to @gaps, which is empty. 1 there are some that are worth
 * it; 0 not, or the file is no x86-64 one with .eh_frame, or too large for looking into it.
 * -ENODATA, -ENOMEM.
 */
int code_gaps_find(const struct elf_file *elf, struct code_gap_vec *gaps);

/* Whether @address lies in one. */
bool code_gaps_hold(const struct code_gap_vec *gaps, uint64_t address);

/* Whether it is code, which lies in the file. */
bool code_gaps_is_code(const struct elf_file *elf, const struct elf_section *section);
