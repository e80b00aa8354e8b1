/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The fields of an x86-64 instruction: prefixes, opcode, ModRM, SIB, displacement, immediate.
 * (Intel SDM vol. 2, chapter 2, appendix A.) x86_instruction.h derives its effect.
 */

#include "common/elf/dwarf_cursor.h"

enum x86_map {
	X86_MAP_ONE_BYTE = 0,
	X86_MAP_0F = 1,
	X86_MAP_0F38 = 2,
	X86_MAP_0F3A = 3,
};

#define X86_REX_W 8
#define X86_REX_R 4
#define X86_REX_X 2
#define X86_REX_B 1

struct x86_encoding {
	struct bytes_reader reader;
	uint8_t rex;
	bool is_16_bit;
	bool is_vector; /* VEX, EVEX */
	enum x86_map map;
	uint8_t opcode;
	bool has_modrm;
	uint8_t mode, reg, rm; /* registers, with the bits of REX */
	bool is_rip_relative;
	uint8_t base, index; /* of the operand in memory; X86_NO_REGISTER: none */
	int64_t displacement;
	int64_t immediate;
};

/*
 * Reads the instruction at the beginning of @code. False: it is not known, or it is longer than
 * @code.
 */
bool x86_encoding_read(struct bytes_view code, struct x86_encoding *ret_encoding,
		       uint8_t *ret_length);
