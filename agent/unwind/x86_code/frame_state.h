/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The frame of an x86-64 function at one of its instructions, as far as its code shows it: where
 * the CFA and the caller's rbp are. Functions that align their stack (x86inc's ALLOC_STACK,
 * OpenSSL's perlasm) keep a copy of the previous rsp in a register or on the aligned stack, which
 * is followed too. Opens no files.
 */

#include "agent/unwind/x86_code/x86_instruction.h"
#include "bpf/abi/unwind_table.h"

/* Compared and hashed as bytes, so it has no padding. */
struct frame_state {
	/*
	 * rsp is so many bytes below the return address; if sp_is_aligned, so many bytes below the
	 * aligned address
	 */
	int32_t sp_delta;
	int32_t fp_delta; /* rbp is so many bytes below the return address; if fp_is_base */
	/*
	 * the caller's rbp is saved so many bytes below the return address; 0: it is still in rbp
	 */
	int32_t fp_saved_at;
	int32_t copy_delta; /* the copy of rsp is so many bytes below the return address */
	/* the copy is stored so many bytes below the aligned address; if copy_is_stored */
	int32_t copy_at;
	uint8_t copy_register; /* X86_NO_REGISTER: no register has a copy */
	bool sp_is_known;
	bool sp_is_aligned; /* its distance from the return address is not known */
	bool fp_is_base;
	bool fp_is_lost;
	bool copy_is_stored;
	uint8_t zero[2];
};

static_assert(sizeof(struct frame_state) == 28, "no padding");

/* At the first instruction of a function. */
#define FRAME_STATE_AT_ENTRY                                                                       \
	((struct frame_state){ .sp_is_known = true, .copy_register = X86_NO_REGISTER })

/* Changes @state from before the instruction to after it. */
void frame_state_apply(struct frame_state *state, const struct x86_instruction *instruction);

struct abi_unwind_rule frame_state_rule(const struct frame_state *state);
