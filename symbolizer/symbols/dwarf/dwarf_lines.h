/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The line table of one unit: rows sorted by address. Rows of code that the linker removed are left
 * out.
 */

#include "symbolizer/symbols/dwarf/dwarf_file.h"
#include "symbolizer/symbols/elf/function_candidate.h"

#define LINE_GAP UINT32_MAX

struct line_row {
	uint32_t offset; /* from the window's start; the row ends at the next row's offset */
	uint32_t file;   /* index in files; LINE_GAP: no line is known up to the next row */
	uint32_t line;
};

VEC_DEFINE(line_row_vec, struct line_row);

struct line_file {
	const char *name;
	uint64_t folder;
};

VEC_DEFINE(line_file_vec, struct line_file);
VEC_DEFINE(line_folder_vec, const char *);

/* The addresses that a table covers: the code sections within 4 GiB from @start. */
struct code_window {
	uint64_t start;
	uint64_t code_bytes; /* of all sections */
	const struct code_section_vec *code;
};

struct line_table {
	struct line_row_vec rows;
	struct line_file_vec files;
	struct line_folder_vec folders;
	uint16_t version;
};

/*
 * Reads the line table of @unit, or of its skeleton if it is a split unit. Reuses the memory of
 * @table. Reading ends at damage, and at more rows than the code can have. *rows_left is the number
 * of rows that may still be read, of all units together; -EFBIG when it is used up. Returns 0,
 * -ENOMEM.
 */
int line_table_read(struct line_table *table, const struct dwarf_unit *unit,
		    const struct code_window *window, uint64_t *rows_left);
void line_table_release(struct line_table *table);

/*
 * Appends the path of @file, with its folders, and without "." and "..". Returns 1, or 0 if the
 * table has no such file; -ENOMEM, -EFBIG.
 */
int line_table_path(const struct line_table *table, const struct dwarf_unit *unit, uint64_t file,
		    struct bytes *out);
