/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Adds the functions and lines of all units of a file's DWARF to a table builder.
 */

#include "symbolizer/symbols/compile/dwarf_names.h"
#include "symbolizer/symbols/compile/location_map.h"
#include "symbolizer/symbols/compile/symbol_compile.h"

struct compile_dwarf {
	struct dwarf_file files[N_DWARF_FILES];
	struct dwarf_scopes scopes;
	struct dwarf_names names;
	struct dwarf_walk walk;
	struct location_map map;
	uint64_t rows_left;
	size_t n_named; /* the builder's functions that name_functions() has passed */
};

/*
 * @images[DWARF_MAIN] is required, the others may be NULL. Damaged DWARF is no error: the result is
 * 0 and the report's message names the missing part. -ENOMEM. The caller releases @compile also
 * after an error; a zeroed one may be released, too.
 */
int compile_dwarf(struct compile_dwarf *compile, struct elf_image *const images[N_DWARF_FILES],
		  const struct code_window *window, struct table_builder *builder,
		  struct symbol_compile_report *report);
void compile_dwarf_release(struct compile_dwarf *compile);
