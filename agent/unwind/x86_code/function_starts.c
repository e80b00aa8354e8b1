/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search does not decode code from instruction to instruction. It looks for bytes that may be a
 * call or a lea with a target in a gap. Such bytes nearly always are that instruction, and the gap
 * analysis rejects a wrong start. Sections are read in pieces.
 */
#include "agent/unwind/x86_code/function_starts.h"

#include <elf.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "agent/unwind/x86_code/x86_instruction.h"
#include "common/file.h"
#include "common/scoped.h"

/* A multiple of the size of a symbol (24 bytes) and of a word (8). */
#define PIECE_BYTES ((size_t)(24 * 8 * 340))

/* A piece of code is read this far beyond its end: no instruction is longer. */
#define OVERLAP_BYTES 16

#define MAX_STARTS (1u << 17)

/* Size of the bitmap that rejects most addresses outside all gaps. */
#define FILTER_BITS        ((uint64_t)1 << 16)
#define LEAST_FILTER_SHIFT 8

#define FUNCTION_ALIGNMENT 16

struct function_starts {
	const struct elf_file *elf;
	const struct cfi_gap_vec *gaps;
	struct code_address_vec *starts;
	bool is_fixed; /* linked to a fixed address, so its instructions may contain addresses */
	/*
	 * Bit i: a gap overlaps the 2^filter_shift bytes from filter_start + (i << filter_shift).
	 */
	uint64_t filter_start, filter_size;
	unsigned int filter_shift;
	uint64_t filter[FILTER_BITS / 64];
};

/* A relocation has three words, one of which is the address: .rela.dyn is read as pointers. */
enum starts_source function_starts_source(const struct elf_file *elf,
					  const struct elf_section *section)
{
	static const char *const pointers[] = { ".rela.dyn", ".data.rel.ro", ".data",
						".init_array" };

	if (cfi_gaps_section_is_code(elf, section))
		return STARTS_FROM_CODE;
	if (section->type == SHT_NOBITS || section->flags & SHF_COMPRESSED ||
	    section->file_offset > elf->file_size ||
	    section->size > elf->file_size - section->file_offset)
		return STARTS_FROM_NONE;
	if (section->type == SHT_SYMTAB || section->type == SHT_DYNSYM)
		return STARTS_FROM_SYMBOLS;
	for (size_t i = 0; i < ARRAY_SIZE(pointers); i++)
		if (strcmp(section->name, pointers[i]) == 0)
			return STARTS_FROM_POINTERS;
	if (elf->type == ET_EXEC && strcmp(section->name, ".rodata") == 0)
		return STARTS_FROM_POINTERS;
	return STARTS_FROM_NONE;
}

/* ---- the bitmap ------------------------------------------------------------------------------ */

/* Gaps are sorted by address. */
static void make_filter(struct function_starts *search)
{
	search->filter_start = search->gaps->items[0].start;
	search->filter_size =
		search->gaps->items[search->gaps->count - 1].end - search->filter_start;
	search->filter_shift = LEAST_FILTER_SHIFT;
	while (search->filter_size >> search->filter_shift >= FILTER_BITS)
		search->filter_shift++;
	for (size_t i = 0; i < search->gaps->count; i++) {
		uint64_t first = (search->gaps->items[i].start - search->filter_start) >>
				 search->filter_shift;
		uint64_t last = (search->gaps->items[i].end - 1 - search->filter_start) >>
				search->filter_shift;

		for (uint64_t bit = first; bit <= last; bit++)
			search->filter[bit / 64] |= (uint64_t)1 << bit % 64;
	}
}

static bool may_hold(const struct function_starts *search, uint64_t address)
{
	uint64_t bit = (address - search->filter_start) >> search->filter_shift;

	return address - search->filter_start < search->filter_size &&
	       (search->filter[bit / 64] >> bit % 64 & 1);
}

/* ---- references to functions ----------------------------------------------------------------- */

static int add_start(struct function_starts *search, uint64_t address)
{
	if (!may_hold(search, address) || !cfi_gaps_contain(search->gaps, address) ||
	    search->starts->count == MAX_STARTS)
		return 0;
	return vec_push(search->starts, address);
}

static int add_aligned_start(struct function_starts *search, uint64_t address)
{
	return address % FUNCTION_ALIGNMENT == 0 ? add_start(search, address) : 0;
}

static uint64_t relative_target(const uint8_t *operand, uint64_t next)
{
	int32_t displacement;

	memcpy(&displacement, operand, sizeof(displacement));
	return next + (uint64_t)(int64_t)displacement;
}

/* Opcode of "movl N, m32". The offset of N in the instruction depends on the memory operand. */
#define MOV_TO_MEMORY 0xc7

/*
 * Returns the target of the instruction with the opcode @bytes[1]. Only for the opcodes that
 * opcodes_in() finds, except MOV_TO_MEMORY.
 */
static uint64_t target_of(const uint8_t *bytes, uint64_t address)
{
	size_t operand = bytes[1] == 0x8d ? 3 : 2;
	uint64_t next = address + operand + 4;

	return relative_target(bytes + operand, (bytes[1] & 0xf8) == 0xb8 ? 0 : next);
}

/*
 * Adds the target of the instruction with the opcode @bytes[1], if it has one. @bytes has at least
 * OVERLAP_BYTES; @bytes[0] may be a prefix.
 */
static int add_target_of(struct function_starts *search, const uint8_t *bytes, uint64_t address)
{
	struct x86_instruction instruction;

	switch (bytes[1]) {
	case 0x8d: /* lea N(%rip), with REX.W */
		if ((bytes[0] & 0xf8) == 0x48 && (bytes[2] & 0xc7) == 0x05)
			return add_start(search, target_of(bytes, address));
		return 0;
	case 0xe8:
		return add_start(search, target_of(bytes, address));
	case 0xe9:          /* may also jump into the middle of a function */
	case 0xb8 ... 0xbf: /* mov N, %r32 */
		return add_aligned_start(search, target_of(bytes, address));
	case MOV_TO_MEMORY:
		if ((bytes[2] & 0x38) == 0 &&
		    x86_decode((struct bytes_view){ bytes + 1, OVERLAP_BYTES - 1 }, address + 1,
			       &instruction) &&
		    instruction.effect == X86_NUMBER)
			return add_aligned_start(search, instruction.target);
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

/*
 * Returns the high bit of each byte of @word that is an opcode for add_target_of(). Opcodes with an
 * absolute address count only if the code is linked to a fixed address.
 */
static uint64_t opcodes_in(const struct function_starts *search, uint64_t word)
{
	uint64_t calls = bytes_equal(word & 0xfefefefefefefefeu, 0xe8) | bytes_equal(word, 0x8d);

	if (search->is_fixed)
		calls |= bytes_equal(word & 0xf8f8f8f8f8f8f8f8u, 0xb8) |
			 bytes_equal(word, MOV_TO_MEMORY);
	return calls;
}

/*
 * Compares eight bytes at a time with the opcodes, because few bytes are an opcode of an
 * instruction with a target in a gap.
 */
static int search_code(struct function_starts *search, struct bytes_view piece, uint64_t address)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i + OVERLAP_BYTES <= piece.size; i += sizeof(uint64_t)) {
		uint64_t word, found;

		memcpy(&word, piece.data + i + 1, sizeof(word));
		for (found = opcodes_in(search, le64toh(word)); r == 0 && found;
		     found &= found - 1) {
			size_t at = i + (size_t)__builtin_ctzll(found) / 8;
			const uint8_t *bytes = piece.data + at;

			if (at + OVERLAP_BYTES > piece.size)
				break;
			if (bytes[1] == MOV_TO_MEMORY ||
			    may_hold(search, target_of(bytes, address + at)))
				r = add_target_of(search, bytes, address + at);
		}
	}
	return r;
}

static int search_symbols(struct function_starts *search, struct bytes_view piece)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i + sizeof(Elf64_Sym) <= piece.size; i += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, piece.data + i, sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
			r = add_start(search, symbol.st_value);
	}
	return r;
}

static int search_pointers(struct function_starts *search, struct bytes_view piece)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i + sizeof(uint64_t) <= piece.size; i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, piece.data + i, sizeof(word));
		r = add_aligned_start(search, word);
	}
	return r;
}

static int search_piece(struct function_starts *search, enum starts_source source,
			struct bytes_view piece, uint64_t address)
{
	if (source == STARTS_FROM_CODE)
		return search_code(search, piece, address);
	if (source == STARTS_FROM_SYMBOLS)
		return search_symbols(search, piece);
	return search_pointers(search, piece);
}

static int search_section(struct function_starts *search, const struct elf_section *section,
			  uint8_t *buffer)
{
	enum starts_source source = function_starts_source(search->elf, section);
	int r = 0;

	if (source == STARTS_FROM_NONE)
		return 0;
	for (uint64_t at = 0; r == 0 && at < section->size; at += PIECE_BYTES) {
		size_t n = (size_t)MIN(section->size - at, PIECE_BYTES + OVERLAP_BYTES);

		r = pread_all(search->elf->fd, buffer, n, section->file_offset + at);
		if (source != STARTS_FROM_CODE)
			n = MIN(n, PIECE_BYTES);
		if (r == 0)
			r = search_piece(search, source, (struct bytes_view){ buffer, n },
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

int function_starts_find(const struct elf_file *elf, const struct cfi_gap_vec *gaps,
			 struct code_address_vec *starts)
{
	scoped_free uint8_t *buffer = malloc(PIECE_BYTES + OVERLAP_BYTES);
	scoped_free struct function_starts *search = calloc(1, sizeof(*search));
	int r = 0;

	if (!buffer || !search)
		return -ENOMEM;
	if (gaps->count == 0)
		return 0;
	search->elf = elf;
	search->gaps = gaps;
	search->starts = starts;
	search->is_fixed = elf->type == ET_EXEC;
	make_filter(search);
	for (size_t i = 0; r == 0 && i < elf->n_sections; i++)
		r = search_section(search, &elf->sections[i], buffer);
	sort_starts(starts);
	return r;
}
