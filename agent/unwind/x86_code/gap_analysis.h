/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Computes unwind rows for x86-64 code that no FDE covers: usually hand-written assembly between
 * functions with FDEs.
 *
 * The caller names addresses at which a function may begin. gap_analysis_try() follows all paths
 * from such an address. It accepts the function if no path contradicts it, and at least one path
 * confirms it: a return at which the stack pointer is at the return address. A wrong start (data,
 * or the middle of a function that has a frame) is not confirmed in this way. A rejected function
 * adds no rows. If two functions have the same instruction with different frames, the one that is
 * tried later is rejected.
 *
 * The number of decoded instructions is bounded for each range. At the bound, the analysis accepts
 * no more functions. Opens no files.
 */

#include "agent/unwind/x86_code/code_range.h"

/* Largest range. Each byte of it needs a struct code_byte of 4 bytes. */
#define GAP_ANALYSIS_MAX_BYTES ((size_t)(512 * KIB))

struct gap_analysis;

int gap_analysis_new(struct gap_analysis **ret_analysis);
struct gap_analysis *gap_analysis_free(struct gap_analysis *analysis);

/*
 * Forgets the previous range, and begins with @code, which must stay valid. 0, -ENOMEM; -E2BIG: too
 * large.
 */
int gap_analysis_begin(struct gap_analysis *analysis, const struct code_range *code);

/*
 * Tries a function that begins at @start, according to a symbol, a pointer or a call. Functions
 * that it calls are tried as well. 1: accepted; 0: rejected; -ENOMEM.
 */
int gap_analysis_try(struct gap_analysis *analysis, uint64_t start);

/*
 * To be called after the known functions were tried: searches for the cases of switches, and for
 * functions that begin at a multiple of 16 after another function. 0, -ENOMEM.
 */
int gap_analysis_complete(struct gap_analysis *analysis);

/*
 * Rows for the whole range, by rising address, the first one at its beginning. Code that belongs to
 * no accepted function has the rule {UNWIND_CFA_NONE}. 0, -ENOMEM.
 */
int gap_analysis_rows(struct gap_analysis *analysis, const struct unwind_builder_row **ret_rows,
		      size_t *ret_count);

DEFINE_SCOPED(struct gap_analysis *, gap_analysis_free);
