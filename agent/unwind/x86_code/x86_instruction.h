/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The part of an x86-64 instruction that is needed to follow the stack pointer: its length, and its
 * effect on rsp, on rbp, on copies of rsp, and on the control flow. (Intel SDM vol. 2, appendix A:
 * opcode maps; chapter 2: prefixes, ModRM, VEX, EVEX.) Registers have the numbers of the
 * instruction encoding.
 */

#include "common/bytes.h"

enum x86_effect {
	X86_PLAIN,      /* none of the below */
	X86_PUSH,       /* rsp -= 8; value: the pushed register, or X86_NO_REGISTER */
	X86_POP,        /* rsp += 8; value: the register, or X86_NO_REGISTER */
	X86_ADD_SP,     /* rsp += value */
	X86_SP_FROM_FP, /* rsp = rbp + value */
	X86_FP_FROM_SP, /* rbp = rsp + value */
	X86_LEAVE,      /* rsp = rbp, pop rbp */
	X86_SP_LOST,    /* rsp gets another value */
	X86_FP_LOST,    /* rbp gets another value */
	X86_CALL,       /* target */
	X86_CALL_INDIRECT,
	X86_JUMP,    /* target */
	X86_JUMP_IF, /* to target, or to the next instruction */
	X86_JUMP_INDIRECT,
	X86_RETURN,
	X86_STOP,         /* hlt, ud2, int3: the next instruction is not reached */
	X86_ADDRESS,      /* lea of target, which may be a function */
	X86_NUMBER,       /* the constant target, which may be the address of a function */
	X86_STORE_FP,     /* rbp to rsp + value */
	X86_STORE,        /* reg to rsp + value */
	X86_LOAD,         /* reg from rsp + value; reg may be rsp itself */
	X86_COPY_SP,      /* reg = rsp + value */
	X86_SP_FROM_COPY, /* rsp = reg + value */
	X86_ALIGN_SP,     /* rsp is rounded down */
};

#define X86_NO_REGISTER 255
#define X86_RSP         4
#define X86_RBP         5

struct x86_instruction {
	uint8_t length;
	enum x86_effect effect;
	uint8_t reg; /* of the last effects of the enumeration */
	/* a register other than rsp and rbp that gets another value; or X86_NO_REGISTER */
	uint8_t written;
	int64_t value;
	uint64_t target; /* an address, not relative */
};

/*
 * Decodes the instruction at the beginning of @code, which is at @address. False: it is not known,
 * or it is longer than @code.
 */
bool x86_decode(struct bytes_view code, uint64_t address, struct x86_instruction *ret_instruction);
