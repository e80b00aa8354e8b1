/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Whether a rule of ours says what a row of readelf says. */

#include "agent/unwind/cfi_program.h"
#include "bpf/abi/unwind_table.h"
#include "tests/unwind_check/readelf_frames.h"

enum match {
	MATCH_EQUAL,
	MATCH_EXPRESSION, /* readelf only says that there is one: its text has to be compared */
	MATCH_NOT_EXPRESSIBLE,
	MATCH_NOT
};

enum match match_rule(const struct cfi_machine *machine, bool is_signal_frame,
		      const struct readelf_row *row, const struct abi_unwind_rule *rule);

/*
 * How readelf prints the expression that became this CFA, or this place of the frame pointer
 * (x86-64).
 */
void text_of_cfa(const struct abi_unwind_rule *rule, char *ret_text, size_t size);
void text_of_fp(const struct abi_unwind_rule *rule, char *ret_text, size_t size);
