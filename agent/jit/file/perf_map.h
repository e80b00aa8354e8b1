/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parses a perf map: lines "START SIZE NAME\n", where START and SIZE are hexadecimal, with or
 * without 0x, and NAME is the rest of the line. Lines of another form are skipped. A last line
 * without its end is left for the next piece, because its writer may not have finished it. Pure
 * functions of bytes.
 */

#include "agent/jit/file/jit_code.h"

struct perf_map_piece {
	struct bytes_view text;
	uint32_t offset;    /* of the text in the file */
	bool in_long_line;  /* the text begins in a line that is skipped */
	bool is_whole_room; /* the text is as long as a piece can be: a line may not fit into it */
};

/*
 * Adds the lines of @piece to @codes until it is full. Returns the number of bytes that were
 * handled. Sets *in_long_line if the piece ends in a line that is longer than a piece.
 */
size_t perf_map_parse(const struct perf_map_piece *piece, struct jit_codes *codes,
		      bool *in_long_line);

/* The name in the line at the start of @text. False: the line has another form. */
bool perf_map_name(struct bytes_view text, struct bytes_view *ret_name);
