/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_code/crt_rows.h"

#include <elf.h>
#include <endian.h>
#include <string.h>

#include "agent/unwind/file/elf_code.h"
#include "agent/unwind/x86_code/gap_analysis.h"
#include "common/file.h"
#include "common/scoped.h"

/* Size of _init and _fini. libcrypto's has 28 bytes. */
#define INIT_BYTES 64

/* Maximum number of entries of the dynamic section that are read. Libraries have 30. */
#define MAX_DYNAMIC 128

/*
 * How much of crtbegin.o is analyzed before the first function that an array refers to (it calls
 * two others), and after the last one.
 */
#define CRT_BYTES_BEFORE 128
#define CRT_BYTES_AFTER  64

/* Addresses; 0: there is none. */
struct start_functions {
	uint64_t init, fini;             /* _init, _fini */
	uint64_t init_array, fini_array; /* the arrays themselves */
};

static void take_dynamic(const Elf64_Dyn *entry, struct start_functions *functions)
{
	switch (le64toh((uint64_t)entry->d_tag)) {
	case DT_INIT:
		functions->init = le64toh(entry->d_un.d_ptr);
		break;
	case DT_FINI:
		functions->fini = le64toh(entry->d_un.d_ptr);
		break;
	case DT_INIT_ARRAY:
		functions->init_array = le64toh(entry->d_un.d_ptr);
		break;
	case DT_FINI_ARRAY:
		functions->fini_array = le64toh(entry->d_un.d_ptr);
		break;
	default:
		break;
	}
}

/* 1; 0: the file has no dynamic section, because it is linked statically. */
static int read_dynamic(const struct elf_file *elf, struct start_functions *functions)
{
	Elf64_Dyn entries[MAX_DYNAMIC];

	for (size_t i = 0; i < elf->n_program_headers; i++) {
		Elf64_Phdr header;
		size_t n;
		int r;

		memcpy(&header, elf->program_headers + i * sizeof(header), sizeof(header));
		if (header.p_type != PT_DYNAMIC || header.p_offset > elf->file_size)
			continue;
		n = (size_t)MIN(header.p_filesz, elf->file_size - header.p_offset) /
		    sizeof(entries[0]);
		n = MIN(n, (size_t)MAX_DYNAMIC);
		r = pread_all(elf->fd, (uint8_t *)entries, n * sizeof(entries[0]), header.p_offset);
		for (size_t entry = 0; r == 0 && entry < n; entry++)
			take_dynamic(&entries[entry], functions);
		return r < 0 ? r : 1;
	}
	return 0;
}

static uint64_t address_of(const struct elf_file *elf, const char *name)
{
	const struct elf_section *section = elf_file_section(elf, name);

	return section && section->type != SHT_NOBITS ? section->vaddr : 0;
}

/* The segment that has @address, unless the file is truncated. */
static const struct load_segment *segment_of(const struct elf_file *elf, uint64_t address,
					     uint32_t flags)
{
	const struct load_segment *segment = elf_segment_at(elf, address, flags);

	if (!segment || segment->file_offset > elf->file_size ||
	    segment->file_size > elf->file_size - segment->file_offset)
		return NULL;
	return segment;
}

/*
 * The first function of an array; 0: none. The file has the address also where a relocation will
 * overwrite it.
 */
static int read_first(const struct elf_file *elf, uint64_t array, uint64_t *ret_function)
{
	const struct load_segment *segment = segment_of(elf, array, 0);
	uint64_t word = 0;
	int r;

	*ret_function = 0;
	if (array == 0 || !segment || segment->file_size - (array - segment->vaddr) < sizeof(word))
		return 0;
	r = pread_all(elf->fd, (uint8_t *)&word, sizeof(word),
		      segment->file_offset + (array - segment->vaddr));
	*ret_function = le64toh(word);
	return r;
}

/*
 * The code from @before bytes before @low to @after bytes after @high, as far as its segment
 * extends. Returns 1, or 0 if there is none.
 */
static size_t surround(const struct elf_file *elf, uint64_t low, uint64_t high, uint64_t before,
		       uint64_t after, struct crt_range *ret_range)
{
	const struct load_segment *segment = low ? segment_of(elf, low, PF_X) : NULL;
	uint64_t start, end;

	if (!segment || high - segment->vaddr >= segment->file_size)
		return 0;
	start = low - MIN(low - segment->vaddr, before);
	end = high + MIN(segment->file_size - (high - segment->vaddr), after);
	if (end - start > CRT_MAX_BYTES)
		return 0;
	*ret_range = (struct crt_range){
		.vaddr = start,
		.file_offset = segment->file_offset + (start - segment->vaddr),
		.size = (size_t)(end - start),
		.functions = { low, high },
		.n_functions = low == high ? 1 : 2,
	};
	return 1;
}

static int find_functions(const struct elf_file *elf, struct start_functions *functions)
{
	int r = read_dynamic(elf, functions);

	if (r == 0)
		*functions = (struct start_functions){
			.init = address_of(elf, ".init"),
			.fini = address_of(elf, ".fini"),
			.init_array = address_of(elf, ".init_array"),
			.fini_array = address_of(elf, ".fini_array"),
		};
	return MIN(r, 0);
}

int crt_ranges_find(const struct elf_file *elf, struct crt_range *ranges)
{
	struct start_functions functions = {};
	uint64_t first_init, first_fini;
	size_t n = 0;
	int r;

	if (elf->machine != EM_X86_64)
		return 0;
	r = find_functions(elf, &functions);
	if (r < 0)
		return r;
	r = read_first(elf, functions.init_array, &first_init);
	if (r < 0)
		return r;
	r = read_first(elf, functions.fini_array, &first_fini);
	if (r < 0)
		return r;
	n += surround(elf, functions.init, functions.init, 0, INIT_BYTES, &ranges[n]);
	n += surround(elf, functions.fini, functions.fini, 0, INIT_BYTES, &ranges[n]);
	if (first_init == 0 || first_fini == 0)
		first_init = first_fini = MAX(first_init, first_fini);
	n += surround(elf, MIN(first_init, first_fini), MAX(first_init, first_fini),
		      CRT_BYTES_BEFORE, CRT_BYTES_AFTER, &ranges[n]);
	return (int)n;
}

/* Adds no rows for code that was not accepted, so that other sources of rows can describe it. */
static int add_rows(struct unwind_builder *builder, const struct unwind_builder_row *rows,
		    size_t n_rows, uint64_t end)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n_rows; i++)
		if (rows[i].rule.cfa != UNWIND_CFA_NONE)
			r = unwind_builder_add_rows(builder, &rows[i], 1,
						    i + 1 < n_rows ? rows[i + 1].start : end);
	return r;
}

static int add_range(const struct elf_file *elf, const struct crt_range *range,
		     struct gap_analysis *code, struct unwind_builder *builder)
{
	uint8_t bytes[CRT_MAX_BYTES];
	const struct code_range piece = { .bytes = { bytes, range->size }, .vaddr = range->vaddr };
	const struct unwind_builder_row *rows;
	size_t n_rows;
	int r;

	r = pread_all(elf->fd, bytes, range->size, range->file_offset);
	if (r < 0)
		return r;
	r = gap_analysis_begin(code, &piece);
	for (size_t i = 0; r >= 0 && i < range->n_functions; i++)
		r = gap_analysis_try(code, range->functions[i]);
	if (r < 0)
		return r;
	r = gap_analysis_rows(code, &rows, &n_rows);
	if (r < 0)
		return r;
	return add_rows(builder, rows, n_rows, range->vaddr + range->size);
}

int crt_rows_add(const struct elf_file *elf, struct unwind_builder *builder)
{
	struct crt_range ranges[CRT_MAX_RANGES];
	scoped(gap_analysis_freep) struct gap_analysis *code = NULL;
	uint64_t start, end;
	int n, r;

	/* A file without any rows is compiled with frame pointers. */
	unwind_builder_sort(builder);
	if (!unwind_builder_range(builder, 0, &start, &end))
		return 0;
	n = crt_ranges_find(elf, ranges);
	r = n > 0 ? gap_analysis_new(&code) : MIN(n, 0);
	for (int i = 0; r == 0 && i < n; i++)
		r = add_range(elf, &ranges[i], code, builder);
	return r;
}
