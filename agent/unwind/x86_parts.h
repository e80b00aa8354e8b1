/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An x86-64 instruction taken apart: prefixes, opcode, ModRM, SIB, displacement, immediate. (Intel
 * SDM vol. 2, chapter 2, appendix A.) What it does is said by agent/unwind/x86_instruction.h.
 */

#include "common/elf/frame_cursor.h"

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

struct x86_parts {
	struct bytes_reader reader;
	uint8_t rex;
	bool is_16_bit;
	bool is_vector; /* VEX, EVEX */
	enum x86_map map;
	uint8_t opcode;
	bool has_modrm;
	uint8_t mode, reg, rm; /* with the bits of REX */
	bool is_rip_relative;
	uint8_t base, index; /* of the memory operand; X86_NO_REGISTER */
	int64_t displacement;
	int64_t immediate;
};

/* The instruction at the beginning of @code. False: unknown, or cut. */
bool x86_take_apart(struct bytes_view code, struct x86_parts *ret_parts, uint8_t *ret_length);
