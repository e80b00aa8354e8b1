/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What readelf says of a file's call frame information, read from its text.
 *
 * `readelf --debug-dump=frames-interp` prints for every FDE a table of its rows, with one column
 * for the CFA and one for each register that the FDE speaks of. An FDE without instructions has
 * no table: its CIE's row holds. Expressions are only "exp" there; `readelf --debug-dump=frames`
 * has their text.
 */

#include "common/base.h"
#include "common/vec.h"

#define READELF_TOKEN_BYTES 24

/* "" for a register without a column. */
struct readelf_row {
	uint64_t address;
	char cfa[READELF_TOKEN_BYTES];
	char fp[READELF_TOKEN_BYTES];
	char ra[READELF_TOKEN_BYTES];
};

VEC_DEFINE(readelf_row_vec, struct readelf_row);

struct readelf_fde {
	bool is_debug_frame;
	uint64_t offset;
	uint64_t start;
	uint64_t end;
	bool is_signal_frame;
	struct readelf_row_vec rows; /* at least one, the first at start; lent for the call */
};

/* Negative: stops the reading, which returns it. */
typedef int (*readelf_fde_function)(void *argument, const struct readelf_fde *fde);

/*
 * @fp_name: the column of the frame pointer ("rbp", "x29"). 0, negative errno; -EBADMSG: its text
 * is not understood.
 */
int readelf_rows(const char *path, const char *fp_name, readelf_fde_function on_fde,
		 void *argument);

/*
 * The lines of instructions with expressions, one call for each FDE that has some, in the same
 * order; @text is a list of lines.
 */
typedef int (*readelf_text_function)(void *argument, bool is_debug_frame, uint64_t offset,
				     const char *text);

int readelf_expressions(const char *path, readelf_text_function on_text, void *argument);
