/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/code/decode_code.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <stdio.h>

/* Blocks with their headers; the code stays in the request. */
#define ARENA_BYTES MIB

struct decoding {
	csh handle;
	cs_insn *instruction; /* capstone's room for one */
	uint16_t machine;
	struct bytes *out;
};

bool decode_code_knows(uint16_t machine)
{
	return machine == EM_X86_64 || machine == EM_AARCH64;
}

static int error_of(cs_err error)
{
	return error == CS_ERR_MEM ? -ENOMEM : -ENOTSUP;
}

static int open_capstone(const struct code_request_header *header, struct decoding *decoding)
{
	const bool is_x86 = header->machine == EM_X86_64;
	cs_err error;

	if (!decode_code_knows(header->machine))
		return -ENOTSUP;
	error = cs_open(is_x86 ? CS_ARCH_X86 : CS_ARCH_ARM64,
			is_x86 ? CS_MODE_64 : CS_MODE_LITTLE_ENDIAN, &decoding->handle);
	if (error != CS_ERR_OK)
		return error_of(error);
	/* Details have the targets of jumps. */
	error = cs_option(decoding->handle, CS_OPT_DETAIL, CS_OPT_ON);
	if (error == CS_ERR_OK && is_x86 && header->syntax == CODE_SYNTAX_ATT)
		error = cs_option(decoding->handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	if (error != CS_ERR_OK)
		return error_of(error);
	decoding->instruction = cs_malloc(decoding->handle);
	return decoding->instruction ? 0 : -ENOMEM;
}

static void decoding_release(struct decoding *decoding)
{
	if (decoding->instruction)
		cs_free(decoding->instruction, 1);
	if (decoding->handle)
		(void)cs_close(&decoding->handle);
}

static bool is_in_group(const cs_detail *detail, uint8_t group)
{
	for (uint8_t i = 0; i < detail->groups_count; i++)
		if (detail->groups[i] == group)
			return true;
	return false;
}

/* The operand of a direct jump is an address; that of "tbz w0, #3, ADDRESS" is the last one. */
static uint64_t target_of(const struct decoding *decoding)
{
	const cs_detail *detail = decoding->instruction->detail;
	uint8_t last;

	if (!is_in_group(detail, CS_GRP_JUMP) && !is_in_group(detail, CS_GRP_CALL) &&
	    !is_in_group(detail, CS_GRP_BRANCH_RELATIVE))
		return CODE_NO_TARGET;
	if (decoding->machine == EM_X86_64) {
		last = detail->x86.op_count;
		return last > 0 && detail->x86.operands[last - 1].type == X86_OP_IMM
			       ? (uint64_t)detail->x86.operands[last - 1].imm
			       : CODE_NO_TARGET;
	}
	last = detail->arm64.op_count;
	return last > 0 && detail->arm64.operands[last - 1].type == ARM64_OP_IMM
		       ? (uint64_t)detail->arm64.operands[last - 1].imm
		       : CODE_NO_TARGET;
}

static int append_instruction(const struct decoding *decoding, const struct code_block *block,
			      uint32_t number)
{
	const cs_insn *from = decoding->instruction;
	const struct code_instruction instruction = {
		.elf_addr = from->address,
		.size = from->size,
		.block = number,
		.target = target_of(decoding),
		.mnemonic = from->mnemonic,
		.operands = from->op_str,
	};

	return code_record_write(decoding->out, block, &instruction);
}

static int append_data(const struct decoding *decoding, const struct code_block *block,
		       uint32_t number, uint64_t elf_addr, const uint8_t *bytes, size_t size)
{
	struct code_instruction instruction = {
		.elf_addr = elf_addr,
		.size = (uint32_t)size,
		.block = number,
		.is_data = true,
		.target = CODE_NO_TARGET,
		.mnemonic = size == 1 ? ".byte" : ".inst",
	};
	char text[2 + 2 * CODE_INSTRUCTION_MAX_BYTES + 1] = "0x";
	uint32_t value = 0;

	for (size_t i = 0; i < size; i++)
		value |= (uint32_t)bytes[i] << 8 * i;
	(void)snprintf(text, sizeof(text), "0x%0*x", (int)(2 * size), value);
	instruction.operands = text;
	return code_record_write(decoding->out, block, &instruction);
}

static int decode_block(const struct decoding *decoding, const struct code_block *block,
			uint32_t number)
{
	const size_t step = decoding->machine == EM_AARCH64 ? 4 : 1;
	const uint8_t *next = block->bytes.data;
	size_t left = block->bytes.size;
	uint64_t elf_addr = block->elf_addr;
	int r = 0;

	while (left > 0 && r == 0) {
		const size_t skipped = MIN(left, step);

		if (cs_disasm_iter(decoding->handle, &next, &left, &elf_addr,
				   decoding->instruction)) {
			r = append_instruction(decoding, block, number);
			continue;
		}
		r = append_data(decoding, block, number, elf_addr, next, skipped);
		next += skipped;
		left -= skipped;
		elf_addr += skipped;
	}
	return r;
}

int decode_code(struct bytes_view request, struct bytes *out)
{
	scoped(arena_freep) struct arena *arena = NULL;
	scoped(decoding_release) struct decoding decoding = { .out = out };
	struct code_request_header header;
	struct code_block *blocks;
	int r;

	r = arena_new(ARENA_BYTES, &arena);
	if (r == 0)
		r = code_request_read(request, arena, &header, &blocks);
	if (r < 0)
		return r;
	decoding.machine = header.machine;
	r = open_capstone(&header, &decoding);
	for (uint32_t i = 0; i < header.n_blocks && r == 0; i++)
		r = decode_block(&decoding, &blocks[i], i);
	return r;
}
