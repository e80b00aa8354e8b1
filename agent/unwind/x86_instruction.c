/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_instruction.h"

#include "agent/unwind/frame_cursor.h"

/*
 * What follows an opcode is in two tables, one character for each: 'M' ModRM, 'b' ModRM and a byte, 'z' ModRM and an
 * immediate of 4 bytes (2 with the prefix 66), '1' a byte, '2' two bytes, '4' an immediate of 4 (2), '8' one of 4
 * (2), or 8 with REX.W, 'r' a relative byte, 'R' four relative bytes, 'o' an offset of 8, 'e' enter, '.' nothing, '-'
 * no such instruction, 'p' prefix, 'x' escapes.
 */
static const char one_byte_map[] =
	"MMMM14--MMMM14-x" /* 00 */
	"MMMM14--MMMM14--" /* 10 */
	"MMMM14p-MMMM14p-" /* 20 */
	"MMMM14p-MMMM14p-" /* 30 */
	"pppppppppppppppp" /* 40: REX */
	"................" /* 50 */
	"--xMpppp4z1b...." /* 60 */
	"rrrrrrrrrrrrrrrr" /* 70 */
	"bz-bMMMMMMMMMMMM" /* 80 */
	"..........-....." /* 90 */
	"oooo....14......" /* a0 */
	"1111111188888888" /* b0 */
	"bb2.xxbze.2..1-." /* c0 */
	"MMMM---.MMMMMMMM" /* d0 */
	"rrrr1111RR-r...." /* e0 */
	"p.pp..MM......MM"; /* f0 */

static const char two_byte_map[] =
	"MMMM-.....-.-M.b" /* 00 */
	"MMMMMMMMMMMMMMMM" /* 10 */
	"MMMM----MMMMMMMM" /* 20 */
	"........x-x-----" /* 30 */
	"MMMMMMMMMMMMMMMM" /* 40 */
	"MMMMMMMMMMMMMMMM" /* 50 */
	"MMMMMMMMMMMMMMMM" /* 60 */
	"bbbbMMM.MMMMMMMM" /* 70 */
	"RRRRRRRRRRRRRRRR" /* 80 */
	"MMMMMMMMMMMMMMMM" /* 90 */
	"...MbM--...MbMMM" /* a0 */
	"MMMMMMMMMMbMMMMM" /* b0 */
	"MMbMbbbM........" /* c0 */
	"MMMMMMMMMMMMMMMM" /* d0 */
	"MMMMMMMMMMMMMMMM" /* e0 */
	"MMMMMMMMMMMMMMMM"; /* f0 */

static_assert(sizeof(one_byte_map) == 257 && sizeof(two_byte_map) == 257, "a character for each opcode");

enum map {
	MAP_ONE_BYTE = 0,
	MAP_0F = 1,
	MAP_0F38 = 2,
	MAP_0F3A = 3,
};

/* An instruction taken apart. */
struct parts {
	struct bytes_reader reader;
	uint8_t rex;
	bool is_16_bit;
	bool is_vector; /* VEX, EVEX */
	enum map map;
	uint8_t opcode;
	bool has_modrm;
	uint8_t mode, reg, rm; /* with the bits of REX */
	bool is_rip_relative;
	uint8_t base, index; /* of the memory operand; X86_NO_REGISTER */
	int64_t displacement;
	int64_t immediate;
};

#define REX_W 8
#define REX_R 4
#define REX_X 2
#define REX_B 1

#define RSP 4

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e ||
	       byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65;
}

static int64_t read_signed(struct bytes_reader *reader, size_t size)
{
	uint64_t value = cursor_fixed(reader, size);

	switch (size) {
	case 1:
		return (int8_t)value;
	case 2:
		return (int16_t)value;
	case 4:
		return (int32_t)value;
	default:
		return (int64_t)value;
	}
}

/* Of what VEX and EVEX have of REX only the width matters here: they leave rsp and rbp alone. */
static void read_vector_prefix(struct parts *parts, uint8_t first)
{
	uint8_t byte = cursor_u8(&parts->reader);

	parts->is_vector = true;
	parts->map = MAP_0F;
	if (first == 0xc5)
		return;
	parts->map = byte & (first == 0xc4 ? 0x1f : 0x07);
	(void)cursor_u8(&parts->reader);
	if (first == 0x62)
		(void)cursor_u8(&parts->reader);
}

static void read_opcode(struct parts *parts)
{
	uint8_t byte = cursor_u8(&parts->reader);

	while (is_prefix(byte) && !parts->reader.error) {
		parts->is_16_bit |= byte == 0x66;
		byte = cursor_u8(&parts->reader);
	}
	if ((byte & 0xf0) == 0x40) {
		parts->rex = byte & 0x0f;
		byte = cursor_u8(&parts->reader);
	}
	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
		read_vector_prefix(parts, byte);
		byte = cursor_u8(&parts->reader);
	} else if (byte == 0x0f) {
		parts->map = MAP_0F;
		byte = cursor_u8(&parts->reader);
		if (byte == 0x38 || byte == 0x3a) {
			parts->map = byte == 0x38 ? MAP_0F38 : MAP_0F3A;
			byte = cursor_u8(&parts->reader);
		}
	}
	parts->opcode = byte;
}

static void read_modrm(struct parts *parts)
{
	uint8_t modrm = cursor_u8(&parts->reader);
	uint8_t low = modrm & 7;

	parts->has_modrm = true;
	parts->mode = modrm >> 6;
	parts->reg = (uint8_t)((modrm >> 3 & 7) | (parts->rex & REX_R ? 8 : 0));
	parts->rm = (uint8_t)(low | (parts->rex & REX_B ? 8 : 0));
	parts->base = X86_NO_REGISTER;
	parts->index = X86_NO_REGISTER;
	if (parts->mode == 3)
		return;
	parts->base = parts->rm;
	if (low == 4) {
		uint8_t sib = cursor_u8(&parts->reader);
		uint8_t index = (uint8_t)((sib >> 3 & 7) | (parts->rex & REX_X ? 8 : 0));

		parts->base = (uint8_t)((sib & 7) | (parts->rex & REX_B ? 8 : 0));
		parts->index = index == RSP ? X86_NO_REGISTER : index;
		low = sib & 7;
		if (low == 5 && parts->mode == 0)
			parts->base = X86_NO_REGISTER;
	} else if (low == 5 && parts->mode == 0) {
		parts->base = X86_NO_REGISTER;
		parts->is_rip_relative = true;
	}
	if (parts->mode == 1)
		parts->displacement = read_signed(&parts->reader, 1);
	else if (parts->mode == 2 || (parts->mode == 0 && low == 5))
		parts->displacement = read_signed(&parts->reader, 4);
}

static char form_of(const struct parts *parts)
{
	if (parts->map > MAP_0F3A)
		return 'M'; /* EVEX maps 5 and 6 */
	if (parts->map == MAP_0F38)
		return 'M';
	if (parts->map == MAP_0F3A)
		return 'b';
	if (parts->map == MAP_0F)
		return two_byte_map[parts->opcode];
	return one_byte_map[parts->opcode];
}

static bool read_operands(struct parts *parts)
{
	char form = form_of(parts);
	size_t word = parts->is_16_bit ? 2 : 4;

	if (form == '-' || form == 'x' || form == 'p')
		return false;
	if (form == 'M' || form == 'b' || form == 'z')
		read_modrm(parts);
	/* XOP, which few processors had. */
	if (parts->map == MAP_ONE_BYTE && parts->opcode == 0x8f && (parts->reg & 7) != 0)
		return false;
	/* test, the only ones of their group that have an immediate. */
	if (parts->map == MAP_ONE_BYTE && (parts->opcode & 0xfe) == 0xf6 && (parts->reg & 6) == 0)
		form = parts->opcode == 0xf6 ? '1' : '4';
	if (form == 'b' || form == '1' || form == 'r')
		parts->immediate = read_signed(&parts->reader, 1);
	else if (form == 'z' || form == '4')
		parts->immediate = read_signed(&parts->reader, word);
	else if (form == '8')
		parts->immediate = read_signed(&parts->reader, parts->rex & REX_W ? 8 : word);
	else if (form == 'R')
		parts->immediate = read_signed(&parts->reader, 4);
	else if (form == '2')
		parts->immediate = read_signed(&parts->reader, 2);
	else if (form == 'o')
		parts->immediate = read_signed(&parts->reader, 8);
	else if (form == 'e')
		(void)cursor_fixed(&parts->reader, 3);
	return !parts->reader.error;
}

/* ---- what it does ------------------------------------------------------------------------------------------- */

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
}

static bool operand_is_register(const struct parts *parts)
{
	return parts->mode == 3;
}

/* lea, and the moves between rsp and rbp. */
static void judge_move(const struct parts *parts, uint8_t to, uint8_t from, int64_t displacement,
		       struct x86_instruction *instruction)
{
	bool is_plain = (parts->rex & REX_W) && parts->index == X86_NO_REGISTER;

	if (to == RSP && from == RSP && is_plain)
		set(instruction, X86_ADD_SP, displacement);
	else if (to == RSP && from == X86_RBP && is_plain)
		set(instruction, X86_SP_FROM_FP, displacement);
	else if (to == X86_RBP && from == RSP && is_plain)
		set(instruction, X86_FP_FROM_SP, displacement);
	else
		wrote_register(instruction, to);
}

/* 00 to 3f: add, or, adc, sbb, and, sub, xor, cmp; the last one changes nothing. Of bytes number 4 is ah, not rsp. */
static void judge_arithmetic(const struct parts *parts, struct x86_instruction *instruction)
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
static void judge_immediate(const struct parts *parts, struct x86_instruction *instruction)
{
	uint8_t operation = parts->reg & 7;

	if (!operand_is_register(parts) || operation == 7 || parts->opcode == 0x80)
		return;
	if (parts->rm == RSP && parts->rex & REX_W && (operation == 0 || operation == 5))
		set(instruction, X86_ADD_SP, operation == 0 ? parts->immediate : -parts->immediate);
	else
		wrote_register(instruction, parts->rm);
}

/* ff */
static void judge_group_5(const struct parts *parts, struct x86_instruction *instruction)
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

static void judge_stack(const struct parts *parts, struct x86_instruction *instruction)
{
	uint8_t reg = (uint8_t)((parts->opcode & 7) | (parts->rex & REX_B ? 8 : 0));

	if (parts->opcode < 0x58)
		set(instruction, X86_PUSH, reg);
	else if (reg == RSP)
		set(instruction, X86_SP_LOST, 0);
	else
		set(instruction, X86_POP, reg);
}

static void judge_one_byte(const struct parts *parts, uint64_t next, struct x86_instruction *instruction)
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
		wrote_register(instruction, (uint8_t)((opcode & 7) | (parts->rex & REX_B ? 8 : 0)));
	}
}

/* push, pop, enter, leave. False: none of them. */
static bool judge_stack_forms(const struct parts *parts, struct x86_instruction *instruction)
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
static bool judge_flow(const struct parts *parts, uint64_t next, struct x86_instruction *instruction)
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

static void judge_lea(const struct parts *parts, uint64_t next, struct x86_instruction *instruction)
{
	judge_move(parts, parts->reg, parts->base, parts->displacement, instruction);
	if (!parts->is_rip_relative || instruction->effect != X86_PLAIN)
		return;
	instruction->effect = X86_ADDRESS;
	instruction->target = next + (uint64_t)parts->displacement;
}

/* mov from a register. */
static void judge_store(const struct parts *parts, struct x86_instruction *instruction)
{
	if (operand_is_register(parts))
		judge_move(parts, parts->rm, parts->reg, 0, instruction);
	else if (parts->reg == X86_RBP && parts->base == RSP && parts->index == X86_NO_REGISTER)
		set(instruction, X86_STORE_FP, parts->displacement);
}

static void judge_exchange(const struct parts *parts, struct x86_instruction *instruction)
{
	if (operand_is_register(parts))
		wrote_register(instruction, parts->rm);
	if (instruction->effect == X86_PLAIN)
		wrote_register(instruction, parts->reg);
}

static void judge_by_opcode(const struct parts *parts, uint64_t next, struct x86_instruction *instruction)
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
		judge_move(parts, parts->reg, operand_is_register(parts) ? parts->rm : X86_NO_REGISTER, 0,
			   instruction);
		return;
	case 0x8d:
		judge_lea(parts, next, instruction);
		return;
	case 0x94:
	case 0x95:
		wrote_register(instruction, (uint8_t)((parts->opcode & 7) | (parts->rex & REX_B ? 8 : 0)));
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

static void judge_two_bytes(const struct parts *parts, uint64_t next, struct x86_instruction *instruction)
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
	} else if ((opcode & 0xf0) == 0x40 || (opcode >= 0xaf && opcode <= 0xbf && opcode != 0xb0 && opcode != 0xb1 &&
						opcode != 0xb3 && opcode != 0xba && opcode != 0xbb)) {
		wrote_register(instruction, parts->reg);
	}
}

bool x86_decode(struct bytes_view code, uint64_t address, struct x86_instruction *ret_instruction)
{
	/* No instruction is longer. */
	struct bytes_view view = { .data = code.data, .size = MIN(code.size, (size_t)15) };
	struct parts parts = { .reader = bytes_reader_of(view) };
	struct x86_instruction instruction = {};

	read_opcode(&parts);
	if (parts.reader.error || !read_operands(&parts))
		return false;
	instruction.length = (uint8_t)(parts.reader.next - view.data);
	/* Of a ModRM without an operand in memory too. */
	if (!parts.has_modrm)
		parts.base = parts.index = X86_NO_REGISTER;
	if (!parts.is_vector && parts.map == MAP_ONE_BYTE)
		judge_by_opcode(&parts, address + instruction.length, &instruction);
	else if (!parts.is_vector && parts.map == MAP_0F)
		judge_two_bytes(&parts, address + instruction.length, &instruction);
	*ret_instruction = instruction;
	return true;
}
