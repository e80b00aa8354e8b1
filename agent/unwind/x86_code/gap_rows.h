/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Adds unwind rows for the CFI gaps of an x86-64 file (cfi_gaps.h). The rows are computed from the
 * code in the gaps (gap_analysis.h), usually hand-written assembly of codecs and cryptography. The
 * analysis first tries the addresses to which a symbol, a pointer or a call refers
 * (function_starts.h). Then it searches the code after the accepted functions.
 *
 * Memory: 3 MiB, because a gap is analyzed in pieces of at most 512 KiB. Time: 50 ms for each MB of
 * gaps, and a few ms for each MB of other code.
 */

#include "agent/unwind/table/unwind_builder.h"
#include "common/elf/elf_file.h"

/* 1: added; 0: cfi_gaps_find() returned 0, so nothing was added; -ENOMEM, -ENODATA, -E2BIG. */
int gap_rows_add(const struct elf_file *elf, struct unwind_builder *builder);

/*
 * Reports whether gap_rows_add() would analyze the file. 1: it would, and would read the sections
 * for which function_starts_source() is not STARTS_FROM_NONE; 0: it would return 0; -ENOMEM,
 * -ENODATA.
 */
int gap_rows_are_needed(const struct elf_file *elf);
