/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_code/glibc_rows.h"

#include <elf.h>
#include <stdlib.h>

#include "agent/unwind/file/elf_code.h"
#include "agent/unwind/x86_code/x86_instruction.h"
#include "common/file.h"
#include "common/scoped.h"

/* Larger symbol tables are not searched: glibc's has 100 KiB. */
#define MAX_SYMBOLS_BYTES (2 * MIB)

/*
 * Bytes that are decoded: of makecontext() until it takes the address of the function, and of the
 * function until it sets the stack pointer.
 */
#define MAKER_BYTES 512
#define ENTRY_BYTES 64

/*
 * Larger sections are not searched: glibc has 1.4 MiB. A program that is linked with glibc
 * statically may have more.
 */
#define MAX_CODE_BYTES (4 * MIB)

#define X86_RBX 3

static const struct abi_unwind_rule outermost = { .cfa = UNWIND_CFA_END };

static int add_end(struct unwind_builder *builder, uint64_t start, uint64_t end)
{
	const struct unwind_builder_row row = { .start = start, .rule = outermost };

	return unwind_builder_add_rows(builder, &row, 1, end);
}

/* The address of the function @name in a symbol table; 0: it is not there. */
static uint64_t find_function(const struct bytes *symbols, const struct bytes *names,
			      const char *name)
{
	for (size_t i = 0; i + sizeof(Elf64_Sym) <= symbols->size; i += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, symbols->data + i, sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_name >= names->size)
			continue;
		if (strncmp((const char *)names->data + symbol.st_name, name,
			    names->size - symbol.st_name) == 0 &&
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
	/* A larger table belongs to a program, not to a C library. */
	if (strings->type != SHT_STRTAB || section->size > MAX_SYMBOLS_BYTES ||
	    strings->size > MAX_SYMBOLS_BYTES)
		return 0;
	r = elf_file_read_section(elf, section, &symbols);
	if (r == 0)
		r = elf_file_read_section(elf, strings, &names);
	if (r == 0)
		*ret_address = find_function(&symbols, &names, name);
	return r;
}

static int find_symbol(const struct elf_file *elf, const char *name, uint64_t *ret_address)
{
	int r = find_in_section(elf, ".dynsym", name, ret_address);

	return r == 0 && *ret_address == 0 ? find_in_section(elf, ".symtab", name, ret_address) : r;
}

/*
 * Whether the function at @address begins with rsp = rbx, with at most the code for the shadow
 * stack before it. No function that has a caller does that. *ret_end: after its last instruction,
 * or after the decoded bytes.
 */
static int is_context_entry(const struct elf_file *elf, uint64_t address, uint64_t *ret_end)
{
	uint8_t code[ENTRY_BYTES];
	ssize_t n = elf_code_read(elf, address, code, sizeof(code));
	bool sets_sp = false;
	size_t at = 0;

	while (n > 0 && at < (size_t)n) {
		struct x86_instruction instruction;

		if (!x86_decode((struct bytes_view){ code + at, (size_t)n - at }, address + at,
				&instruction))
			break;
		at += instruction.length;
		if (instruction.effect == X86_SP_FROM_COPY && instruction.reg == X86_RBX &&
		    instruction.value == 0)
			sets_sp = true;
		else if (!sets_sp && instruction.effect != X86_PLAIN &&
			 instruction.effect != X86_JUMP_IF && instruction.effect != X86_NUMBER)
			return 0;
		else if (instruction.effect == X86_STOP)
			break;
	}
	*ret_end = address + at;
	return sets_sp;
}

int glibc_rows_add_context(const struct elf_file *elf, struct unwind_builder *builder)
{
	uint8_t code[MAKER_BYTES];
	uint64_t maker, end;
	ssize_t n;
	int r;

	if (elf->machine != EM_X86_64)
		return 0;
	r = find_symbol(elf, "makecontext", &maker);
	if (r < 0 || maker == 0)
		return r;
	n = elf_code_read(elf, maker, code, sizeof(code));
	for (size_t at = 0; n > 0 && at < (size_t)n;) {
		struct x86_instruction instruction;

		if (!x86_decode((struct bytes_view){ code + at, (size_t)n - at }, maker + at,
				&instruction))
			break;
		at += instruction.length;
		/*
		 * The context's function returns to the first byte, and return addresses are looked
		 * up one byte before.
		 */
		if (instruction.effect == X86_ADDRESS && instruction.target > 0 &&
		    is_context_entry(elf, instruction.target, &end) == 1)
			return add_end(builder, instruction.target - 1, end);
	}
	return 0;
}

/* mov $N, %eax; syscall; test %rax, %rax: in clone() and in clone3() */
static const uint8_t clone_calls[][10] = {
	{ 0xb8, 0x38, 0, 0, 0, 0x0f, 0x05, 0x48, 0x85, 0xc0 },
	{ 0xb8, 0xb3, 0x01, 0, 0, 0x0f, 0x05, 0x48, 0x85, 0xc0 },
};

/* Size of the instruction that loads the number of the system call. */
#define MOV_BYTES 5

/*
 * After the test are jl to the error and je to the child's code, each with a short or a near
 * displacement, and ret. From the system call to the return no instruction changes the stack
 * pointer, so that it is at the return address. Returns the address after ret; 0: the code is
 * different.
 */
static uint64_t end_of_clone(struct bytes_view code, uint64_t address)
{
	size_t at = sizeof(clone_calls[0]);

	for (int jump = 0; jump < 2; jump++) {
		struct x86_instruction instruction;

		if (at >= code.size ||
		    !x86_decode((struct bytes_view){ code.data + at, code.size - at }, address + at,
				&instruction) ||
		    instruction.effect != X86_JUMP_IF)
			return 0;
		at += instruction.length;
	}
	return at < code.size && code.data[at] == 0xc3 ? address + at + 1 : 0;
}

static int add_clones_in(struct unwind_builder *builder, struct bytes_view code, uint64_t vaddr)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(clone_calls); i++) {
		const uint8_t *found =
			memmem(code.data, code.size, clone_calls[i], sizeof(clone_calls[i]));
		size_t at = found ? (size_t)(found - code.data) : 0;
		const struct unwind_builder_row row = {
			.start = vaddr + at + MOV_BYTES,
			.rule = { .cfa = UNWIND_CFA_CLONE,
				  .cfa_offset = 8,
				  .ra = UNWIND_SAVED_CFA,
				  .ra_offset = -8 },
		};
		uint64_t end = 0;

		if (found)
			end = end_of_clone((struct bytes_view){ found, code.size - at },
					   vaddr + at);
		if (end != 0)
			r = unwind_builder_add_rows(builder, &row, 1, end);
	}
	return r;
}

int glibc_rows_add_clone(const struct elf_file *elf, struct unwind_builder *builder)
{
	const struct elf_section *section = elf_file_section(elf, ".text");
	scoped(bytes_release) struct bytes code = BYTES_INIT(MAX_CODE_BYTES);
	uint64_t clone;
	int r;

	if (elf->machine != EM_X86_64 || !section || section->size > MAX_CODE_BYTES)
		return 0;
	r = find_symbol(elf, "clone", &clone);
	if (r == 0 && clone != 0)
		r = elf_file_read_section(elf, section, &code);
	if (r < 0 || clone == 0)
		return r;
	return add_clones_in(builder, (struct bytes_view){ code.data, code.size }, section->vaddr);
}
