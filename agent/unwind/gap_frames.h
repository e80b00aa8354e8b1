/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rows of what a file's call frame information leaves out (code_gaps.h), from its code
 * (gap_code.h): hand-written assembly of codecs, of cryptography. Functions that something leads to
 * (gap_starts.h) come first; the rest is looked for behind them. x86-64.
 *
 * Memory: a piece of 512 KiB and its places, 3 MiB in all. Time: some 50 ms for each MB of such
 * code, and a few for each of the rest.
 */

#include "agent/unwind/unwind_builder.h"
#include "common/elf/elf_file.h"

/* 1 added, 0 nothing to add, -ENOMEM, -ENODATA, -E2BIG. */
int gap_frames_add(const struct elf_file *elf, struct unwind_builder *builder);

/*
 * 1: gap_frames_add() looks into the file, at what gap_starts_reads() says; 0 not; -ENOMEM,
 * -ENODATA.
 */
int gap_frames_are_needed(const struct elf_file *elf);
