/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/compile/compile_dwarf.h"

#include <dwarf.h>
#include <stdio.h>

#include "symbolizer/symbols/symbol_limits.h"
#include "symbolizer/symbols/table/symbol_file.h"

/* Bytes of units read after which the file's pages are dropped from memory. */
#define WALKED_BYTES_KEPT (64 * MIB)

/* The report has one message: the first one stays. */
static void report_problem(struct symbol_compile_report *report, const char *what)
{
	if (report->message[0] == '\0')
		snprintf(report->message, sizeof(report->message), "%s", what);
}

static int open_files(struct compile_dwarf *compile, struct elf_image *const images[N_DWARF_FILES])
{
	int r = 0;

	for (unsigned int i = 0; i < N_DWARF_FILES && r >= 0; i++) {
		if (images[i])
			r = dwarf_file_open(&compile->files[i], i, images[i]);
	}
	for (unsigned int i = 0; i < N_DWARF_FILES; i++) {
		for (unsigned int j = 0; j < N_DWARF_FILES; j++)
			compile->files[i].files[j] = images[j] ? &compile->files[j] : NULL;
	}
	return r;
}

/* Sets the limits for all units together: 2 rows for each byte of .debug_line, 4 ranges for each
 * byte of range lists and 1 for each byte of .debug_info. */
static int prepare(struct compile_dwarf *compile, const struct code_window *window,
		   struct table_builder *builder)
{
	uint64_t ranges = 0;
	uint64_t rows = 0;

	for (unsigned int i = 0; i < N_DWARF_FILES; i++) {
		const struct dwarf_file *file = &compile->files[i];

		/* A range takes at least a byte; a few functions may share a list. */
		ranges += file->info.size + 4 * (file->ranges.size + file->rnglists.size);
		rows += 2 * file->line.size;
	}
	compile->rows_left = rows;
	location_map_init(&compile->map, builder);
	return dwarf_walk_init(&compile->walk, window, &compile->scopes, ranges);
}

/*
 * Returns the split unit of which @unit is the skeleton; @unit itself if it is no skeleton, or if
 * its split unit is missing.
 */
static struct dwarf_unit *split_unit_of(struct dwarf_unit *unit,
					struct symbol_compile_report *report)
{
	struct dwarf_file *split = unit->file->files[DWARF_SPLIT];
	struct dwarf_unit *found = NULL;

	if (!unit->split_name || unit->file->index != DWARF_MAIN)
		return unit;
	if (split)
		found = dwarf_unit_by_id(split, unit->id, false);
	if (!found) {
		report->wants_split = true;
		report_problem(report,
			       split ? "the split DWARF lacks units that the program names: it is "
				       "not the one of this build"
				     : "the program's DWARF was split off: upload its .dwp too");
		return unit;
	}
	found->skeleton = unit;
	return found;
}

/* Finds names and first lines of the functions of the last unit now, while its pages are in memory.
 * At the end, functions are named in order of address, which would read all units again. */
static void name_functions(struct compile_dwarf *compile)
{
	struct builder_function_vec *functions = &compile->map.builder->functions;

	for (; compile->n_named < functions->count; compile->n_named++) {
		struct builder_function *function = &functions->items[compile->n_named];

		const char *name;

		if (function->declared == UINT64_MAX)
			continue;
		name = dwarf_names_plain(&compile->names, function->declared,
					 &function->first_line);
		if (function->entry != UINT64_MAX)
			function->name = name;
	}
}

static int read_unit(struct compile_dwarf *compile, struct dwarf_unit *unit,
		     struct symbol_compile_report *report)
{
	int walked, r;

	r = dwarf_unit_read(unit);
	if (r < 0)
		return r;
	unit = split_unit_of(unit, report);
	walked = dwarf_walk_unit(&compile->walk, unit);
	if (walked == -ENOMEM || walked == -EFBIG)
		return walked;
	if (unit->file->index == DWARF_ALT || unit->unit_type == DW_UT_partial)
		return walked;
	r = line_table_read(&compile->map.lines, unit, compile->walk.window, &compile->rows_left);
	if (r < 0)
		return r;
	if (compile->map.lines.rows.count > 0)
		report->sources |= SYMBOL_SOURCE_LINES;
	if (compile->walk.code.ranges.count > 0)
		report->sources |= SYMBOL_SOURCE_DWARF;
	r = location_map_add(&compile->map, unit, &compile->walk.code);
	name_functions(compile);
	return r < 0 ? r : walked;
}

/* Reads the first entries of split units, because those of DWARF 4 have their id there. */
static int read_split_ids(struct dwarf_file *file)
{
	for (size_t i = 0; i < file->units.count; i++) {
		int r = dwarf_unit_read(&file->units.items[i]);

		if (r == -ENOMEM)
			return r;
	}
	return dwarf_file_sort_ids(file);
}

/* Drops pages that were read: references to units before the current one are rare. */
static void drop_walked(const struct dwarf_unit *unit, uint64_t *walked_bytes)
{
	*walked_bytes += unit->end - unit->start;
	if (*walked_bytes < WALKED_BYTES_KEPT)
		return;
	elf_image_drop_pages(unit->file->image);
	*walked_bytes = 0;
}

static int read_file(struct compile_dwarf *compile, struct dwarf_file *file,
		     struct symbol_compile_report *report)
{
	uint64_t walked_bytes = 0;

	for (size_t i = 0; i < file->units.count; i++) {
		struct dwarf_unit *unit = &file->units.items[i];
		int r;

		/* Functions of a type unit have their code in other units. */
		if (unit->is_type)
			continue;
		r = read_unit(compile, unit, report);
		if (r == -ENOMEM)
			return r;
		if (r == -EFBIG) {
			report_problem(report,
				       "the DWARF exceeds a limit: the rest of it is not read");
			return 0;
		}
		if (r < 0)
			report_problem(report, "a unit of the DWARF is damaged: some of its "
					       "functions and lines are unknown");
		drop_walked(unit, &walked_bytes);
	}
	if (file->image)
		elf_image_drop_pages(file->image);
	return 0;
}

static int read_files(struct compile_dwarf *compile, struct symbol_compile_report *report)
{
	struct dwarf_file *alt = &compile->files[DWARF_ALT];
	int r = read_split_ids(&compile->files[DWARF_SPLIT]);

	if (r == 0)
		r = read_file(compile, alt, report);
	return r < 0 ? r : read_file(compile, &compile->files[DWARF_MAIN], report);
}

int compile_dwarf(struct compile_dwarf *compile, struct elf_image *const images[N_DWARF_FILES],
		  const struct code_window *window, struct table_builder *builder,
		  struct symbol_compile_report *report)
{
	int r;

	*compile = (struct compile_dwarf){};
	r = open_files(compile, images);
	compile->names.file = &compile->files[DWARF_MAIN];
	if (r < 0) {
		report_problem(report, "the DWARF is damaged: it is not used");
		return r == -ENOMEM ? r : 0;
	}
	report->wants_alt =
		!images[DWARF_ALT] && elf_image_section(images[DWARF_MAIN], ".gnu_debugaltlink");
	r = prepare(compile, window, builder);
	if (r == 0)
		r = read_files(compile, report);
	dwarf_scopes_sort(&compile->scopes);
	compile->names.scopes = &compile->scopes;
	return r;
}

void compile_dwarf_release(struct compile_dwarf *compile)
{
	for (unsigned int i = 0; i < N_DWARF_FILES; i++)
		dwarf_file_release(&compile->files[i]);
	dwarf_scopes_release(&compile->scopes);
	dwarf_walk_release(&compile->walk);
	location_map_release(&compile->map);
}
