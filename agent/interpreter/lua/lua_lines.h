/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The lines of a Proto: up to 5.3 the line of each instruction; from 5.4 on the difference to the
 * line of the instruction before, in a byte, and an array with the lines of some instructions.
 */

#include "agent/interpreter/lua/lua_code.h"

/*
 * Writes the table in the form that the server decodes as "ruby"
 * (symbolizer/symbols/line_table/line_table.h). Returns its size, 0 if it is larger than
 * @max_bytes, or if the Proto has no lines; or a negative errno.
 */
int lua_lines_read(const struct lua_memory *memory, const uint8_t *proto, uint8_t *to,
		   size_t max_bytes);
