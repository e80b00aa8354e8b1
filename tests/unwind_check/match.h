/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Compares a rule of a table with a row of readelf. */

#include "agent/unwind/cfi/cfi_program.h"
#include "bpf/abi/unwind_table.h"
#include "tests/unwind_check/readelf_frames.h"

enum match {
	MATCH_EQUAL,
	/* readelf prints only that it is an expression: its text has to be compared */
	MATCH_EXPRESSION,
	MATCH_NOT_EXPRESSIBLE,
	MATCH_NOT
};

enum match match_rule(const struct cfi_machine *machine, bool is_signal_frame,
		      const struct readelf_row *row, const struct abi_unwind_rule *rule);

/*
 * The text that readelf prints for the expression of this CFA, or of this location of the frame
 * pointer (x86-64).
 */
void text_of_cfa(const struct abi_unwind_rule *rule, char *ret_text, size_t size);
void text_of_fp(const struct abi_unwind_rule *rule, char *ret_text, size_t size);
