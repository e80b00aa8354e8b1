/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols are read first, because they name the outermost functions of DWARF. Then each unit of
 * DWARF is read and added to the builder before the next one. Go's table is read if there is no
 * DWARF. In the end the builder makes the table.
 *
 * An error in one source loses only that source. Compilation fails if the main file is no ELF file
 * or memory is short.
 */

#include "symbolizer/symbols/compile/symbol_compile.h"

#include <stdio.h>
#include <string.h>

#include "common/file.h"
#include "common/scoped.h"
#include "symbolizer/symbols/compile/compile_dwarf.h"
#include "symbolizer/symbols/compile/go_table.h"
#include "symbolizer/symbols/compile/table_builder.h"
#include "symbolizer/symbols/elf/image_symbols.h"
#include "symbolizer/symbols/elf/nameless_functions.h"
#include "symbolizer/symbols/symbol_limits.h"
#include "symbolizer/symbols/table/symbol_file.h"
#include "symbolizer/symbols/table/symbol_pack.h"

enum input_file {
	FILE_MAIN,
	FILE_EXECUTABLE,
	FILE_ALT,
	FILE_SPLIT,
	N_INPUT_FILES,
};

struct compilation {
	struct elf_image images[N_INPUT_FILES];
	bool is_open[N_INPUT_FILES];
	struct code_section_vec code;
	struct image_symbols symbols;
	struct bytes mini_debuginfo;
	struct function_range_vec ranges;
	struct nameless_vec nameless;
	struct code_window window;
	struct table_builder builder;
	struct compile_dwarf dwarf;
	struct symbol_compile_report *report;
};

static void compilation_release(struct compilation *compilation)
{
	compile_dwarf_release(&compilation->dwarf);
	table_builder_release(&compilation->builder);
	vec_release(&compilation->ranges);
	vec_release(&compilation->nameless);
	vec_release(&compilation->symbols.functions);
	arena_free(compilation->symbols.names);
	vec_release(&compilation->code);
	bytes_release(&compilation->mini_debuginfo);
	for (size_t i = 0; i < N_INPUT_FILES; i++)
		elf_image_release(&compilation->images[i]);
}

/* Opens the files. One that cannot be opened is not used, except that the main file is required. */
static int open_images(struct compilation *compilation, const struct symbol_compile_input *input)
{
	const int fds[N_INPUT_FILES] = { input->main_fd, input->executable_fd, input->alt_fd,
					 input->split_fd };

	for (size_t i = 0; i < N_INPUT_FILES; i++) {
		int r;

		if (fds[i] < 0)
			continue;
		r = elf_image_open(&compilation->images[i], fds[i], compilation->report->message);
		if (r == -ENOMEM || (r < 0 && i == FILE_MAIN))
			return r;
		compilation->is_open[i] = r == 0;
	}
	return 0;
}

/* Ignores errors of one source, except for -ENOMEM. Its message is in the report. */
static int ignore_damage(int r)
{
	return r == -ENOMEM ? r : 0;
}

static int read_symbols_of(struct compilation *compilation, enum input_file file)
{
	struct elf_image *image = &compilation->images[file];
	int r;

	if (!compilation->is_open[file])
		return 0;
	r = image_symbols_read(&compilation->symbols, image);
	if (ignore_damage(r) == 0)
		r = image_symbols_read_plt(&compilation->symbols, image);
	if (ignore_damage(r) == 0)
		r = image_symbols_read_mini(&compilation->symbols, image,
					    &compilation->mini_debuginfo);
	return ignore_damage(r);
}

static int read_symbols(struct compilation *compilation)
{
	struct image_symbols *symbols = &compilation->symbols;
	int r;

	symbols->code = &compilation->code;
	r = arena_new(SYMBOL_NAMES_MAX_BYTES, &symbols->names);
	if (r < 0)
		return r;
	r = image_code_sections(&compilation->images[FILE_MAIN], &compilation->code);
	if (r == 0 && compilation->code.count == 0 && compilation->is_open[FILE_EXECUTABLE])
		r = image_code_sections(&compilation->images[FILE_EXECUTABLE], &compilation->code);
	if (r < 0)
		return r;
	r = read_symbols_of(compilation, FILE_MAIN);
	if (r < 0)
		return r;
	r = read_symbols_of(compilation, FILE_EXECUTABLE);
	if (r < 0)
		return r;
	return function_ranges_make(&symbols->functions, &compilation->ranges);
}

/*
 * Offsets in the table have 32 bits. If the code spans more, the window is the 4 GiB from the start
 * of the largest section of code; without sections, from the first symbol.
 */
static void choose_window(struct compilation *compilation)
{
	const struct code_section_vec *code = &compilation->code;
	uint64_t start = 0;
	uint64_t largest = 0;
	uint64_t code_bytes = 0;

	for (size_t i = 0; i < code->count; i++)
		code_bytes += code->items[i].end - code->items[i].start;
	if (code->count > 0) {
		const uint64_t end = code->items[code->count - 1].end;

		start = code->items[0].start;
		for (size_t i = 0; i < code->count && end - start >= UINT32_MAX - 1; i++) {
			const struct code_section *section = &code->items[i];

			if (section->end - section->start > largest) {
				largest = section->end - section->start;
				start = section->start;
			}
		}
	} else if (compilation->ranges.count > 0) {
		start = compilation->ranges.items[0].start;
	}
	compilation->window = (struct code_window){
		.start = start,
		.code_bytes = code_bytes,
		.code = code,
	};
}

static int read_dwarf(struct compilation *compilation)
{
	struct elf_image *images[N_DWARF_FILES] = {
		[DWARF_MAIN] = &compilation->images[FILE_MAIN],
		[DWARF_ALT] =
			compilation->is_open[FILE_ALT] ? &compilation->images[FILE_ALT] : NULL,
		[DWARF_SPLIT] =
			compilation->is_open[FILE_SPLIT] ? &compilation->images[FILE_SPLIT] : NULL,
	};

	return compile_dwarf(&compilation->dwarf, images, &compilation->window,
			     &compilation->builder, compilation->report);
}

/* Reads Go's table if there is no DWARF, which has more. */
static int read_go(struct compilation *compilation)
{
	int r = 0;

	if (compilation->report->sources & SYMBOL_SOURCE_DWARF)
		return 0;
	for (size_t i = FILE_MAIN; i <= FILE_EXECUTABLE && r == 0; i++) {
		if (compilation->is_open[i])
			r = go_table_read(&compilation->images[i], &compilation->code,
					  &compilation->builder);
	}
	if (r > 0)
		compilation->report->sources |= SYMBOL_SOURCE_GO | SYMBOL_SOURCE_LINES;
	if (r < 0 && compilation->report->message[0] == '\0')
		snprintf(compilation->report->message, sizeof(compilation->report->message),
			 "Go's table is damaged: some functions and lines are unknown");
	return ignore_damage(r);
}

/*
 * Reads .eh_frame of the first file that has one: debug files have only the header of that section.
 */
static int read_nameless(struct compilation *compilation)
{
	int r = 0;

	for (size_t i = FILE_MAIN; i <= FILE_EXECUTABLE && r == 0; i++) {
		if (compilation->is_open[i] && compilation->nameless.count == 0)
			r = ignore_damage(nameless_functions_read(&compilation->images[i],
								  &compilation->code,
								  &compilation->nameless));
	}
	return r;
}

static int dwarf_name(void *argument, uint64_t entry, struct bytes *linkage, struct bytes *display)
{
	struct compilation *compilation = argument;

	return dwarf_names_append(&compilation->dwarf.names, entry, linkage, display);
}

/* Lists the load segments that have bytes in the file. Those of a debug file have none. */
static int make_segments(const struct compilation *compilation, struct arena *arena,
			 struct symbol_segment **ret_segments, uint32_t *ret_count)
{
	const struct elf_image *image = compilation->is_open[FILE_EXECUTABLE]
						? &compilation->images[FILE_EXECUTABLE]
						: &compilation->images[FILE_MAIN];
	struct symbol_segment *segments;
	uint32_t count = 0;

	segments = arena_alloc_array(arena, image->n_segments + 1UL, sizeof(*segments));
	if (!segments)
		return -ENOMEM;
	for (uint32_t i = 0; i < image->n_segments; i++) {
		const struct elf_image_segment *segment = &image->segments[i];

		if (segment->file_bytes > 0)
			segments[count++] = (struct symbol_segment){
				.file_offset = segment->file_offset,
				.elf_addr = segment->elf_addr,
				.size = segment->file_bytes,
			};
	}
	*ret_segments = segments;
	*ret_count = count;
	return 0;
}

static int finish(struct compilation *compilation, struct bytes *flat)
{
	struct symbol_compile_report *report = compilation->report;
	const struct image_symbols *symbols = &compilation->symbols;
	struct symbol_segment *segments;
	struct builder_output output = {
		.names = dwarf_name,
		.names_argument = compilation,
		.nameless = &compilation->nameless,
	};
	const size_t at = flat->size;
	int r;

	report->sources |= symbols->sources;
	output.header.sources = report->sources;
	output.header.has_text = symbols->has_text;
	output.header.text = symbols->text;
	elf_image_build_id(&compilation->images[FILE_MAIN], &output.header.id);
	r = make_segments(compilation, symbols->names, &segments, &output.header.n_segments);
	if (r < 0)
		return r;
	output.segments = segments;
	r = table_builder_finish(&compilation->builder, &output, flat);
	if (r < 0)
		return r;

	memcpy(&output.header, flat->data + at, sizeof(output.header));
	report->flat_bytes = output.header.total_bytes;
	report->n_ranges = output.header.n_ranges;
	report->n_locations = output.header.n_locations;
	report->n_functions = output.header.n_functions;
	return 0;
}

static int compile(struct compilation *compilation, const struct symbol_compile_input *input,
		   struct bytes *flat)
{
	int r;

	r = open_images(compilation, input);
	if (r < 0)
		return r;
	r = read_symbols(compilation);
	if (r < 0)
		return r;
	choose_window(compilation);
	r = table_builder_init(&compilation->builder, compilation->window.start,
			       &compilation->ranges);
	if (r < 0)
		return r;
	r = read_dwarf(compilation);
	if (r < 0)
		return r;
	r = read_go(compilation);
	if (r < 0)
		return r;
	r = read_nameless(compilation);
	if (r < 0)
		return r;
	return finish(compilation, flat);
}

int symbol_compile_flat(const struct symbol_compile_input *input, struct bytes *flat,
			struct symbol_compile_report *ret_report)
{
	struct compilation compilation = {
		.report = ret_report,
		.mini_debuginfo = BYTES_INIT(MINI_DEBUGINFO_MAX_BYTES),
	};
	int r;

	*ret_report = (struct symbol_compile_report){};
	r = compile(&compilation, input, flat);
	compilation_release(&compilation);
	return r;
}

int symbol_compile(const struct symbol_compile_input *input, int out_fd,
		   struct symbol_compile_report *ret_report)
{
	struct bytes flat = BYTES_INIT(SYMBOL_FLAT_MAX_BYTES);
	struct bytes stored = BYTES_INIT(SYMBOL_FLAT_MAX_BYTES);
	int r;

	r = symbol_compile_flat(input, &flat, ret_report);
	if (r == 0)
		r = symbol_pack(bytes_view_of(&flat), &stored);
	bytes_release(&flat);
	if (r == 0)
		r = write_all(out_fd, stored.data, stored.size);
	bytes_release(&stored);
	return r;
}
