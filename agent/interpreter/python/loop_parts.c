/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jumps are found by decoding the function from its first to its last byte. A jump to the first
 * address of a range is not counted, because it may be the call of another function as the last
 * action of this one.
 */
#include "agent/interpreter/python/loop_parts.h"

#include <elf.h>

#include "agent/interpreter/python/cfi_functions.h"
#include "agent/unwind/file/elf_code.h"
#include "agent/unwind/x86_code/x86_instruction.h"

/* CPython's loop has 56 KiB; with computed jumps and without optimization 200 KiB. */
#define MAX_FUNCTION_BYTES (512 * KIB)

/* The function that most targets are in, if there is one for more than half (Boyer and Moore). */
struct vote {
	size_t leader;
	size_t lead;
};

static void vote_for(struct vote *vote, size_t function)
{
	if (vote->lead == 0)
		vote->leader = function;
	if (vote->leader == function)
		vote->lead++;
	else
		vote->lead--;
}

/* Sign-extends the @bits low bits of @value, which count instructions. */
static uint64_t arm64_distance(uint32_t value, unsigned int bits)
{
	return (uint64_t)((int64_t)((uint64_t)value << (64 - bits)) >> (64 - bits)) * 4;
}

/* Arm ARM C4.1.66: branches. False: the instruction is no jump to a fixed address. */
static bool arm64_jump(uint32_t instruction, uint64_t address, uint64_t *ret_target)
{
	if ((instruction & 0xfc000000) == 0x14000000) /* b */
		*ret_target = address + arm64_distance(instruction & 0x3ffffff, 26);
	else if ((instruction & 0xff000010) == 0x54000000 || /* b.cond */
		 (instruction & 0x7e000000) == 0x34000000)   /* cbz, cbnz */
		*ret_target = address + arm64_distance(instruction >> 5 & 0x7ffff, 19);
	else if ((instruction & 0x7e000000) == 0x36000000) /* tbz, tbnz */
		*ret_target = address + arm64_distance(instruction >> 5 & 0x3fff, 14);
	else
		return false;
	return true;
}

/* Returns the length of the instruction. *ret_target: 0, or where it jumps. */
static size_t next_jump(uint16_t machine, struct bytes_view code, uint64_t address,
			uint64_t *ret_target)
{
	struct x86_instruction instruction;
	uint32_t word;

	*ret_target = 0;
	if (machine == EM_AARCH64) {
		if (code.size >= sizeof(word)) {
			memcpy(&word, code.data, sizeof(word));
			(void)arm64_jump(word, address, ret_target);
		}
		return sizeof(word);
	}
	if (!x86_decode(code, address, &instruction))
		return 1;
	if (instruction.effect == X86_JUMP || instruction.effect == X86_JUMP_IF)
		*ret_target = instruction.target;
	return instruction.length;
}

static void count_jumps(const struct elf_file *elf, const struct bytes *code,
			const struct abi_code_range *first, const struct cfi_functions *functions,
			struct vote *vote)
{
	for (size_t at = 0; at < code->size;) {
		struct bytes_view rest = { .data = code->data + at, .size = code->size - at };
		uint64_t target;
		size_t function;

		at += next_jump(elf->machine, rest, first->start + at, &target);
		if (target == 0 || (target >= first->start && target < first->end))
			continue;
		function = cfi_functions_find(functions, target);
		if (function < functions->count &&
		    cfi_functions_start(functions, function) != target)
			vote_for(vote, function);
	}
}

static int read_code(const struct elf_file *elf, const struct abi_code_range *range,
		     struct bytes *code)
{
	size_t size = (size_t)MIN(range->end - range->start, (uint64_t)MAX_FUNCTION_BYTES);
	ssize_t n;
	int r;

	r = bytes_reserve(code, size);
	if (r < 0)
		return r;
	n = elf_code_read(elf, range->start, code->data, size);
	if (n > 0)
		code->size = (size_t)n;
	return n < 0 ? (int)n : 0;
}

int loop_parts_find(const struct elf_file *elf, const struct abi_code_range *first,
		    struct abi_code_range *ret_second)
{
	scoped(bytes_release) struct bytes code = BYTES_INIT(MAX_FUNCTION_BYTES);
	scoped(cfi_functions_release) struct cfi_functions functions = {};
	struct vote vote = {};
	int r;

	r = cfi_functions_read(elf, &functions);
	if (r <= 0)
		return r;
	r = read_code(elf, first, &code);
	if (r < 0)
		return r;
	count_jumps(elf, &code, first, &functions, &vote);
	if (vote.lead == 0)
		return 0;
	return cfi_functions_range(&functions, vote.leader, ret_second);
}

int loop_parts_of_symbol(const struct elf_file *elf, const struct elf_symbol *symbol,
			 struct abi_code_range ret_parts[2])
{
	int r;

	if (symbol->vaddr == 0 || symbol->size == 0 || symbol->size > UINT64_MAX - symbol->vaddr)
		return 0;
	ret_parts[0] = (struct abi_code_range){ symbol->vaddr, symbol->vaddr + symbol->size };
	r = loop_parts_find(elf, &ret_parts[0], &ret_parts[1]);
	return r < 0 ? r : 1;
}
