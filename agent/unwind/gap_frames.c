/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/gap_frames.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "agent/unwind/code_gaps.h"
#include "agent/unwind/gap_code.h"
#include "agent/unwind/x86_instruction.h"
#include "common/file.h"
#include "common/scoped.h"

/*
 * Sections are read in pieces. Code is not decoded to find what it leads to: the bytes of a call or of a lea with a
 * target in a gap are hardly ever something else, and a beginning that is none does not prove itself.
 */

/* Symbols have 24 bytes, words 8. */
#define PIECE_BYTES ((size_t)(24 * 8 * 340))

/* The longest instruction: what a piece of code is read beyond its end. */
#define OVERLAP_BYTES 16

#define MAX_STARTS (1u << 17)

#define FUNCTION_ALIGNMENT 16

struct gap_frames {
	const struct elf_file *elf;
	struct unwind_builder *builder;
	struct code_gap_vec gaps;
	struct code_address_vec starts;
	struct gap_code *code;
	bool is_fixed; /* linked to a fixed address: numbers in its code may be addresses */
};

enum content {
	CONTENT_NOTHING,
	CONTENT_CODE,
	CONTENT_SYMBOLS,
	CONTENT_POINTERS,
};

/* Relocations have three words, of which one is the address. */
static enum content content_of(const struct elf_file *elf, const struct elf_section *section)
{
	static const char *const pointers[] = { ".rela.dyn", ".data.rel.ro", ".data", ".init_array" };

	if (code_gaps_is_code(elf, section))
		return CONTENT_CODE;
	if (section->type == SHT_NOBITS || section->flags & SHF_COMPRESSED || section->file_offset > elf->file_size ||
	    section->size > elf->file_size - section->file_offset)
		return CONTENT_NOTHING;
	if (section->type == SHT_SYMTAB || section->type == SHT_DYNSYM)
		return CONTENT_SYMBOLS;
	for (size_t i = 0; i < ARRAY_SIZE(pointers); i++)
		if (strcmp(section->name, pointers[i]) == 0)
			return CONTENT_POINTERS;
	if (elf->type == ET_EXEC && strcmp(section->name, ".rodata") == 0)
		return CONTENT_POINTERS;
	return CONTENT_NOTHING;
}

bool gap_frames_reads(const struct elf_file *elf, const struct elf_section *section)
{
	return content_of(elf, section) != CONTENT_NOTHING;
}

int gap_frames_are_needed(const struct elf_file *elf)
{
	struct code_gap_vec gaps = {};
	int r = code_gaps_find(elf, &gaps);

	vec_release(&gaps);
	return r;
}

/* ---- where functions begin ---------------------------------------------------------------------------------- */

static int add_start(struct gap_frames *gap, uint64_t address)
{
	if (!code_gaps_hold(&gap->gaps, address) || gap->starts.count == MAX_STARTS)
		return 0;
	return vec_push(&gap->starts, address);
}

static int add_aligned_start(struct gap_frames *gap, uint64_t address)
{
	return address % FUNCTION_ALIGNMENT == 0 ? add_start(gap, address) : 0;
}

static uint64_t relative_target(const uint8_t *operand, uint64_t next)
{
	int32_t displacement;

	memcpy(&displacement, operand, sizeof(displacement));
	return next + (uint64_t)(int64_t)displacement;
}

/* The instruction whose opcode is @bytes[1], of at least OVERLAP_BYTES; @bytes[0] may be its prefix. */
static int look_at_opcode(struct gap_frames *gap, const uint8_t *bytes, uint64_t address)
{
	struct x86_instruction instruction;

	switch (bytes[1]) {
	case 0x8d: /* lea N(%rip), with REX.W */
		if ((bytes[0] & 0xf8) == 0x48 && (bytes[2] & 0xc7) == 0x05)
			return add_start(gap, relative_target(bytes + 3, address + 7));
		return 0;
	case 0xe8:
		return add_start(gap, relative_target(bytes + 2, address + 6));
	case 0xe9: /* it may lead into the middle of a function as well */
		return add_aligned_start(gap, relative_target(bytes + 2, address + 6));
	case 0xb8 ... 0xbf:
	case 0xc7:
		if (gap->is_fixed &&
		    x86_decode((struct bytes_view){ bytes + 1, OVERLAP_BYTES - 1 }, address + 1, &instruction) &&
		    instruction.effect == X86_NUMBER)
			return add_aligned_start(gap, instruction.target);
		return 0;
	default:
		return 0;
	}
}

static int look_at_code(struct gap_frames *gap, struct bytes_view piece, uint64_t address)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i + OVERLAP_BYTES <= piece.size; i++)
		r = look_at_opcode(gap, piece.data + i, address + i);
	return r;
}

static int look_at_symbols(struct gap_frames *gap, struct bytes_view piece)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i + sizeof(Elf64_Sym) <= piece.size; i += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, piece.data + i, sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
			r = add_start(gap, symbol.st_value);
	}
	return r;
}

static int look_at_pointers(struct gap_frames *gap, struct bytes_view piece)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i + sizeof(uint64_t) <= piece.size; i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, piece.data + i, sizeof(word));
		r = add_aligned_start(gap, word);
	}
	return r;
}

static int look_at_piece(struct gap_frames *gap, enum content content, struct bytes_view piece, uint64_t address)
{
	if (content == CONTENT_CODE)
		return look_at_code(gap, piece, address);
	if (content == CONTENT_SYMBOLS)
		return look_at_symbols(gap, piece);
	return look_at_pointers(gap, piece);
}

static int look_at_section(struct gap_frames *gap, const struct elf_section *section, uint8_t *buffer)
{
	enum content content = content_of(gap->elf, section);
	int r = 0;

	if (content == CONTENT_NOTHING)
		return 0;
	for (uint64_t at = 0; r == 0 && at < section->size; at += PIECE_BYTES) {
		size_t n = (size_t)MIN(section->size - at, PIECE_BYTES + OVERLAP_BYTES);

		r = pread_all(gap->elf->fd, buffer, n, section->file_offset + at);
		if (content != CONTENT_CODE)
			n = MIN(n, PIECE_BYTES);
		if (r == 0)
			r = look_at_piece(gap, content, (struct bytes_view){ buffer, n }, section->vaddr + at);
	}
	return r;
}

static int compare_addresses(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static void sort_starts(struct code_address_vec *starts)
{
	size_t count = 0;

	if (starts->count > 1)
		qsort(starts->items, starts->count, sizeof(*starts->items), compare_addresses);
	for (size_t i = 0; i < starts->count; i++)
		if (count == 0 || starts->items[count - 1] != starts->items[i])
			starts->items[count++] = starts->items[i];
	starts->count = count;
}

static int find_starts(struct gap_frames *gap)
{
	scoped_free uint8_t *buffer = malloc(PIECE_BYTES + OVERLAP_BYTES);
	int r = buffer ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < gap->elf->n_sections; i++)
		r = look_at_section(gap, &gap->elf->sections[i], buffer);
	sort_starts(&gap->starts);
	return r;
}

/* ---- pieces ------------------------------------------------------------------------------------------------- */

/* The index of the first start at or behind @address. */
static size_t start_from(const struct gap_frames *gap, uint64_t address)
{
	size_t low = 0, high = gap->starts.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (gap->starts.items[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Long gaps are cut where a function begins. */
static uint64_t end_of_piece(const struct gap_frames *gap, const struct code_gap *whole, uint64_t start)
{
	uint64_t end = start + GAP_CODE_MAX_BYTES;
	size_t behind;

	if (whole->end - start <= GAP_CODE_MAX_BYTES)
		return whole->end;
	behind = start_from(gap, end);
	if (behind > 0 && gap->starts.items[behind - 1] > start + GAP_CODE_MAX_BYTES / 2)
		end = gap->starts.items[behind - 1];
	return end;
}

static bool says_something(const struct unwind_builder_row *rows, size_t count)
{
	return count > 1 || (count == 1 && rows[0].rule.cfa != UNWIND_CFA_NONE);
}

static int add_piece(struct gap_frames *gap, const struct code_range *range)
{
	uint64_t end = range->vaddr + range->bytes.size;
	const struct unwind_builder_row *rows;
	size_t count;
	int r = gap_code_begin(gap->code, range);

	for (size_t i = start_from(gap, range->vaddr); r >= 0 && i < gap->starts.count; i++) {
		if (gap->starts.items[i] >= end)
			break;
		r = gap_code_try(gap->code, gap->starts.items[i]);
	}
	if (r >= 0)
		r = gap_code_complete(gap->code);
	if (r == 0)
		r = gap_code_rows(gap->code, &rows, &count);
	if (r < 0 || !says_something(rows, count))
		return r;
	return unwind_builder_add_rows(gap->builder, rows, count, end);
}

static int add_gap(struct gap_frames *gap, const struct code_gap *whole)
{
	size_t capacity = (size_t)MIN(whole->end - whole->start, (uint64_t)GAP_CODE_MAX_BYTES);
	scoped_free uint8_t *bytes = malloc(capacity);
	uint64_t start = whole->start;
	int r = bytes ? 0 : -ENOMEM;

	while (r == 0 && start < whole->end) {
		uint64_t end = end_of_piece(gap, whole, start);
		const struct code_range range = { .bytes = { bytes, (size_t)(end - start) }, .vaddr = start };

		r = pread_all(gap->elf->fd, bytes, range.bytes.size, whole->file_offset + (start - whole->start));
		if (r == 0)
			r = add_piece(gap, &range);
		start = end;
	}
	return r;
}

int gap_frames_add(const struct elf_file *elf, struct unwind_builder *builder)
{
	struct gap_frames gap = { .elf = elf, .builder = builder, .is_fixed = elf->type == ET_EXEC };
	int needed = code_gaps_find(elf, &gap.gaps);
	int r = needed;

	if (r > 0)
		r = find_starts(&gap);
	if (needed > 0 && r == 0)
		r = gap_code_new(&gap.code);
	for (size_t i = 0; r == 0 && i < gap.gaps.count; i++)
		r = add_gap(&gap, &gap.gaps.items[i]);
	(void)gap_code_free(gap.code);
	vec_release(&gap.gaps);
	vec_release(&gap.starts);
	return r < 0 ? r : needed;
}
