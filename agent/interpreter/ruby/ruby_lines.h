/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The lines of an iseq of CRuby: an array with a line for each position where the line may change,
 * and a compressed list of these positions.
 */

#include "agent/interpreter/ruby/ruby_code.h"

/* Words of code that are searched for lines: more than any method of a script has. */
#define RUBY_MAX_CODE_WORDS (256 * 1024)

/* Where an iseq has them. */
struct ruby_lines {
	uint64_t entries;   /* address of the lines */
	uint64_t positions; /* address of the list of positions */
	uint32_t n_entries;
	uint32_t n_words; /* of code */
};

/*
 * Writes the table in the form that the server decodes
 * (symbolizer/symbols/line_table/line_table.h). Returns its size, 0 if it is larger than
 * @max_bytes; or a negative errno of memory->read.
 */
int ruby_lines_read(const struct ruby_memory *memory, const struct ruby_lines *lines, uint8_t *to,
		    size_t max_bytes);
