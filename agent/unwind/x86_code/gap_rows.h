/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Adds unwind rows for the CFI gaps of an x86-64 file (cfi_gaps.h), computed from their code
 * (gap_analysis.h): hand-written assembly of codecs and cryptography. Functions that something
 * refers to (function_starts.h) are tried first, then the code behind them is searched.
 *
 * Memory: 3 MiB, for a range of 512 KiB and its analysis. Time: 50 ms for each MB of gaps, and a
 * few ms for each MB of other code.
 */

#include "agent/unwind/table/unwind_builder.h"
#include "common/elf/elf_file.h"

/* 1: added; 0: the file has no gaps worth analyzing; -ENOMEM, -ENODATA, -E2BIG. */
int gap_rows_add(const struct elf_file *elf, struct unwind_builder *builder);

/*
 * 1: gap_rows_add() reads the sections of function_starts_source(); 0: it reads nothing; -ENOMEM,
 * -ENODATA.
 */
int gap_rows_are_needed(const struct elf_file *elf);
