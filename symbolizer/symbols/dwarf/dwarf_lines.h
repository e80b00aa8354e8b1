/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The line table of one unit, as rising rows. Rows of code that the linker dropped are left out.
 */

#include "symbolizer/symbols/dwarf/dwarf_file.h"
#include "symbolizer/symbols/elf/function_candidate.h"

#define LINE_GAP UINT32_MAX

struct line_row {
	uint32_t offset; /* from the window's start; it reaches to the next row's */
	uint32_t file;   /* of the table; LINE_GAP: no line is known from here on */
	uint32_t line;
};

VEC_DEFINE(line_row_vec, struct line_row);

struct line_file {
	const char *name;
	uint64_t folder;
};

VEC_DEFINE(line_file_vec, struct line_file);
VEC_DEFINE(line_folder_vec, const char *);

/* The addresses that are taken: code sections, at most 4 GiB from @start. */
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
 * Reads the table of @unit (of its skeleton, if it is split) into @table, whose memory is used
 * again. Damage ends the table, and so does a row more than bytes of code that it could be of.
 * *rows_left bounds the work, over all units. 0, -EFBIG, -ENOMEM.
 */
int line_table_read(struct line_table *table, const struct dwarf_unit *unit,
		    const struct code_window *window, uint64_t *rows_left);
void line_table_release(struct line_table *table);

/* Appends the path of @file, with the folders before it, "." and ".." taken out. 1 known, 0 not,
 * -ENOMEM. */
int line_table_path(const struct line_table *table, const struct dwarf_unit *unit, uint64_t file,
		    struct bytes *out);
