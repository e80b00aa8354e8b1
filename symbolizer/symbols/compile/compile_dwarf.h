/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * All units of a file's DWARF into a table builder.
 */

#include "symbolizer/symbols/compile/dwarf_names.h"
#include "symbolizer/symbols/compile/location_map.h"
#include "symbolizer/symbols/compile/symbol_compile.h"

struct compile_dwarf {
	struct dwarf_file files[N_DWARF_FILES];
	struct dwarf_scopes scopes;
	struct dwarf_names names; /* once all units are read */
	struct dwarf_walk walk;
	struct location_map map;
	uint64_t rows_left;
	size_t n_named; /* of the builder's functions */
};

/* @images[DWARF_MAIN] is there, the others may be NULL. 0 also when the DWARF is damaged: the
 * report's message says so. -ENOMEM. Release also after an error, or when zeroed. */
int compile_dwarf(struct compile_dwarf *compile, struct elf_image *const images[N_DWARF_FILES],
		  const struct code_window *window, struct table_builder *builder,
		  struct symbol_compile_report *report);
void compile_dwarf_release(struct compile_dwarf *compile);
