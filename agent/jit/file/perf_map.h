/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parses a perf map: lines "START SIZE NAME\n", where START and SIZE are hexadecimal, with or
 * without 0x, and NAME is the rest of the line. Lines of another form are skipped. The file is read
 * in pieces of at most JIT_PIECE_BYTES. A last line without a newline is left for the next piece,
 * because its writer may not have finished it. The functions depend on their arguments only.
 */

#include "agent/jit/file/jit_code.h"

struct perf_map_piece {
	struct bytes_view text;
	uint32_t offset;   /* of the text in the file */
	bool in_long_line; /* the text begins inside a line that is skipped */
	/* the text has the maximum size of a piece: a line that fills it can never be complete */
	bool is_max_size;
};

/*
 * Adds the lines of @piece to @codes, until @codes is full. Returns the number of bytes of @piece
 * that were handled. *in_long_line: these bytes end inside a line that is longer than a piece.
 */
size_t perf_map_parse(const struct perf_map_piece *piece, struct jit_codes *codes,
		      bool *in_long_line);

/* Finds the name in the first line of @text. False: the line has another form. */
bool perf_map_name(struct bytes_view text, struct bytes_view *ret_name);
