/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds addresses in CFI gaps (cfi_gaps.h) at which functions may begin: those of symbols, those
 * that pointers in data refer to, and those that other code calls or takes.
 */

#include "agent/unwind/x86_code/cfi_gaps.h"
#include "agent/unwind/x86_code/function_analysis.h"
#include "common/elf/elf_file.h"

/*
 * Appends ELF addresses in @gaps, rising and distinct, to @starts, which is empty. 0, -ENOMEM,
 * -ENODATA.
 */
int function_starts_find(const struct elf_file *elf, const struct cfi_gap_vec *gaps,
			 struct code_address_vec *starts);

/* What function_starts_find() reads a section as. */
enum starts_source {
	STARTS_FROM_NONE,
	STARTS_FROM_CODE,
	STARTS_FROM_SYMBOLS,
	STARTS_FROM_POINTERS,
};

enum starts_source function_starts_source(const struct elf_file *elf,
					  const struct elf_section *section);
