/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/unwind_table.h"

#include <elf.h>

#include "agent/unwind/eh_frame_file.h"
#include "agent/unwind/entry_frames.h"
#include "agent/unwind/gap_frames.h"
#include "agent/unwind/go_file.h"
#include "agent/unwind/go_frames.h"
#include "agent/unwind/musl_frames.h"
#include "agent/unwind/section_reader.h"
#include "agent/unwind/start_code.h"
#include "agent/unwind/unwind_builder.h"
#include "common/file.h"

/*
 * Finds the call frame information of a file, and feeds it to the parser in windows
 * (eh_frame_file.h): memory is what the rows take, and a window. Everything else is done by what
 * this folder's other files do with bytes.
 */

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

static const struct load_segment *segment_of(const struct elf_file *elf, uint64_t vaddr)
{
	for (size_t i = 0; i < elf->n_load_segments; i++)
		if (vaddr >= elf->load_segments[i].vaddr &&
		    vaddr - elf->load_segments[i].vaddr < elf->load_segments[i].file_size)
			return &elf->load_segments[i];
	return NULL;
}

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

/* Without section headers: PT_GNU_EH_FRAME leads to .eh_frame. */
static int add_by_header(const struct elf_file *elf, struct unwind_builder *builder)
{
	const struct eh_frame_visit visit = visit_of(builder);
	struct eh_frame_section section = { .is_open_ended = true };
	scoped(section_reader_freep) struct section_reader *reader = NULL;
	const struct load_segment *segment;
	uint8_t content[32];
	uint64_t into_segment;
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
	segment = segment_of(elf, section.vaddr);
	if (!segment)
		return 0;
	into_segment = section.vaddr - segment->vaddr;
	r = section_reader_new(elf, segment->file_offset + into_segment,
			       segment->file_size - into_segment, false, EH_FRAME_FILE_MAX_BYTES,
			       &reader);
	return r <= 0 ? r : eh_frame_file_read(elf, &section, reader, &visit);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* 1 added, 0 no Go program. */
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
 * .eh_frame first: where both cover an address, it wins. Go's own table knows of frame pointers and
 * of other stacks, which Go's .debug_frame does not; that is read where it stands alone.
 */
static int add_all(const struct elf_file *elf, const struct unwind_dialect *dialect,
		   struct unwind_builder *builder)
{
	const struct eh_frame_visit visit = visit_of(builder);
	int r = entry_frames_add_context(elf, builder);
	bool is_go = false;

	if (r == 0)
		r = eh_frame_file_each(elf, ".eh_frame", false, &visit);
	if (r == 0)
		r = add_by_header(elf, builder);
	if (r >= 0)
		r = add_go(elf, dialect, builder);
	is_go = r > 0;
	if (r == 0)
		r = eh_frame_file_each(elf, ".debug_frame", true, &visit);
	if (r >= 0)
		r = musl_frames_are_needed(elf);
	if (r > 0)
		return musl_frames_add(elf, builder);
	if (r == 0)
		r = entry_frames_add_start(elf, builder);
	if (r == 0)
		r = entry_frames_add_clone(elf, builder);
	if (r == 0)
		r = start_code_add(elf, builder);
	return r == 0 && !is_go ? gap_frames_add(elf, builder) : r;
}

/* 1 done; 0 it has to be done again, with the kept register followed. */
static int compile_as(const struct elf_file *elf, const struct unwind_dialect *dialect,
		      struct unwind_table *ret_table, struct unwind_table_stats *ret_stats)
{
	scoped(unwind_builder_freep) struct unwind_builder *builder = NULL;
	int r;

	r = unwind_builder_new(dialect, elf->load_segments, elf->n_load_segments, &builder);
	if (r < 0)
		return r;
	r = add_all(elf, dialect, builder);
	if (r < 0)
		return r;
	if (unwind_builder_needs_kept(builder))
		return 0;
	r = unwind_builder_finish(builder, ret_table, ret_stats);
	return r < 0 ? r : 1;
}

int unwind_table_compile(const struct elf_file *elf, struct unwind_table *ret_table,
			 struct unwind_table_stats *ret_stats)
{
	struct unwind_dialect dialect = { .machine = cfi_machine_of(elf->machine) };
	int r;

	/* Relocatable objects have no addresses yet. */
	if (!dialect.machine || (elf->type != ET_EXEC && elf->type != ET_DYN)) {
		*ret_table = (struct unwind_table){};
		*ret_stats = (struct unwind_table_stats){};
		return 0;
	}
	/* Following the register costs rules and rows, and hardly any executable needs it. */
	r = compile_as(elf, &dialect, ret_table, ret_stats);
	if (r == 0) {
		dialect.follows_kept = true;
		r = compile_as(elf, &dialect, ret_table, ret_stats);
	}
	return r < 0 ? r : ret_table->n_rows > 0;
}

void unwind_table_release(struct unwind_table *table)
{
	free(table->page_first);
	free(table->rows);
	free(table->rules);
	*table = (struct unwind_table){};
}

/* The last row at or below the address in its page, of which there is one. */
static const struct abi_unwind_row *find_row(const struct unwind_table *table, uint64_t page,
					     uint16_t offset)
{
	uint32_t low = table->page_first[page];
	uint32_t high = table->page_first[page + 1];

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (table->rows[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return &table->rows[low];
}

const struct abi_unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t elf_addr)
{
	static const struct abi_unwind_rule none = { .cfa = UNWIND_CFA_NONE };
	uint64_t page = (elf_addr - table->base_address) >> UNWIND_PAGE_SHIFT;

	if (elf_addr < table->base_address || page >= table->n_pages)
		return &none;
	return &table->rules[find_row(table, page, (uint16_t)(elf_addr & UNWIND_PAGE_MASK))->rule];
}
