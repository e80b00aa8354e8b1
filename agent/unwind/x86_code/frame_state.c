/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A register is taken for a copy of rsp until x86_decode() reports that it is overwritten, and
 * x86_decode() does not report all writes. A caller that needs certainty checks that all paths to a
 * return restore rsp from the copy: then no path can have overwritten it.
 */
#include "agent/unwind/x86_code/frame_state.h"

static void lose_sp(struct frame_state *state)
{
	state->sp_is_known = false;
	state->sp_is_aligned = false;
	state->copy_is_stored = false;
	state->sp_delta = 0;
}

/* No stack is larger, and the sum of two such values does not overflow. */
static bool is_plausible(int64_t bytes)
{
	return bytes > -(1 << 28) && bytes < 1 << 28;
}

/* ---- the frame pointer ----------------------------------------------------------------------- */

/* Only the first save is the caller's rbp. What is saved later may be anything. */
static void save_fp(struct frame_state *state, int32_t at)
{
	if (state->fp_saved_at == 0 && state->sp_is_known && !state->fp_is_lost &&
	    !state->fp_is_base)
		state->fp_saved_at = at;
}

static void lose_fp(struct frame_state *state)
{
	state->fp_is_base = false;
	state->fp_is_lost = state->fp_saved_at == 0;
}

/* The saved value stays valid until the stack pointer is above it. */
static void load_fp(struct frame_state *state, int32_t from)
{
	if (state->sp_is_known && state->fp_saved_at != 0 && state->fp_saved_at == from) {
		state->fp_is_base = false;
		state->fp_is_lost = false;
	} else {
		lose_fp(state);
	}
}

static void pop_fp(struct frame_state *state, int32_t from)
{
	state->fp_is_base = false;
	state->fp_is_lost = !state->sp_is_known || state->fp_saved_at != from;
	if (!state->fp_is_lost)
		state->fp_saved_at = 0;
}

static void leave(struct frame_state *state)
{
	if (!state->fp_is_base) {
		lose_sp(state);
		return;
	}
	state->sp_is_known = true;
	state->sp_is_aligned = false;
	state->copy_is_stored = false;
	state->sp_delta = state->fp_delta;
	pop_fp(state, state->sp_delta);
	state->sp_delta -= 8;
}

/* ---- copies of the stack pointer ------------------------------------------------------------- */

static void restore_sp(struct frame_state *state, int64_t displacement)
{
	state->sp_is_known = true;
	state->sp_is_aligned = false;
	state->copy_is_stored = false;
	state->sp_delta = state->copy_delta - (int32_t)displacement;
}

static void copy_sp(struct frame_state *state, const struct x86_instruction *instruction)
{
	if (state->sp_is_known) {
		state->copy_register = instruction->reg;
		state->copy_delta = state->sp_delta - (int32_t)instruction->value;
	} else if (instruction->reg == state->copy_register) {
		state->copy_register = X86_NO_REGISTER;
	}
}

static void store(struct frame_state *state, const struct x86_instruction *instruction)
{
	int32_t at = state->sp_delta - (int32_t)instruction->value;

	if (!state->sp_is_aligned)
		return;
	if (instruction->reg == state->copy_register) {
		state->copy_is_stored = true;
		state->copy_at = at;
	} else if (state->copy_is_stored && state->copy_at == at) {
		state->copy_is_stored = false;
	}
}

static bool is_from_copy(const struct frame_state *state, const struct x86_instruction *instruction)
{
	return state->sp_is_aligned && state->copy_is_stored &&
	       state->copy_at == state->sp_delta - (int32_t)instruction->value;
}

static void load(struct frame_state *state, const struct x86_instruction *instruction)
{
	bool from_copy = is_from_copy(state, instruction);

	if (instruction->reg == X86_RSP) {
		if (from_copy)
			restore_sp(state, 0);
		else
			lose_sp(state);
		return;
	}
	if (instruction->reg == X86_RBP)
		load_fp(state, state->sp_delta - (int32_t)instruction->value);
	else if (from_copy)
		state->copy_register = instruction->reg;
	else if (instruction->reg == state->copy_register)
		state->copy_register = X86_NO_REGISTER;
}

static void align_sp(struct frame_state *state)
{
	if (!state->sp_is_known) {
		lose_sp(state);
		return;
	}
	state->sp_is_known = false;
	state->sp_is_aligned = true;
	state->copy_is_stored = false;
	state->sp_delta = 0;
}

/* ---- all effects ----------------------------------------------------------------------------- */

static void apply_push(struct frame_state *state, const struct x86_instruction *instruction)
{
	state->sp_delta += 8;
	if (instruction->value == X86_RBP) {
		save_fp(state, state->sp_delta);
	} else if (state->sp_is_aligned && instruction->value == state->copy_register &&
		   state->copy_register != X86_NO_REGISTER) {
		state->copy_is_stored = true;
		state->copy_at = state->sp_delta;
	}
}

static void apply_pop(struct frame_state *state, const struct x86_instruction *instruction)
{
	if (instruction->value == X86_RBP)
		pop_fp(state, state->sp_delta);
	else if (instruction->value == state->copy_register)
		state->copy_register = X86_NO_REGISTER;
	state->sp_delta -= 8;
}

static void apply_sp_from(struct frame_state *state, const struct x86_instruction *instruction)
{
	if (instruction->reg == state->copy_register)
		restore_sp(state, instruction->value);
	else
		lose_sp(state);
}

static void apply_sp_from_fp(struct frame_state *state, const struct x86_instruction *instruction)
{
	lose_sp(state);
	state->sp_is_known = state->fp_is_base;
	state->sp_delta = state->fp_delta - (int32_t)instruction->value;
}

static void apply_fp_from_sp(struct frame_state *state, const struct x86_instruction *instruction)
{
	if (!state->sp_is_known)
		lose_fp(state);
	state->fp_is_base = state->sp_is_known;
	state->fp_delta = state->sp_delta - (int32_t)instruction->value;
}

static void apply(struct frame_state *state, const struct x86_instruction *instruction)
{
	switch (instruction->effect) {
	case X86_PUSH:
		apply_push(state, instruction);
		return;
	case X86_POP:
		apply_pop(state, instruction);
		return;
	case X86_ADD_SP:
		state->sp_delta -= (int32_t)instruction->value;
		return;
	case X86_STORE_FP:
		save_fp(state, state->sp_delta - (int32_t)instruction->value);
		return;
	case X86_STORE:
		store(state, instruction);
		return;
	case X86_LOAD:
		load(state, instruction);
		return;
	case X86_COPY_SP:
		copy_sp(state, instruction);
		return;
	case X86_SP_FROM_COPY:
		apply_sp_from(state, instruction);
		return;
	case X86_ALIGN_SP:
		align_sp(state);
		return;
	case X86_FP_FROM_SP:
		apply_fp_from_sp(state, instruction);
		return;
	case X86_SP_FROM_FP:
		apply_sp_from_fp(state, instruction);
		return;
	case X86_LEAVE:
		leave(state);
		return;
	case X86_SP_LOST:
		lose_sp(state);
		return;
	case X86_FP_LOST:
		lose_fp(state);
		return;
	default:
		return;
	}
}

/*
 * Signal handlers may overwrite memory below the stack pointer: once the stack pointer is above the
 * saved rbp, that value cannot be used. Before, it was loaded, or it is lost.
 */
static void forget_overwritten(struct frame_state *state)
{
	if (state->sp_is_known && state->fp_saved_at > state->sp_delta)
		state->fp_saved_at = 0;
}

void frame_state_apply(struct frame_state *state, const struct x86_instruction *instruction)
{
	if (!is_plausible(instruction->value) || !is_plausible(state->sp_delta)) {
		lose_sp(state);
		return;
	}
	apply(state, instruction);
	if (instruction->written != X86_NO_REGISTER && instruction->written == state->copy_register)
		state->copy_register = X86_NO_REGISTER;
	forget_overwritten(state);
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* DWARF register numbers (psABI x86-64, figure 3.36), by the number in the instruction. */
static const uint8_t dwarf_registers[16] = { 0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15 };

static bool set_cfa_by_copy(const struct frame_state *state, struct abi_unwind_rule *rule)
{
	int32_t to_cfa = state->copy_delta + 8;

	if (state->sp_is_aligned && state->copy_is_stored && to_cfa == (int8_t)to_cfa) {
		rule->cfa = UNWIND_CFA_DEREF_SP;
		rule->cfa_offset = state->sp_delta - state->copy_at;
		rule->cfa_addend = (int8_t)to_cfa;
		return true;
	}
	if (state->copy_register == X86_NO_REGISTER || !state->sp_is_aligned)
		return false;
	rule->cfa = UNWIND_CFA_REGISTER;
	rule->cfa_offset = to_cfa;
	rule->cfa_register = dwarf_registers[state->copy_register & 15];
	return true;
}

static bool set_cfa(const struct frame_state *state, struct abi_unwind_rule *rule)
{
	/*
	 * rbp is preferred to rsp, because callees of V8's builtins remove their arguments from the
	 * stack, but keep rbp.
	 */
	if (state->fp_is_base) {
		rule->cfa = UNWIND_CFA_FP;
		rule->cfa_offset = state->fp_delta + 8;
		return true;
	}
	if (state->sp_is_known && state->sp_delta >= 0) {
		rule->cfa = UNWIND_CFA_SP;
		rule->cfa_offset = state->sp_delta + 8;
		return true;
	}
	return !state->sp_is_known && set_cfa_by_copy(state, rule);
}

struct abi_unwind_rule frame_state_rule(const struct frame_state *state)
{
	struct abi_unwind_rule rule = {
		.ra = UNWIND_SAVED_CFA,
		.ra_offset = -8,
		.rbx_offset = UNWIND_RBX_LOST,
	};

	if (!set_cfa(state, &rule))
		return (struct abi_unwind_rule){ .cfa = UNWIND_CFA_NONE };
	if (state->fp_saved_at > 0) {
		rule.fp = UNWIND_SAVED_CFA;
		rule.fp_offset = -8 - state->fp_saved_at;
	} else if (state->fp_is_lost) {
		rule.fp = UNWIND_SAVED_UNDEFINED;
	}
	return rule;
}
