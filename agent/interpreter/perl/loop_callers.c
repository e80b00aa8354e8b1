/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/perl/loop_callers.h"

#include "agent/interpreter/python/cfi_functions.h"
#include "agent/unwind/file/elf_code.h"
#include "agent/unwind/x86_code/x86_encoding.h"
#include "agent/unwind/x86_code/x86_instruction.h"

/* perl_run() has 1 KiB. */
#define MAX_CODE_BYTES 4096

/* Functions to which a function leads that are looked at. */
#define MAX_TARGETS 32

#define CALL       0xe8
#define JUMP       0xe9
#define SHORT_JUMP 0xeb

/* Jumps: 0f 80 to 0f 8f, 70 to 7f. */
#define CONDITIONAL       0x80
#define SHORT_CONDITIONAL 0x70

#define GROUP_5       0xff
#define GROUP_5_CALL  2
#define OPERAND_BASE  7 /* the lowest bits of a register's number */
#define RSP           4
#define REGISTER_MODE 3

struct leads {
	uint64_t targets[MAX_TARGETS];
	size_t n_targets;
	bool calls_pointer;
};

/*
 * A call of a function whose address is in memory. Not in the stack frame: S_docatch() calls its
 * argument too, which is there.
 */
static bool is_call_by_pointer(const struct x86_encoding *encoding)
{
	return encoding->map == X86_MAP_ONE_BYTE && !encoding->is_vector &&
	       encoding->opcode == GROUP_5 && (encoding->reg & OPERAND_BASE) == GROUP_5_CALL &&
	       encoding->mode != REGISTER_MODE &&
	       (encoding->is_rip_relative ||
		(encoding->base != X86_NO_REGISTER && encoding->base != RSP));
}

/* A call, or a jump that may leave the function. Its immediate value is the distance. */
static bool leads_to_function(const struct x86_encoding *encoding)
{
	if (encoding->is_vector)
		return false;
	if (encoding->map == X86_MAP_0F)
		return (encoding->opcode & 0xf0) == CONDITIONAL;
	return encoding->map == X86_MAP_ONE_BYTE &&
	       (encoding->opcode == CALL || encoding->opcode == JUMP ||
		encoding->opcode == SHORT_JUMP || (encoding->opcode & 0xf0) == SHORT_CONDITIONAL);
}

/* 1; 0: the code is not understood; or a negative errno. */
static int look_at_code(const struct elf_file *elf, const struct abi_code_range *range,
			struct leads *ret_leads)
{
	uint8_t code[MAX_CODE_BYTES];
	struct x86_encoding encoding;
	uint8_t length;
	ssize_t n;

	*ret_leads = (struct leads){};
	if (range->end - range->start > sizeof(code))
		return 0;
	n = elf_code_read(elf, range->start, code, (size_t)(range->end - range->start));
	if (n < 0)
		return (int)n;
	for (size_t at = 0; at < (size_t)n; at += length) {
		const struct bytes_view rest = { .data = code + at, .size = (size_t)n - at };
		uint64_t target;

		if (!x86_encoding_read(rest, &encoding, &length))
			return 0;
		ret_leads->calls_pointer |= is_call_by_pointer(&encoding);
		if (!leads_to_function(&encoding))
			continue;
		target = range->start + at + length + (uint64_t)encoding.immediate;
		if ((target < range->start || target >= range->end) &&
		    ret_leads->n_targets < MAX_TARGETS)
			ret_leads->targets[ret_leads->n_targets++] = target;
	}
	return 1;
}

/* 1: *ret_leads of the function that begins at @vaddr; 0: it is not understood; or an errno. */
static int look_at_function(const struct elf_file *elf, const struct cfi_functions *functions,
			    uint64_t vaddr, struct abi_code_range *ret_range,
			    struct leads *ret_leads)
{
	size_t index = cfi_functions_find(functions, vaddr);

	if (index == functions->count || cfi_functions_start(functions, index) != vaddr ||
	    cfi_functions_range(functions, index, ret_range) != 1)
		return 0;
	return look_at_code(elf, ret_range, ret_leads);
}

int loop_caller_find(const struct elf_file *elf, uint64_t vaddr, struct abi_code_range *ret_range)
{
	scoped(cfi_functions_release) struct cfi_functions functions = {};
	struct abi_code_range range;
	struct leads leads, next;
	int r = cfi_functions_read(elf, &functions);

	if (r != 1)
		return r;
	r = look_at_function(elf, &functions, vaddr, &range, &leads);
	if (r != 1)
		return r;
	for (size_t i = 0; i < leads.n_targets && !leads.calls_pointer; i++) {
		r = look_at_function(elf, &functions, leads.targets[i], &range, &next);
		if (r < 0)
			return r;
		leads.calls_pointer = r == 1 && next.calls_pointer;
	}
	if (!leads.calls_pointer)
		return 0;
	*ret_range = range;
	return 1;
}
