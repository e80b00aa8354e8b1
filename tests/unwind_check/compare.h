/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Compares the unwind table of a file with readelf's rows for the same call frame information: at
 * the first and the last address of each row of readelf, and at each row of the table in between.
 * Where there is no FDE, the table must have no rule.
 */

#include <stdio.h>

#include "common/base.h"

/*          id               name               what it means */
/* clang-format off */
#define OUTCOMES(X)                                                                                \
	X(EQUAL, "equal", "the rule agrees with readelf")                                          \
	X(EXPRESSION, "expression", "the rule has a known shape, whose text readelf prints")       \
	X(NOT_EXPRESSIBLE, "not expressible",                                                      \
	  "an expression of no known shape, and the rule is unsupported")                          \
	X(OVERLAP, "overlap", "an FDE before it in the file covers the address too")                 \
	X(OUTSIDE, "outside", "the FDE lies in no executable segment")                             \
	X(ENTRY, "entry", "the function contexts return to: the stack ends there (x86_code/glibc_rows.h)") \
	X(LOST, "lost", "the table has no rule there")                                             \
	X(DIFFERS, "differs", "the rule is another one")                                           \
	X(INVENTED, "invented", "the table has a rule where there is no FDE")                      \
	X(FROM_CODE, "from code", "the same, computed from the code of a gap (x86_code/cfi_gaps.h)")
/* clang-format on */

enum outcome {
#define X(id, ...) OUTCOME_##id,
	OUTCOMES(X)
#undef X
		OUTCOME_COUNT
};

struct comparison {
	/* of readelf's rows; from OUTCOME_INVENTED on: of the table's rows */
	uint64_t counts[OUTCOME_COUNT];
	uint64_t n_fdes;
	uint64_t n_table_rows;
	uint64_t n_table_bytes; /* rows, pages, rules */
};

/*
 * Adds the comparison of one file. Prints each row that is neither equal nor an expression to
 * @details. Returns 1 if compared, 0 if there is nothing to compare (not ELF, another architecture,
 * relocatable), or a negative errno if the table could not be compiled or the text of readelf could
 * not be read.
 */
int compare_file(const char *path, struct comparison *comparison, FILE *details);

/* The number of rows that were compared, and of those that agree. */
uint64_t comparison_rows(const struct comparison *comparison);
uint64_t comparison_agreeing(const struct comparison *comparison);
