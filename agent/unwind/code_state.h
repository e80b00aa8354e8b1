/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the frame of a function is, at one of its instructions, as far as its code says: x86-64.
 * Functions that align their stack (x86inc's ALLOC_STACK, OpenSSL's perlasm) keep the stack pointer
 * that they came with in a register or on the aligned stack. Pure.
 */

#include "agent/unwind/x86_instruction.h"
#include "bpf/abi/unwind_table.h"

/* Compared and hashed as bytes: it has no padding. */
struct code_state {
	/* bytes below the return address; once aligned, below where rsp was then */
	int32_t sp_delta;
	int32_t fp_delta; /* rbp points so many bytes below the return address; if fp_is_base */
	/* the caller's rbp is so many bytes below the return address; 0: still in rbp */
	int32_t fp_saved_at;
	int32_t copy_delta; /* what the copy of rsp points to, in bytes below the return address */
	/* the copy is so many bytes below where rsp was when it was aligned; if copy_is_stored */
	int32_t copy_at;
	uint8_t copy_register; /* X86_NO_REGISTER: none */
	bool sp_is_known;
	bool sp_is_aligned; /* and therefore not known, but for the copy */
	bool fp_is_base;
	bool fp_is_lost;
	bool copy_is_stored;
	uint8_t zero[2];
};

static_assert(sizeof(struct code_state) == 28, "no padding");

/* At a function's first instruction. */
#define CODE_STATE_AT_ENTRY                                                                        \
	((struct code_state){ .sp_is_known = true, .copy_register = X86_NO_REGISTER })

/* @state before the instruction becomes that behind it. */
void code_state_apply(struct code_state *state, const struct x86_instruction *instruction);

struct abi_unwind_rule code_state_rule(const struct code_state *state);
