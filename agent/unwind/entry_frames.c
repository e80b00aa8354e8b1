/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/entry_frames.h"

#include <elf.h>
#include <stdlib.h>

#include "agent/unwind/go_file.h"
#include "agent/unwind/x86_instruction.h"
#include "common/file.h"
#include "common/scoped.h"

/* glibc's loader has the longest known: 61 bytes. Up to the next multiple of 16, where another function may begin. */
#define START_BYTES 64

/* Symbols and their names are looked through for one function of the C library: its own have 100 KiB. */
#define MAX_SYMBOLS_BYTES (2 * MIB)

/* Of makecontext() up to where it takes the entry's address; of the entry up to where it sets the stack pointer. */
#define MAKER_BYTES 512
#define ENTRY_BYTES 64

#define X86_RBX 3

static const struct abi_unwind_rule outermost = { .cfa = UNWIND_CFA_END };

static int add_end(struct unwind_builder *builder, uint64_t start, uint64_t end)
{
	const struct unwind_builder_row row = { .start = start, .rule = outermost };

	return unwind_builder_add_rows(builder, &row, 1, end);
}

int entry_frames_add_start(const struct elf_file *elf, struct unwind_builder *builder)
{
	for (size_t i = 0; elf->entry && i < elf->n_load_segments; i++) {
		const struct load_segment *segment = &elf->load_segments[i];

		if (!(segment->flags & PF_X) || elf->entry - segment->vaddr >= segment->memory_size)
			continue;
		unwind_builder_sort(builder);
		if (unwind_builder_covers(builder, elf->entry))
			return 0;
		return add_end(builder, elf->entry,
			       elf->entry + MIN((uint64_t)START_BYTES,
						segment->memory_size - (elf->entry - segment->vaddr)));
	}
	return 0;
}

/* The address of the function @name in a table of symbols; 0: not there. */
static uint64_t find_function(const struct bytes *symbols, const struct bytes *names, const char *name)
{
	for (size_t i = 0; i + sizeof(Elf64_Sym) <= symbols->size; i += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, symbols->data + i, sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_name >= names->size)
			continue;
		if (strncmp((const char *)names->data + symbol.st_name, name, names->size - symbol.st_name) == 0 &&
		    memchr(names->data + symbol.st_name, '\0', names->size - symbol.st_name))
			return symbol.st_value;
	}
	return 0;
}

static int find_in_section(const struct elf_file *elf, const char *section_name, const char *name,
			   uint64_t *ret_address)
{
	scoped(bytes_release) struct bytes symbols = BYTES_INIT(MAX_SYMBOLS_BYTES);
	scoped(bytes_release) struct bytes names = BYTES_INIT(MAX_SYMBOLS_BYTES);
	const struct elf_section *section = elf_file_section(elf, section_name);
	const struct elf_section *strings;
	int r;

	*ret_address = 0;
	if (!section || section->type == SHT_NOBITS || section->link >= elf->n_sections)
		return 0;
	strings = &elf->sections[section->link];
	/* Larger than any C library's; a program that large is linked with one. */
	if (strings->type != SHT_STRTAB || section->size > MAX_SYMBOLS_BYTES || strings->size > MAX_SYMBOLS_BYTES)
		return 0;
	r = elf_file_read_section(elf, section, &symbols);
	if (r == 0)
		r = elf_file_read_section(elf, strings, &names);
	if (r == 0)
		*ret_address = find_function(&symbols, &names, name);
	return r;
}

/*
 * The entry begins with rsp = rbx, which no function does that has a caller: before it there is at most the shadow
 * stack's part. *ret_end: behind its last instruction, or behind what was looked at.
 */
static int is_context_entry(const struct elf_file *elf, uint64_t address, uint64_t *ret_end)
{
	uint8_t code[ENTRY_BYTES];
	ssize_t n = go_file_read_code(elf, address, code, sizeof(code));
	bool sets_sp = false;
	size_t at = 0;

	while (n > 0 && at < (size_t)n) {
		struct x86_instruction instruction;

		if (!x86_decode((struct bytes_view){ code + at, (size_t)n - at }, address + at, &instruction))
			break;
		at += instruction.length;
		if (instruction.effect == X86_SP_FROM_COPY && instruction.reg == X86_RBX && instruction.value == 0)
			sets_sp = true;
		else if (!sets_sp && instruction.effect != X86_PLAIN && instruction.effect != X86_JUMP_IF &&
			 instruction.effect != X86_NUMBER)
			return 0;
		else if (instruction.effect == X86_STOP)
			break;
	}
	*ret_end = address + at;
	return sets_sp;
}

int entry_frames_add_context(const struct elf_file *elf, struct unwind_builder *builder)
{
	uint8_t code[MAKER_BYTES];
	uint64_t maker, end;
	ssize_t n;
	int r;

	if (elf->machine != EM_X86_64)
		return 0;
	r = find_in_section(elf, ".dynsym", "makecontext", &maker);
	if (r == 0 && maker == 0)
		r = find_in_section(elf, ".symtab", "makecontext", &maker);
	if (r < 0 || maker == 0)
		return r;
	n = go_file_read_code(elf, maker, code, sizeof(code));
	for (size_t at = 0; n > 0 && at < (size_t)n;) {
		struct x86_instruction instruction;

		if (!x86_decode((struct bytes_view){ code + at, (size_t)n - at }, maker + at, &instruction))
			break;
		at += instruction.length;
		/* The context's function returns to the first byte, and return addresses are looked up one before. */
		if (instruction.effect == X86_ADDRESS && instruction.target > 0 &&
		    is_context_entry(elf, instruction.target, &end) == 1)
			return add_end(builder, instruction.target - 1, end);
	}
	return 0;
}
