/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The head of a line program: how its opcodes count, and its folders and files.
 */

#include "symbolizer/symbols/dwarf/dwarf_lines.h"

struct line_program_header {
	uint8_t min_instruction_bytes;
	int8_t line_base;
	uint8_t line_range; /* never 0 */
	uint8_t opcode_base;
	uint8_t operands[256]; /* how many LEBs follow a standard opcode */
};

/*
 * Reads the header at @cursor, which is left over the program and ends with it; fills the table's
 * files. 1 read, 0 damaged or of no known version, -ENOMEM.
 */
int line_program_header_read(struct line_program_header *header, struct line_table *table,
			     const struct dwarf_unit *unit, struct dwarf_cursor *cursor);
