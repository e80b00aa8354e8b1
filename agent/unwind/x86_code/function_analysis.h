/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Computes unwind rows for one x86-64 function from its machine code. It follows the stack pointer
 * from the first instruction along all paths (push, pop, add, sub, lea, leave; a call leaves it
 * unchanged). Where another instruction changes the stack pointer, the rule is
 * {UNWIND_CFA_NONE} until it is known again. Compilers never write an instruction that two paths
 * reach with different frames; if it occurs, a path through jumps is preferred to one through the
 * return of a callee.
 *
 * Used for programs of the C library musl, which is built without call frame information and
 * without frame pointers. Opens no files.
 */

#include "agent/unwind/x86_code/code_range.h"

struct function_analysis;

int function_analysis_new(const struct code_range *code, struct function_analysis **ret_analysis);
struct function_analysis *function_analysis_free(struct function_analysis *analysis);

/*
 * Analyzes the function at @start, which ends at *ret_end, at the latest at @end. Code addresses
 * that it calls, or of which it takes the address, are appended to @found. 1:
 * function_analysis_rows() has its rows; 0: nothing is known of it; -ENOMEM.
 */
int function_analysis_run(struct function_analysis *analysis, uint64_t start, uint64_t end,
			  struct code_address_vec *found, uint64_t *ret_end);

/* The rows of the function that was analyzed last, by rising address. */
const struct unwind_builder_row *function_analysis_rows(const struct function_analysis *analysis,
							size_t *ret_count);

DEFINE_SCOPED(struct function_analysis *, function_analysis_free);
