/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The header of a line number program: parameters of its opcodes, and its folders and files.
 */

#include "symbolizer/symbols/dwarf/dwarf_lines.h"

struct line_program_header {
	uint8_t min_instruction_bytes;
	int8_t line_base;
	uint8_t line_range; /* never 0 */
	uint8_t opcode_base;
	uint8_t operands[256]; /* number of LEB128 operands of each standard opcode */
};

/*
 * Reads the header at @cursor, and the files and folders of @table. Afterwards @cursor covers the
 * opcodes of the program. Returns 1, or 0 if the header is damaged or of an unknown version;
 * -ENOMEM.
 */
int line_program_header_read(struct line_program_header *header, struct line_table *table,
			     const struct dwarf_unit *unit, struct bytes_reader *cursor);
