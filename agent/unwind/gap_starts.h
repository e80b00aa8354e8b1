/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where functions may begin in a file's gaps (code_gaps.h): at symbols, at what pointers in data
 * lead to, at what other code calls or takes the address of.
 */

#include "agent/unwind/code_frames.h"
#include "agent/unwind/code_gaps.h"
#include "common/elf/elf_file.h"

/* ELF addresses in @gaps, rising, each once, appended to @starts, which is empty. 0, -ENOMEM,
 * -ENODATA. */
int gap_starts_find(const struct elf_file *elf, const struct code_gap_vec *gaps,
		    struct code_address_vec *starts);

/* Whether gap_starts_find() looks into the section. */
bool gap_starts_reads(const struct elf_file *elf, const struct elf_section *section);
