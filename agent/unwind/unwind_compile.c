/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/unwind_compile.h"

#include <elf.h>

#include "agent/unwind/cfi/eh_frame_file.h"
#include "agent/unwind/file/elf_code.h"
#include "agent/unwind/file/section_reader.h"
#include "agent/unwind/go/go_file.h"
#include "agent/unwind/go/go_frames.h"
#include "agent/unwind/table/unwind_builder.h"
#include "agent/unwind/x86_code/x86_code.h"
#include "common/file.h"

/* glibc's dynamic loader has the longest known entry code: 61 bytes. */
#define ENTRY_BYTES 64

static void count_fdes(void *builder, const struct eh_frame_parser *parser)
{
	unwind_builder_count_fdes(builder, parser);
}

static struct eh_frame_visit visit_of(struct unwind_builder *builder)
{
	return (struct eh_frame_visit){
		.on_fde = unwind_builder_add_fde,
		.on_end = count_fdes,
		.argument = builder,
	};
}

/* ---- .eh_frame_hdr --------------------------------------------------------------------------- */

static bool find_program_header(const struct elf_file *elf, uint32_t type, Elf64_Phdr *ret_header)
{
	for (size_t i = 0; i < elf->n_program_headers; i++) {
		memcpy(ret_header, elf->program_headers + i * sizeof(*ret_header),
		       sizeof(*ret_header));
		if (ret_header->p_type == type)
			return true;
	}
	return false;
}

/* For files without section headers: PT_GNU_EH_FRAME contains the address of .eh_frame. */
static int add_by_header(const struct elf_file *elf, struct unwind_builder *builder)
{
	const struct eh_frame_visit visit = visit_of(builder);
	struct eh_frame_section section = { .is_open_ended = true };
	scoped(section_reader_freep) struct section_reader *reader = NULL;
	const struct load_segment *segment;
	uint8_t content[32];
	uint64_t offset;
	struct bytes_view header = { .data = content };
	Elf64_Phdr program_header;
	int r;

	if (!find_program_header(elf, PT_GNU_EH_FRAME, &program_header) ||
	    program_header.p_offset > elf->file_size)
		return 0;
	header.size = MIN(sizeof(content), program_header.p_filesz);
	header.size = MIN(header.size, elf->file_size - program_header.p_offset);
	r = pread_all(elf->fd, content, header.size, program_header.p_offset);
	if (r < 0)
		return r;
	if (!eh_frame_header_parse(header, program_header.p_vaddr, &section.vaddr,
				   &section.n_fdes_expected))
		return 0;
	segment = elf_segment_at(elf, section.vaddr, 0);
	if (!segment)
		return 0;
	offset = section.vaddr - segment->vaddr;
	r = section_reader_new(elf, segment->file_offset + offset, segment->file_size - offset,
			       false, EH_FRAME_FILE_MAX_BYTES, &reader);
	return r <= 0 ? r : eh_frame_file_read(elf, &section, reader, &visit);
}

/* ---- all sources of rows --------------------------------------------------------------------- */

/* 1: the file is a Go program, and rows were added; 0: it is not a Go program. */
static int add_go(const struct elf_file *elf, const struct unwind_dialect *dialect,
		  struct unwind_builder *builder)
{
	struct go_file go;
	int r = go_file_find(elf, &go);

	if (r <= 0)
		return r;
	return go_frames_add(elf, &go.pclntab, go.text_start, dialect, builder);
}

/*
 * Adds the rows that the file itself describes. If two sources describe the same code, the builder
 * keeps the rows that were added first, so .eh_frame comes first. Go's table is preferred to Go's
 * .debug_frame, because only the table describes frame pointers and switches of stacks.
 */
static int add_described(const struct elf_file *elf, const struct unwind_dialect *dialect,
			 struct unwind_builder *builder, bool *ret_is_go)
{
	const struct eh_frame_visit visit = visit_of(builder);
	int r = eh_frame_file_each(elf, ".eh_frame", false, &visit);

	if (r == 0)
		r = add_by_header(elf, builder);
	if (r < 0)
		return r;
	r = add_go(elf, dialect, builder);
	*ret_is_go = r > 0;
	if (r != 0)
		return MIN(r, 0);
	r = eh_frame_file_each(elf, ".debug_frame", true, &visit);
	return MIN(r, 0);
}

/*
 * Adds a row that ends the stack at the code of the entry point, because that code has no caller,
 * and because a dynamic loader's entry code is hand-written without call frame information. The
 * row covers ENTRY_BYTES, less if the segment ends before.
 */
static int add_program_entry(const struct elf_file *elf, struct unwind_builder *builder)
{
	struct unwind_builder_row row = { .start = elf->entry, .rule = { .cfa = UNWIND_CFA_END } };

	for (size_t i = 0; elf->entry && i < elf->n_load_segments; i++) {
		const struct load_segment *segment = &elf->load_segments[i];
		uint64_t offset = elf->entry - segment->vaddr;

		if (!(segment->flags & PF_X) || offset >= segment->memory_size)
			continue;
		unwind_builder_sort(builder);
		if (unwind_builder_covers(builder, elf->entry))
			return 0;
		return unwind_builder_add_rows(
			builder, &row, 1,
			elf->entry + MIN((uint64_t)ENTRY_BYTES, segment->memory_size - offset));
	}
	return 0;
}

static int add_all(const struct elf_file *elf, const struct unwind_options *options,
		   const struct unwind_dialect *dialect, struct unwind_builder *builder)
{
	bool is_go = false;
	int r;

	if (!options->skip_x86_code) {
		r = x86_code_add_replacements(elf, builder);
		if (r < 0)
			return r;
	}
	r = add_described(elf, dialect, builder, &is_go);
	if (r < 0)
		return r;
	if (!options->skip_x86_code) {
		r = x86_code_add_musl(elf, builder);
		if (r != 0)
			return MIN(r, 0);
	}
	r = add_program_entry(elf, builder);
	if (r < 0 || options->skip_x86_code)
		return r;
	return x86_code_add_missing(elf, is_go, builder);
}

/*
 * 1: compiled; 0: a CFA is computed from the kept register (cfi_program.h), so the caller must
 * compile the file again with dialect.follows_kept.
 */
static int compile_as(const struct elf_file *elf, const struct unwind_options *options,
		      const struct unwind_dialect *dialect, struct unwind_table *ret_table,
		      struct unwind_table_stats *ret_stats)
{
	scoped(unwind_builder_freep) struct unwind_builder *builder = NULL;
	int r;

	r = unwind_builder_new(dialect, elf->load_segments, elf->n_load_segments, &builder);
	if (r < 0)
		return r;
	r = add_all(elf, options, dialect, builder);
	if (r < 0)
		return r;
	if (unwind_builder_needs_kept(builder))
		return 0;
	r = unwind_builder_finish(builder, ret_table, ret_stats);
	return r < 0 ? r : 1;
}

int unwind_table_compile(const struct elf_file *elf, const struct unwind_options *options,
			 struct unwind_table *ret_table, struct unwind_table_stats *ret_stats)
{
	struct unwind_dialect dialect = { .machine = cfi_machine_of(elf->machine) };
	int r;

	/* Relocatable objects have no addresses yet. */
	if (!dialect.machine || (elf->type != ET_EXEC && elf->type != ET_DYN)) {
		*ret_table = (struct unwind_table){};
		*ret_stats = (struct unwind_table_stats){};
		return 0;
	}
	/*
	 * First without the kept register: following it takes more rules and rows, and few
	 * executables need it.
	 */
	r = compile_as(elf, options, &dialect, ret_table, ret_stats);
	if (r == 0) {
		dialect.follows_kept = true;
		r = compile_as(elf, options, &dialect, ret_table, ret_stats);
	}
	return r < 0 ? r : ret_table->n_rows > 0;
}
