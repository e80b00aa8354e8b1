/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Line tables of interpreters. An agent sends the table of a function in the form of the runtime; a
 * query decodes it for the positions that it shows. Pure functions of bytes, which anybody may have
 * written.
 */

#include <stdbool.h>

#include "common/bytes.h"

struct line_table {
	const char *language; /* of the code object: "python", "java", "ruby", "lua" */
	uint32_t first_line;
	struct bytes_view bytes;
};

/* Whether positions of functions of this language can be converted to lines. */
bool line_table_is_known(const char *language);

/*
 * The line at @position, as the language's frames define it (common/frame_kinds.def). Without a
 * line there, or without a table, the first line of the function; 0: it is not known either.
 */
uint32_t line_table_find(const struct line_table *table, uint64_t position);

/*
 * CPython 3.11 and later: PyCodeObject.co_linetable, which begins with a byte of at least 128. 3.8
 * to 3.10: the minor version in a byte, then co_lnotab or co_linetable. @position is a byte offset
 * in the bytecode.
 */
uint32_t python_line_find(const struct line_table *table, uint64_t position);

/* Such a table of 3.8 to 3.10. */
uint32_t python_old_line_find(const struct line_table *table, uint64_t position);

/*
 * HotSpot: the compressed line number table of a method, after one byte: 1 if its numbers have no
 * byte 0 (JDK 20 and later), else 0. @position is an index in the byte code.
 */
uint32_t java_line_find(const struct line_table *table, uint64_t position);

/*
 * CRuby: for each change of the line two numbers, as those of Protocol Buffers (varint): the
 * distance from the position before; twice the distance from the line before, or twice that minus 1
 * if the line is smaller. Both begin at 0. @position is the index of a word in the instructions.
 */
uint32_t ruby_line_find(const struct line_table *table, uint64_t position);
