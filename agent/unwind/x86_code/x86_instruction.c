/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_code/x86_instruction.h"

#include "agent/unwind/x86_code/x86_encoding.h"

#define RSP X86_RSP

static void set(struct x86_instruction *instruction, enum x86_effect effect, int64_t value)
{
	instruction->effect = effect;
	instruction->value = value;
}

static void wrote_register(struct x86_instruction *instruction, uint8_t reg)
{
	if (reg == RSP)
		set(instruction, X86_SP_LOST, 0);
	else if (reg == X86_RBP)
		set(instruction, X86_FP_LOST, 0);
	else
		instruction->written = reg;
}

static void set_with_register(struct x86_instruction *instruction, enum x86_effect effect,
			      uint8_t reg, int64_t value)
{
	set(instruction, effect, value);
	instruction->reg = reg;
}

static bool operand_is_register(const struct x86_encoding *encoding)
{
	return encoding->mode == 3;
}

/* lea, and mov between registers */
static void decode_move(const struct x86_encoding *encoding, uint8_t to, uint8_t from,
			int64_t displacement, struct x86_instruction *instruction)
{
	bool is_plain = (encoding->rex & X86_REX_W) && encoding->index == X86_NO_REGISTER;

	if (to == RSP && from == RSP && is_plain)
		set(instruction, X86_ADD_SP, displacement);
	else if (to == RSP && from == X86_RBP && is_plain)
		set(instruction, X86_SP_FROM_FP, displacement);
	else if (to == X86_RBP && from == RSP && is_plain)
		set(instruction, X86_FP_FROM_SP, displacement);
	else if (to == RSP && from != X86_NO_REGISTER && is_plain)
		set_with_register(instruction, X86_SP_FROM_COPY, from, displacement);
	else if (from == RSP && is_plain)
		set_with_register(instruction, X86_COPY_SP, to, displacement);
	else
		wrote_register(instruction, to);
}

/*
 * Opcodes 00 to 3f: add, or, adc, sbb, and, sub, xor, cmp. cmp writes no register. Operations on
 * bytes are ignored, because in them register 4 is ah, not rsp.
 */
static void decode_arithmetic(const struct x86_encoding *encoding,
			      struct x86_instruction *instruction)
{
	uint8_t form = encoding->opcode & 7;

	if (encoding->opcode >> 3 == 7 || form > 3 || !(form & 1))
		return;
	if (form & 2)
		wrote_register(instruction, encoding->reg);
	else if (operand_is_register(encoding))
		wrote_register(instruction, encoding->rm);
}

/* Opcodes 80, 81 and 83: the operations of decode_arithmetic() with an immediate operand. */
static void decode_immediate(const struct x86_encoding *encoding,
			     struct x86_instruction *instruction)
{
	uint8_t operation = encoding->reg & 7;

	if (!operand_is_register(encoding) || operation == 7 || encoding->opcode == 0x80)
		return;
	if (encoding->rm == RSP && encoding->rex & X86_REX_W && (operation == 0 || operation == 5))
		set(instruction, X86_ADD_SP,
		    operation == 0 ? encoding->immediate : -encoding->immediate);
	else if (encoding->rm == RSP && encoding->rex & X86_REX_W && operation == 4)
		set(instruction, X86_ALIGN_SP, 0);
	else
		wrote_register(instruction, encoding->rm);
}

/* Opcode ff: inc, dec, indirect calls and jumps, push of memory. */
static void decode_group_5(const struct x86_encoding *encoding, struct x86_instruction *instruction)
{
	switch (encoding->reg & 7) {
	case 2:
	case 3:
		set(instruction, X86_CALL_INDIRECT, 0);
		return;
	case 4:
	case 5:
		set(instruction, X86_JUMP_INDIRECT, 0);
		return;
	case 6:
		set(instruction, X86_PUSH, X86_NO_REGISTER);
		return;
	default:
		if (operand_is_register(encoding))
			wrote_register(instruction, encoding->rm);
	}
}

static void decode_stack(const struct x86_encoding *encoding, struct x86_instruction *instruction)
{
	uint8_t reg = (uint8_t)((encoding->opcode & 7) | (encoding->rex & X86_REX_B ? 8 : 0));

	if (encoding->opcode < 0x58)
		set(instruction, X86_PUSH, reg);
	else if (reg == RSP)
		set_with_register(instruction, X86_LOAD, RSP, 0);
	else
		set(instruction, X86_POP, reg);
}

static void decode_one_byte(const struct x86_encoding *encoding, uint64_t next,
			    struct x86_instruction *instruction)
{
	uint8_t opcode = encoding->opcode;

	if (opcode < 0x40) {
		decode_arithmetic(encoding, instruction);
	} else if (opcode >= 0x50 && opcode < 0x60) {
		decode_stack(encoding, instruction);
	} else if ((opcode & 0xf0) == 0x70 || (opcode >= 0xe0 && opcode <= 0xe3)) {
		instruction->effect = X86_JUMP_IF;
		instruction->target = next + (uint64_t)encoding->immediate;
	} else if (opcode >= 0xb8 && opcode < 0xc0) {
		instruction->effect = X86_NUMBER;
		instruction->target = (uint64_t)encoding->immediate;
		wrote_register(instruction,
			       (uint8_t)((opcode & 7) | (encoding->rex & X86_REX_B ? 8 : 0)));
	}
}

/* push, pop, enter, leave. False: it is another instruction. */
static bool decode_stack_forms(const struct x86_encoding *encoding,
			       struct x86_instruction *instruction)
{
	switch (encoding->opcode) {
	case 0x68:
	case 0x6a:
	case 0x9c:
		set(instruction, X86_PUSH, X86_NO_REGISTER);
		return true;
	case 0x9d:
	case 0x8f:
		set(instruction, X86_POP, X86_NO_REGISTER);
		return true;
	case 0xc8:
		set(instruction, X86_SP_LOST, 0);
		return true;
	case 0xc9:
		set(instruction, X86_LEAVE, 0);
		return true;
	default:
		return false;
	}
}

/* Calls, jumps, returns, int3 and hlt. False: it is another instruction. */
static bool decode_flow(const struct x86_encoding *encoding, uint64_t next,
			struct x86_instruction *instruction)
{
	switch (encoding->opcode) {
	case 0xc2:
	case 0xc3:
	case 0xca:
	case 0xcb:
	case 0xcf:
		set(instruction, X86_RETURN, 0);
		return true;
	case 0xcc:
	case 0xf4:
		set(instruction, X86_STOP, 0);
		return true;
	case 0xe8:
	case 0xe9:
	case 0xeb:
		instruction->effect = encoding->opcode == 0xe8 ? X86_CALL : X86_JUMP;
		instruction->target = next + (uint64_t)encoding->immediate;
		return true;
	case 0xff:
		decode_group_5(encoding, instruction);
		return true;
	default:
		return false;
	}
}

static void decode_lea(const struct x86_encoding *encoding, uint64_t next,
		       struct x86_instruction *instruction)
{
	decode_move(encoding, encoding->reg, encoding->base, encoding->displacement, instruction);
	if (!encoding->is_rip_relative || instruction->effect != X86_PLAIN)
		return;
	instruction->effect = X86_ADDRESS;
	instruction->target = next + (uint64_t)encoding->displacement;
}

/* Whether the operand is a value of eight bytes on the stack. */
static bool operand_is_of_stack(const struct x86_encoding *encoding)
{
	return !operand_is_register(encoding) && encoding->base == RSP &&
	       encoding->index == X86_NO_REGISTER && encoding->rex & X86_REX_W;
}

/* mov from a register */
static void decode_store(const struct x86_encoding *encoding, struct x86_instruction *instruction)
{
	if (operand_is_register(encoding))
		decode_move(encoding, encoding->rm, encoding->reg, 0, instruction);
	else if (!operand_is_of_stack(encoding))
		return;
	else if (encoding->reg == X86_RBP)
		set(instruction, X86_STORE_FP, encoding->displacement);
	else
		set_with_register(instruction, X86_STORE, encoding->reg, encoding->displacement);
}

/* mov to a register */
static void decode_load(const struct x86_encoding *encoding, struct x86_instruction *instruction)
{
	if (operand_is_register(encoding))
		decode_move(encoding, encoding->reg, encoding->rm, 0, instruction);
	else if (operand_is_of_stack(encoding))
		set_with_register(instruction, X86_LOAD, encoding->reg, encoding->displacement);
	else
		wrote_register(instruction, encoding->reg);
}

static void decode_exchange(const struct x86_encoding *encoding,
			    struct x86_instruction *instruction)
{
	if (operand_is_register(encoding))
		wrote_register(instruction, encoding->rm);
	if (instruction->effect == X86_PLAIN)
		wrote_register(instruction, encoding->reg);
}

static void decode_by_opcode(const struct x86_encoding *encoding, uint64_t next,
			     struct x86_instruction *instruction)
{
	if (decode_stack_forms(encoding, instruction) || decode_flow(encoding, next, instruction))
		return;
	switch (encoding->opcode) {
	case 0x80:
	case 0x81:
	case 0x83:
		decode_immediate(encoding, instruction);
		return;
	case 0x63:
	case 0x69:
	case 0x6b:
		wrote_register(instruction, encoding->reg);
		return;
	case 0x87:
		decode_exchange(encoding, instruction);
		return;
	case 0x89:
		decode_store(encoding, instruction);
		return;
	case 0x8b:
		decode_load(encoding, instruction);
		return;
	case 0x8d:
		decode_lea(encoding, next, instruction);
		return;
	case 0x94:
	case 0x95:
		wrote_register(instruction, (uint8_t)((encoding->opcode & 7) |
						      (encoding->rex & X86_REX_B ? 8 : 0)));
		return;
	case 0xc7:
		instruction->effect = X86_NUMBER;
		instruction->target = (uint64_t)encoding->immediate;
		if (operand_is_register(encoding))
			wrote_register(instruction, encoding->rm);
		return;
	default:
		decode_one_byte(encoding, next, instruction);
	}
}

static void decode_two_bytes(const struct x86_encoding *encoding, uint64_t next,
			     struct x86_instruction *instruction)
{
	uint8_t opcode = encoding->opcode;

	if ((opcode & 0xf0) == 0x80) {
		instruction->effect = X86_JUMP_IF;
		instruction->target = next + (uint64_t)encoding->immediate;
	} else if (opcode == 0x0b) {
		set(instruction, X86_STOP, 0);
	} else if (opcode == 0xa0 || opcode == 0xa8) {
		set(instruction, X86_PUSH, X86_NO_REGISTER);
	} else if (opcode == 0xa1 || opcode == 0xa9) {
		set(instruction, X86_POP, X86_NO_REGISTER);
	} else if ((opcode & 0xf0) == 0x40 ||
		   (opcode >= 0xaf && opcode <= 0xbf && opcode != 0xb0 && opcode != 0xb1 &&
		    opcode != 0xb3 && opcode != 0xba && opcode != 0xbb)) {
		wrote_register(instruction, encoding->reg);
	}
}

bool x86_decode(struct bytes_view code, uint64_t address, struct x86_instruction *ret_instruction)
{
	struct x86_instruction instruction = { .written = X86_NO_REGISTER };
	struct x86_encoding encoding;

	if (!x86_encoding_read(code, &encoding, &instruction.length))
		return false;
	if (!encoding.is_vector && encoding.map == X86_MAP_ONE_BYTE)
		decode_by_opcode(&encoding, address + instruction.length, &instruction);
	else if (!encoding.is_vector && encoding.map == X86_MAP_0F)
		decode_two_bytes(&encoding, address + instruction.length, &instruction);
	*ret_instruction = instruction;
	return true;
}
