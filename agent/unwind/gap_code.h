/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rows of code that nobody describes, between functions with call frame information: hand-written
 * assembly, x86-64. A piece of it is looked at as a whole. Functions are tried: all ways through
 * the code are followed from where one is said to begin, and it is believed if no way contradicts
 * it, and some way proves it: a return finds the stack pointer at the return address, which from a
 * wrong beginning (the middle of a function that has a frame, data) it does not. What is not
 * believed leaves no trace. Where two functions meet in one place with different frames, the later
 * one is not believed.
 *
 * Work is bounded: so many instructions are looked at for each byte of the piece, then it is as it
 * is. Pure.
 */

#include "agent/unwind/code_frames.h"

/* Larger pieces are refused: each byte has a place of 4 bytes. */
#define GAP_CODE_MAX_BYTES ((size_t)(512 * KIB))

struct gap_code;

int gap_code_new(struct gap_code **ret_gap);
struct gap_code *gap_code_free(struct gap_code *gap);

/* Begins anew, with @code, which has to stay. 0, -ENOMEM; -E2BIG: too large. */
int gap_code_begin(struct gap_code *gap, const struct code_range *code);

/*
 * A function is said to begin at @start, by a symbol, a pointer, a call. Calls lead to others,
 * which are tried as well. 1 believed, 0 not, -ENOMEM.
 */
int gap_code_try(struct gap_code *gap, uint64_t start);

/*
 * When all that are known have been tried: looks for the cases of switches, and then for functions
 * that stand behind others, at a multiple of 16. 0, -ENOMEM.
 */
int gap_code_complete(struct gap_code *gap);

/*
 * Rows of the whole piece, by rising address, the first at its beginning; none where nothing is
 * believed. 0, -ENOMEM.
 */
int gap_code_rows(struct gap_code *gap, const struct unwind_builder_row **ret_rows,
		  size_t *ret_count);

DEFINE_SCOPED(struct gap_code *, gap_code_free);
