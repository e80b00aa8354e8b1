/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/gap_starts.h"

#include <elf.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "agent/unwind/x86_instruction.h"
#include "common/file.h"
#include "common/scoped.h"

/*
 * Sections are read in pieces. Code is not decoded to find what it leads to: the bytes of a call or
 * of a lea with a target in a gap are hardly ever something else, and a beginning that is none does
 * not prove itself.
 */

/* Symbols have 24 bytes, words 8. */
#define PIECE_BYTES ((size_t)(24 * 8 * 340))

/* The longest instruction: what a piece of code is read beyond its end. */
#define OVERLAP_BYTES 16

#define MAX_STARTS (1u << 17)

/* Of what tells in a glance that most addresses lie in no gap. */
#define FILTER_BITS        ((uint64_t)1 << 16)
#define LEAST_FILTER_SHIFT 8

#define FUNCTION_ALIGNMENT 16

struct gap_starts {
	const struct elf_file *elf;
	const struct code_gap_vec *gaps;
	struct code_address_vec *starts;
	bool is_fixed; /* linked to a fixed address: numbers in its code may be addresses */
	/* Bit i: some gap reaches into the 2^filter_shift bytes from filter_start + (i <<
	 * filter_shift). */
	uint64_t filter_start, filter_size;
	unsigned int filter_shift;
	uint64_t filter[FILTER_BITS / 64];
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
	static const char *const pointers[] = { ".rela.dyn", ".data.rel.ro", ".data",
						".init_array" };

	if (code_gaps_is_code(elf, section))
		return CONTENT_CODE;
	if (section->type == SHT_NOBITS || section->flags & SHF_COMPRESSED ||
	    section->file_offset > elf->file_size ||
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

bool gap_starts_reads(const struct elf_file *elf, const struct elf_section *section)
{
	return content_of(elf, section) != CONTENT_NOTHING;
}

/* ---- the filter */

/* The gaps rise. */
static void make_filter(struct gap_starts *gap)
{
	gap->filter_start = gap->gaps->items[0].start;
	gap->filter_size = gap->gaps->items[gap->gaps->count - 1].end - gap->filter_start;
	gap->filter_shift = LEAST_FILTER_SHIFT;
	while (gap->filter_size >> gap->filter_shift >= FILTER_BITS)
		gap->filter_shift++;
	for (size_t i = 0; i < gap->gaps->count; i++) {
		uint64_t first =
			(gap->gaps->items[i].start - gap->filter_start) >> gap->filter_shift;
		uint64_t last =
			(gap->gaps->items[i].end - 1 - gap->filter_start) >> gap->filter_shift;

		for (uint64_t bit = first; bit <= last; bit++)
			gap->filter[bit / 64] |= (uint64_t)1 << bit % 64;
	}
}

static bool may_hold(const struct gap_starts *gap, uint64_t address)
{
	uint64_t bit = (address - gap->filter_start) >> gap->filter_shift;

	return address - gap->filter_start < gap->filter_size &&
	       (gap->filter[bit / 64] >> bit % 64 & 1);
}

/* ---- what leads to a function */

static int add_start(struct gap_starts *gap, uint64_t address)
{
	if (!may_hold(gap, address) || !code_gaps_hold(gap->gaps, address) ||
	    gap->starts->count == MAX_STARTS)
		return 0;
	return vec_push(gap->starts, address);
}

static int add_aligned_start(struct gap_starts *gap, uint64_t address)
{
	return address % FUNCTION_ALIGNMENT == 0 ? add_start(gap, address) : 0;
}

static uint64_t relative_target(const uint8_t *operand, uint64_t next)
{
	int32_t displacement;

	memcpy(&displacement, operand, sizeof(displacement));
	return next + (uint64_t)(int64_t)displacement;
}

/* movl N, m32: where N stands depends on the operand. */
#define MOV_TO_MEMORY 0xc7

/* Where the instruction leads to whose opcode is @bytes[1], if it is one, and not MOV_TO_MEMORY. */
static uint64_t target_of(const uint8_t *bytes, uint64_t address)
{
	size_t operand = bytes[1] == 0x8d ? 3 : 2;
	uint64_t next = address + operand + 4;

	return relative_target(bytes + operand, (bytes[1] & 0xf8) == 0xb8 ? 0 : next);
}

/* The instruction whose opcode is @bytes[1], of at least OVERLAP_BYTES; @bytes[0] may be its
 * prefix. */
static int look_at_opcode(struct gap_starts *gap, const uint8_t *bytes, uint64_t address)
{
	struct x86_instruction instruction;

	switch (bytes[1]) {
	case 0x8d: /* lea N(%rip), with REX.W */
		if ((bytes[0] & 0xf8) == 0x48 && (bytes[2] & 0xc7) == 0x05)
			return add_start(gap, target_of(bytes, address));
		return 0;
	case 0xe8:
		return add_start(gap, target_of(bytes, address));
	case 0xe9:          /* it may lead into the middle of a function as well */
	case 0xb8 ... 0xbf: /* mov N, %r32 */
		return add_aligned_start(gap, target_of(bytes, address));
	case MOV_TO_MEMORY:
		if ((bytes[2] & 0x38) == 0 &&
		    x86_decode((struct bytes_view){ bytes + 1, OVERLAP_BYTES - 1 }, address + 1,
			       &instruction) &&
		    instruction.effect == X86_NUMBER)
			return add_aligned_start(gap, instruction.target);
		return 0;
	default:
		return 0;
	}
}

/* The high bit of each byte of @word that equals @byte, and no other bit. */
static uint64_t bytes_equal(uint64_t word, uint8_t byte)
{
	const uint64_t low7 = 0x7f7f7f7f7f7f7f7fu;
	uint64_t difference = word ^ 0x0101010101010101u * byte;

	return ~(((difference & low7) + low7) | difference | low7);
}

/* The high bit of each byte of @word that look_at_opcode() has something to say about. Numbers are
 * addresses only where code is linked to a fixed one. */
static uint64_t opcodes_in(const struct gap_starts *gap, uint64_t word)
{
	uint64_t calls = bytes_equal(word & 0xfefefefefefefefeu, 0xe8) | bytes_equal(word, 0x8d);

	if (gap->is_fixed)
		calls |= bytes_equal(word & 0xf8f8f8f8f8f8f8f8u, 0xb8) |
			 bytes_equal(word, MOV_TO_MEMORY);
	return calls;
}

/* Eight opcodes at a time: most of what they could be leads nowhere. */
static int look_at_code(struct gap_starts *gap, struct bytes_view piece, uint64_t address)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i + OVERLAP_BYTES <= piece.size; i += sizeof(uint64_t)) {
		uint64_t word, found;

		memcpy(&word, piece.data + i + 1, sizeof(word));
		for (found = opcodes_in(gap, le64toh(word)); r == 0 && found; found &= found - 1) {
			size_t at = i + (size_t)__builtin_ctzll(found) / 8;
			const uint8_t *bytes = piece.data + at;

			if (at + OVERLAP_BYTES > piece.size)
				break;
			if (bytes[1] == MOV_TO_MEMORY ||
			    may_hold(gap, target_of(bytes, address + at)))
				r = look_at_opcode(gap, bytes, address + at);
		}
	}
	return r;
}

static int look_at_symbols(struct gap_starts *gap, struct bytes_view piece)
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

static int look_at_pointers(struct gap_starts *gap, struct bytes_view piece)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i + sizeof(uint64_t) <= piece.size; i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, piece.data + i, sizeof(word));
		r = add_aligned_start(gap, word);
	}
	return r;
}

static int look_at_piece(struct gap_starts *gap, enum content content, struct bytes_view piece,
			 uint64_t address)
{
	if (content == CONTENT_CODE)
		return look_at_code(gap, piece, address);
	if (content == CONTENT_SYMBOLS)
		return look_at_symbols(gap, piece);
	return look_at_pointers(gap, piece);
}

static int look_at_section(struct gap_starts *gap, const struct elf_section *section,
			   uint8_t *buffer)
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
			r = look_at_piece(gap, content, (struct bytes_view){ buffer, n },
					  section->vaddr + at);
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

int gap_starts_find(const struct elf_file *elf, const struct code_gap_vec *gaps,
		    struct code_address_vec *starts)
{
	scoped_free uint8_t *buffer = malloc(PIECE_BYTES + OVERLAP_BYTES);
	scoped_free struct gap_starts *gap = calloc(1, sizeof(*gap));
	int r = 0;

	if (!buffer || !gap)
		return -ENOMEM;
	if (gaps->count == 0)
		return 0;
	gap->elf = elf;
	gap->gaps = gaps;
	gap->starts = starts;
	gap->is_fixed = elf->type == ET_EXEC;
	make_filter(gap);
	for (size_t i = 0; r == 0 && i < elf->n_sections; i++)
		r = look_at_section(gap, &elf->sections[i], buffer);
	sort_starts(starts);
	return r;
}
