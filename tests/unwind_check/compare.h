/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Compares the unwind table of a file with what readelf says of the same call frame information,
 * row by row: at the first address of each of readelf's rows, at the last one, and at each of our
 * rows in between. And where no FDE is, the table must say so.
 */

#include <stdio.h>

#include "common/base.h"

/*          id               name               what it means */
/* clang-format off */
#define OUTCOMES(X)                                                                                \
	X(EQUAL, "equal", "the rule says what readelf says")                                       \
	X(EXPRESSION, "expression", "the rule has a known shape, whose text readelf prints")       \
	X(NOT_EXPRESSIBLE, "not expressible",                                                      \
	  "an expression of no known shape: the table says that it is one")                        \
	X(OVERLAP, "overlap", "an FDE that comes earlier in the file covers the address too")      \
	X(OUTSIDE, "outside", "the FDE lies in no executable segment")                             \
	X(ENTRY, "entry", "the function contexts return into: the stack ends there (agent/unwind/entry_frames.h)") \
	X(LOST, "lost", "the table has no rule there")                                             \
	X(DIFFERS, "differs", "the rule says something else")                                      \
	X(INVENTED, "invented", "the table has a rule where there is no FDE")                      \
	X(FROM_CODE, "from code", "the same, read from the code of a gap (agent/unwind/code_gaps.h)")
/* clang-format on */

enum outcome {
#define X(id, ...) OUTCOME_##id,
	OUTCOMES(X)
#undef X
		OUTCOME_COUNT
};

struct comparison {
	uint64_t counts[OUTCOME_COUNT]; /* of readelf's rows; from OUTCOME_INVENTED on: of ours */
	uint64_t n_fdes;
	uint64_t n_table_rows;
	uint64_t n_table_bytes; /* rows, pages, rules */
};

/*
 * Adds the comparison of one file; what is neither equal nor an expression is printed to
 * @details. 1 compared; 0 nothing to compare (not ELF, another architecture, relocatable);
 * negative: the table could not be compiled, or readelf's text not be read.
 */
int compare_file(const char *path, struct comparison *comparison, FILE *details);

/* Rows that were compared, and those that agree. */
uint64_t comparison_rows(const struct comparison *comparison);
uint64_t comparison_agreeing(const struct comparison *comparison);
