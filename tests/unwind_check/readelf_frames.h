/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the call frame information of a file from the text of readelf.
 *
 * `readelf --debug-dump=frames-interp` prints a table of rows for every FDE, with a column for the
 * CFA and for each register that the FDE has a rule for. An FDE without instructions has no table:
 * the row of its CIE is valid. Expressions are printed as "exp" there; `readelf
 * --debug-dump=frames` prints their text.
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
	struct readelf_row_vec rows; /* at least one, the first at start; borrowed for the call */
};

/* A negative value stops the reading, which returns it. */
typedef int (*readelf_fde_function)(void *argument, const struct readelf_fde *fde);

/*
 * @fp_name: the column of the frame pointer ("rbp", "x29"). Returns 0 or a negative errno;
 * -EBADMSG: the text is not understood.
 */
int readelf_rows(const char *path, const char *fp_name, readelf_fde_function on_fde,
		 void *argument);

/*
 * Calls the function for each FDE that has instructions with expressions, in the same order; @text
 * is a list of their lines.
 */
typedef int (*readelf_text_function)(void *argument, bool is_debug_frame, uint64_t offset,
				     const char *text);

int readelf_expressions(const char *path, readelf_text_function on_text, void *argument);
