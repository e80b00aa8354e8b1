/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the two sources of rows in an unstripped Go program: Go's table of functions, and the
 * .debug_frame that Go's linker writes. Where a row of either begins, both must have the same CFA.
 *
 *   go_check [-v] FILE...      exits 1 below 99.9 % of agreement, or if a file lacks one of them
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/unwind/file/section_reader.h"
#include "agent/unwind/go/go_file.h"
#include "agent/unwind/go/go_frames.h"
#include "agent/unwind/table/unwind_table.h"
#include "common/scoped.h"

#define MAX_SECTION_BYTES ((size_t)(256 * MIB))

struct agreement {
	uint64_t same, differs, special, only_go, only_dwarf;
};

static struct unwind_builder *builder_of(const struct elf_file *elf,
					 const struct unwind_dialect *dialect)
{
	struct unwind_builder *builder = NULL;

	return unwind_builder_new(dialect, elf->load_segments, elf->n_load_segments, &builder) < 0
		       ? NULL
		       : builder;
}

static bool finish(struct unwind_builder *builder, struct unwind_table *ret_table)
{
	struct unwind_table_stats stats;

	return unwind_builder_finish(builder, ret_table, &stats) == 0 && ret_table->n_rows > 0;
}

static bool compile_go(const struct elf_file *elf, const struct unwind_dialect *dialect,
		       struct unwind_table *ret_table)
{
	scoped(unwind_builder_freep) struct unwind_builder *builder = builder_of(elf, dialect);
	struct go_file go;

	return builder && go_file_find(elf, &go) == 1 &&
	       go_frames_add(elf, &go.pclntab, go.text_start, dialect, builder) == 1 &&
	       finish(builder, ret_table);
}

static bool compile_dwarf(const struct elf_file *elf, const struct unwind_dialect *dialect,
			  struct unwind_table *ret_table)
{
	scoped(unwind_builder_freep) struct unwind_builder *builder = builder_of(elf, dialect);
	scoped(section_reader_freep) struct section_reader *reader = NULL;
	scoped(bytes_release) struct bytes content = BYTES_INIT(MAX_SECTION_BYTES);
	const struct elf_section *found = elf_file_section(elf, ".debug_frame");
	struct eh_frame_section section = { .is_debug_frame = true };

	if (!builder || !found ||
	    section_reader_new(elf, found->file_offset, found->size, found->flags & 0x800,
			       MAX_SECTION_BYTES, &reader) != 1)
		return false;
	section.size = section_reader_size(reader);
	if (bytes_reserve(&content, section.size) < 0 ||
	    section_reader_read(reader, content.data, section.size) != (ssize_t)section.size)
		return false;
	content.size = section.size;
	return unwind_builder_add_section(builder, &section, bytes_view_of(&content)) == 0 &&
	       finish(builder, ret_table);
}

static bool is_by_sp(const struct abi_unwind_rule *rule)
{
	return rule->cfa == UNWIND_CFA_SP;
}

static void compare_at(uint64_t elf_addr, const struct unwind_table *go,
		       const struct unwind_table *dwarf, struct agreement *agreement, bool verbose)
{
	const struct abi_unwind_rule *a = unwind_table_find(go, elf_addr);
	const struct abi_unwind_rule *b = unwind_table_find(dwarf, elf_addr);
	bool is_same = is_by_sp(a) && is_by_sp(b) && a->cfa_offset == b->cfa_offset &&
		       a->ra == b->ra && a->ra_offset == b->ra_offset;

	if (b->cfa == UNWIND_CFA_NONE || b->cfa == UNWIND_CFA_UNSUPPORTED)
		agreement->only_go += a->cfa != UNWIND_CFA_NONE;
	else if (a->cfa == UNWIND_CFA_NONE)
		agreement->only_dwarf++;
	else if (is_same)
		agreement->same++;
	else if (!is_by_sp(a))
		agreement->special++;
	else
		agreement->differs++;
	if (verbose && !is_same && a->cfa != UNWIND_CFA_NONE && b->cfa != UNWIND_CFA_NONE &&
	    b->cfa != UNWIND_CFA_UNSUPPORTED)
		printf("  %" PRIx64 ": go cfa %d+%d ra %d+%d, .debug_frame cfa %d+%d ra %d+%d\n",
		       elf_addr, a->cfa, a->cfa_offset, a->ra, a->ra_offset, b->cfa, b->cfa_offset,
		       b->ra, b->ra_offset);
}

/* At the start of each row of @rows_of. */
static void compare_rows(const struct unwind_table *rows_of, const struct unwind_table *go,
			 const struct unwind_table *dwarf, struct agreement *agreement,
			 bool verbose)
{
	for (uint32_t page = 0; page < rows_of->n_pages; page++)
		for (uint32_t row = rows_of->page_first[page]; row < rows_of->page_first[page + 1];
		     row++)
			compare_at(rows_of->base_address + ((uint64_t)page << UNWIND_PAGE_SHIFT) +
					   rows_of->rows[row].offset,
				   go, dwarf, agreement, verbose);
}

static bool check(const char *path, bool verbose)
{
	scoped(unwind_table_release) struct unwind_table go = {}, dwarf = {};
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	struct unwind_dialect dialect = {};
	struct agreement agreement = {};
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t n_compared;

	if (fd < 0 || elf_file_open(fd, &elf) < 0)
		return false;
	dialect.machine = cfi_machine_of(elf->machine);
	if (!dialect.machine || !compile_go(elf, &dialect, &go) ||
	    !compile_dwarf(elf, &dialect, &dwarf)) {
		printf("%s: lacks one of the two tables\n", path);
		return false;
	}
	compare_rows(&go, &go, &dwarf, &agreement, verbose);
	compare_rows(&dwarf, &go, &dwarf, &agreement, false);
	n_compared = agreement.same + agreement.differs;
	printf("%s: %" PRIu64 " rows agree, %" PRIu64 " differ, %" PRIu64
	       " at ends and switches of stacks, %" PRIu64 " of .gopclntab alone, %" PRIu64
	       " of .debug_frame alone\n",
	       path, agreement.same, agreement.differs, agreement.special, agreement.only_go,
	       agreement.only_dwarf);
	return agreement.differs * 1000 <= n_compared && agreement.only_dwarf * 1000 <= n_compared;
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	bool all_agree = true;

	for (int i = 1 + verbose; i < argc; i++)
		all_agree = check(argv[i], verbose) && all_agree;
	return all_agree ? EXIT_SUCCESS : EXIT_FAILURE;
}
