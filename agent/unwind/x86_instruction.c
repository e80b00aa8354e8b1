/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_instruction.h"

#include "agent/unwind/x86_parts.h"

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

static bool operand_is_register(const struct x86_parts *parts)
{
	return parts->mode == 3;
}

/* lea, and the moves between registers. */
static void judge_move(const struct x86_parts *parts, uint8_t to, uint8_t from,
		       int64_t displacement, struct x86_instruction *instruction)
{
	bool is_plain = (parts->rex & X86_REX_W) && parts->index == X86_NO_REGISTER;

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
 * 00 to 3f: add, or, adc, sbb, and, sub, xor, cmp; the last one changes nothing. Of bytes number 4
 * is ah, not rsp.
 */
static void judge_arithmetic(const struct x86_parts *parts, struct x86_instruction *instruction)
{
	uint8_t form = parts->opcode & 7;

	if (parts->opcode >> 3 == 7 || form > 3 || !(form & 1))
		return;
	if (form & 2)
		wrote_register(instruction, parts->reg);
	else if (operand_is_register(parts))
		wrote_register(instruction, parts->rm);
}

/* 80, 81, 83: the same with an immediate. */
static void judge_immediate(const struct x86_parts *parts, struct x86_instruction *instruction)
{
	uint8_t operation = parts->reg & 7;

	if (!operand_is_register(parts) || operation == 7 || parts->opcode == 0x80)
		return;
	if (parts->rm == RSP && parts->rex & X86_REX_W && (operation == 0 || operation == 5))
		set(instruction, X86_ADD_SP, operation == 0 ? parts->immediate : -parts->immediate);
	else if (parts->rm == RSP && parts->rex & X86_REX_W && operation == 4)
		set(instruction, X86_ALIGN_SP, 0);
	else
		wrote_register(instruction, parts->rm);
}

/* ff */
static void judge_group_5(const struct x86_parts *parts, struct x86_instruction *instruction)
{
	switch (parts->reg & 7) {
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
		if (operand_is_register(parts))
			wrote_register(instruction, parts->rm);
	}
}

static void judge_stack(const struct x86_parts *parts, struct x86_instruction *instruction)
{
	uint8_t reg = (uint8_t)((parts->opcode & 7) | (parts->rex & X86_REX_B ? 8 : 0));

	if (parts->opcode < 0x58)
		set(instruction, X86_PUSH, reg);
	else if (reg == RSP)
		set_with_register(instruction, X86_LOAD, RSP, 0);
	else
		set(instruction, X86_POP, reg);
}

static void judge_one_byte(const struct x86_parts *parts, uint64_t next,
			   struct x86_instruction *instruction)
{
	uint8_t opcode = parts->opcode;

	if (opcode < 0x40) {
		judge_arithmetic(parts, instruction);
	} else if (opcode >= 0x50 && opcode < 0x60) {
		judge_stack(parts, instruction);
	} else if ((opcode & 0xf0) == 0x70 || (opcode >= 0xe0 && opcode <= 0xe3)) {
		instruction->effect = X86_JUMP_IF;
		instruction->target = next + (uint64_t)parts->immediate;
	} else if (opcode >= 0xb8 && opcode < 0xc0) {
		instruction->effect = X86_NUMBER;
		instruction->target = (uint64_t)parts->immediate;
		wrote_register(instruction,
			       (uint8_t)((opcode & 7) | (parts->rex & X86_REX_B ? 8 : 0)));
	}
}

/* push, pop, enter, leave. False: none of them. */
static bool judge_stack_forms(const struct x86_parts *parts, struct x86_instruction *instruction)
{
	switch (parts->opcode) {
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

/* Calls, jumps, returns, ends. */
static bool judge_flow(const struct x86_parts *parts, uint64_t next,
		       struct x86_instruction *instruction)
{
	switch (parts->opcode) {
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
		instruction->effect = parts->opcode == 0xe8 ? X86_CALL : X86_JUMP;
		instruction->target = next + (uint64_t)parts->immediate;
		return true;
	case 0xff:
		judge_group_5(parts, instruction);
		return true;
	default:
		return false;
	}
}

static void judge_lea(const struct x86_parts *parts, uint64_t next,
		      struct x86_instruction *instruction)
{
	judge_move(parts, parts->reg, parts->base, parts->displacement, instruction);
	if (!parts->is_rip_relative || instruction->effect != X86_PLAIN)
		return;
	instruction->effect = X86_ADDRESS;
	instruction->target = next + (uint64_t)parts->displacement;
}

/* Whether the operand is eight bytes of the stack. */
static bool operand_is_of_stack(const struct x86_parts *parts)
{
	return !operand_is_register(parts) && parts->base == RSP &&
	       parts->index == X86_NO_REGISTER && parts->rex & X86_REX_W;
}

/* mov from a register. */
static void judge_store(const struct x86_parts *parts, struct x86_instruction *instruction)
{
	if (operand_is_register(parts))
		judge_move(parts, parts->rm, parts->reg, 0, instruction);
	else if (!operand_is_of_stack(parts))
		return;
	else if (parts->reg == X86_RBP)
		set(instruction, X86_STORE_FP, parts->displacement);
	else
		set_with_register(instruction, X86_STORE, parts->reg, parts->displacement);
}

/* mov to a register. */
static void judge_load(const struct x86_parts *parts, struct x86_instruction *instruction)
{
	if (operand_is_register(parts))
		judge_move(parts, parts->reg, parts->rm, 0, instruction);
	else if (operand_is_of_stack(parts))
		set_with_register(instruction, X86_LOAD, parts->reg, parts->displacement);
	else
		wrote_register(instruction, parts->reg);
}

static void judge_exchange(const struct x86_parts *parts, struct x86_instruction *instruction)
{
	if (operand_is_register(parts))
		wrote_register(instruction, parts->rm);
	if (instruction->effect == X86_PLAIN)
		wrote_register(instruction, parts->reg);
}

static void judge_by_opcode(const struct x86_parts *parts, uint64_t next,
			    struct x86_instruction *instruction)
{
	if (judge_stack_forms(parts, instruction) || judge_flow(parts, next, instruction))
		return;
	switch (parts->opcode) {
	case 0x80:
	case 0x81:
	case 0x83:
		judge_immediate(parts, instruction);
		return;
	case 0x63:
	case 0x69:
	case 0x6b:
		wrote_register(instruction, parts->reg);
		return;
	case 0x87:
		judge_exchange(parts, instruction);
		return;
	case 0x89:
		judge_store(parts, instruction);
		return;
	case 0x8b:
		judge_load(parts, instruction);
		return;
	case 0x8d:
		judge_lea(parts, next, instruction);
		return;
	case 0x94:
	case 0x95:
		wrote_register(instruction,
			       (uint8_t)((parts->opcode & 7) | (parts->rex & X86_REX_B ? 8 : 0)));
		return;
	case 0xc7:
		instruction->effect = X86_NUMBER;
		instruction->target = (uint64_t)parts->immediate;
		if (operand_is_register(parts))
			wrote_register(instruction, parts->rm);
		return;
	default:
		judge_one_byte(parts, next, instruction);
	}
}

static void judge_two_bytes(const struct x86_parts *parts, uint64_t next,
			    struct x86_instruction *instruction)
{
	uint8_t opcode = parts->opcode;

	if ((opcode & 0xf0) == 0x80) {
		instruction->effect = X86_JUMP_IF;
		instruction->target = next + (uint64_t)parts->immediate;
	} else if (opcode == 0x0b) {
		set(instruction, X86_STOP, 0);
	} else if (opcode == 0xa0 || opcode == 0xa8) {
		set(instruction, X86_PUSH, X86_NO_REGISTER);
	} else if (opcode == 0xa1 || opcode == 0xa9) {
		set(instruction, X86_POP, X86_NO_REGISTER);
	} else if ((opcode & 0xf0) == 0x40 ||
		   (opcode >= 0xaf && opcode <= 0xbf && opcode != 0xb0 && opcode != 0xb1 &&
		    opcode != 0xb3 && opcode != 0xba && opcode != 0xbb)) {
		wrote_register(instruction, parts->reg);
	}
}

bool x86_decode(struct bytes_view code, uint64_t address, struct x86_instruction *ret_instruction)
{
	struct x86_instruction instruction = { .written = X86_NO_REGISTER };
	struct x86_parts parts;

	if (!x86_take_apart(code, &parts, &instruction.length))
		return false;
	if (!parts.is_vector && parts.map == X86_MAP_ONE_BYTE)
		judge_by_opcode(&parts, address + instruction.length, &instruction);
	else if (!parts.is_vector && parts.map == X86_MAP_0F)
		judge_two_bytes(&parts, address + instruction.length, &instruction);
	*ret_instruction = instruction;
	return true;
}
