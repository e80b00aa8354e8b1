/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_code/x86_code.h"

#include "agent/unwind/x86_code/crt_rows.h"
#include "agent/unwind/x86_code/function_starts.h"
#include "agent/unwind/x86_code/gap_rows.h"
#include "agent/unwind/x86_code/glibc_rows.h"
#include "agent/unwind/x86_code/musl_rows.h"

int x86_code_add_replacements(const struct elf_file *elf, struct unwind_builder *builder)
{
	return glibc_rows_add_context(elf, builder);
}

int x86_code_add_musl(const struct elf_file *elf, struct unwind_builder *builder)
{
	int r = musl_rows_are_needed(elf);

	if (r <= 0)
		return r;
	r = musl_rows_add(elf, builder);
	return r < 0 ? r : 1;
}

int x86_code_add_missing(const struct elf_file *elf, bool is_go, struct unwind_builder *builder)
{
	int r = glibc_rows_add_clone(elf, builder);

	if (r < 0)
		return r;
	r = crt_rows_add(elf, builder);
	if (r < 0 || is_go)
		return r;
	r = gap_rows_add(elf, builder);
	return MIN(r, 0);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static int visit_musl(const struct elf_file *elf, x86_code_input_function on_input, void *arg)
{
	const struct load_segment *segment;
	struct x86_code_input input = {};

	segment = musl_rows_segment(elf, &input.size);
	if (!segment)
		return 0;
	input.file_offset = segment->file_offset;
	return on_input(arg, &input);
}

static int visit_crt(const struct elf_file *elf, x86_code_input_function on_input, void *arg)
{
	struct crt_range ranges[CRT_MAX_RANGES];
	int n = crt_ranges_find(elf, ranges);

	for (int i = 0; i < n; i++) {
		const struct x86_code_input input = {
			.file_offset = ranges[i].file_offset,
			.size = ranges[i].size,
			.facts = { ranges[i].vaddr, ranges[i].functions[0],
				   ranges[i].functions[ranges[i].n_functions - 1] },
			.is_small = true,
		};
		int r = on_input(arg, &input);

		if (r < 0)
			return r;
	}
	return MIN(n, 0);
}

static int visit_gaps(const struct elf_file *elf, x86_code_input_function on_input, void *arg)
{
	int r = gap_rows_are_needed(elf);

	if (r <= 0)
		return r;
	for (size_t i = 0; i < elf->n_sections; i++) {
		const struct elf_section *section = &elf->sections[i];
		const struct x86_code_input input = {
			.file_offset = section->file_offset,
			.size = section->size,
			.facts = { section->vaddr, section->type, section->flags,
				   function_starts_source(elf, section) },
		};

		if (function_starts_source(elf, section) == STARTS_FROM_NONE)
			continue;
		r = on_input(arg, &input);
		if (r < 0)
			return r;
	}
	return 0;
}

int x86_code_each_input(const struct elf_file *elf, bool is_go, x86_code_input_function on_input,
			void *arg)
{
	int r = musl_rows_are_needed(elf);

	if (r != 0)
		return r < 0 ? r : visit_musl(elf, on_input, arg);
	r = visit_crt(elf, on_input, arg);
	if (r < 0 || is_go)
		return r;
	return visit_gaps(elf, on_input, arg);
}
