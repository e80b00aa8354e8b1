/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_code/gap_trial.h"

/* Maximum number of switches in the functions of one range. The library dav1d has 400 in all. */
#define MAX_SWITCHES 4096

/* Opcode of "push rbp". Compilers and assemblers use no other encoding of it. */
#define PUSH_RBP 0x55

/* ---- paths ----------------------------------------------------------------------------------- */

static bool rules_are_equal(const struct gap_analysis *analysis, uint16_t left, uint16_t right)
{
	struct abi_unwind_rule a = frame_state_rule(&analysis->states.items[left]);
	struct abi_unwind_rule b = frame_state_rule(&analysis->states.items[right]);

	return a.cfa == b.cfa && a.cfa_offset == b.cfa_offset && a.cfa_register == b.cfa_register;
}

static int set_byte(struct gap_analysis *analysis, uint32_t offset, struct code_byte byte)
{
	int r = vec_push(
		&analysis->changes,
		(struct code_change){ .offset = offset, .before = analysis->bytes[offset] });

	if (r == 0)
		analysis->bytes[offset] = byte;
	return r;
}

/*
 * Called when a path reaches an instruction that another path reached before: the unwind rules of
 * both frame states must be equal.
 */
static void meet(struct gap_analysis *analysis, const struct code_byte *byte, uint16_t state)
{
	if (byte->state == state || rules_are_equal(analysis, byte->state, state))
		analysis->result.is_confirmed |= (byte->reached & BYTE_IS_ACCEPTED) != 0;
	else if (analysis->reachability == REACHED && reachability_of(byte) == REACHED)
		analysis->result.is_contradicted = true;
	else
		analysis->result.is_uncertain = true;
}

static int reach(struct gap_analysis *analysis, uint32_t offset, uint16_t state)
{
	const struct code_byte *byte = &analysis->bytes[offset];
	struct code_byte reached = { .state = state, .reached = (uint8_t)analysis->reachability };
	int r;

	assert(offset < analysis->size);
	if (byte->reached != UNREACHED) {
		bool replaces =
			reachability_of(byte) < analysis->reachability && byte->state != state;

		if (!replaces || rules_are_equal(analysis, byte->state, state)) {
			meet(analysis, byte, state);
			return 0;
		}
	}
	r = set_byte(analysis, offset, reached);
	return r < 0 ? r : vec_push(&analysis->paths, offset);
}

/*
 * A jump out of the range confirms the function (a tail call) if the stack pointer is at the return
 * address.
 */
static void leave_range(struct gap_analysis *analysis, const struct frame_state *state,
			enum x86_effect effect)
{
	if (state->sp_is_known && state->sp_delta == 0)
		analysis->result.is_confirmed |= effect == X86_JUMP;
	else
		analysis->result.is_uncertain = true;
}

static void end_by_return(struct gap_analysis *analysis, const struct frame_state *state)
{
	if (state->sp_is_known && state->sp_delta == 0)
		analysis->result.is_confirmed = true;
	else if (state->sp_is_known || state->sp_is_aligned)
		analysis->result.is_contradicted = true;
	else
		analysis->result.is_uncertain = true;
}

static int follow_jump(struct gap_analysis *analysis, const struct x86_instruction *instruction,
		       uint16_t state)
{
	uint64_t target = instruction->target - analysis->code.vaddr;

	if (target < analysis->size)
		return reach(analysis, (uint32_t)target, state);
	leave_range(analysis, &analysis->states.items[state], instruction->effect);
	return 0;
}

static int note_call(struct gap_analysis *analysis, const struct x86_instruction *instruction)
{
	uint64_t target = instruction->target - analysis->code.vaddr;

	if (target >= analysis->size || reachability_of(&analysis->bytes[target]) == REACHED)
		return 0;
	return vec_push(&analysis->called, (uint32_t)target);
}

/* 1: the next instruction is reached; 2: it is reached if a callee returns; 0: it is not. */
static int branch(struct gap_analysis *analysis, const struct x86_instruction *instruction,
		  uint32_t offset, uint16_t state)
{
	int r = 0;

	switch (instruction->effect) {
	case X86_JUMP:
	case X86_JUMP_IF:
		r = follow_jump(analysis, instruction, state);
		return r < 0 ? r : instruction->effect == X86_JUMP_IF;
	case X86_JUMP_INDIRECT:
		return vec_push(&analysis->new_switches,
				(struct code_position){ .offset = offset, .state = state });
	case X86_CALL:
		r = note_call(analysis, instruction);
		return r < 0 ? r : 2;
	case X86_CALL_INDIRECT:
		return 2;
	case X86_RETURN:
		end_by_return(analysis, &analysis->states.items[state]);
		return 0;
	case X86_STOP:
		return 0;
	default:
		return 1;
	}
}

/*
 * "push rbp; mov rbp, rsp" begins a function, with the return address next to the saved rbp. If
 * more is on the stack, then the preceding code has pushed a return address itself, as V8's
 * builtins do before they jump to another builtin.
 */
static bool begins_frame_late(const struct gap_analysis *analysis, uint32_t offset,
			      const struct frame_state *before,
			      const struct x86_instruction *instruction)
{
	return instruction->effect == X86_FP_FROM_SP && instruction->value == 0 &&
	       before->sp_is_known && before->sp_delta != 8 && offset > 0 &&
	       analysis->code.bytes.data[offset - 1] == PUSH_RBP;
}

/* Stores the number of the frame state after the instruction. 1; 0: there are too many states. */
static int state_after(struct gap_analysis *analysis, uint32_t offset,
		       const struct x86_instruction *instruction, uint16_t *ret_state)
{
	const uint16_t before = analysis->bytes[offset].state;
	struct frame_state state = analysis->states.items[before];

	*ret_state = before;
	if (instruction->effect == X86_PLAIN && instruction->written == X86_NO_REGISTER)
		return 1;
	analysis->result.is_contradicted |=
		begins_frame_late(analysis, offset, &state, instruction);
	frame_state_apply(&state, instruction);
	/* A function does not pop its own return address, except by returning. */
	analysis->result.is_contradicted |=
		state.sp_is_known && state.sp_delta < 0 && instruction->effect != X86_RETURN;
	return frame_state_set_intern(&analysis->states, &state, ret_state);
}

static int follow_instruction(struct gap_analysis *analysis, uint32_t offset)
{
	struct code_byte *byte = &analysis->bytes[offset];
	struct bytes_view code = { analysis->code.bytes.data + offset, analysis->size - offset };
	struct x86_instruction instruction;
	uint16_t state;
	uint32_t next;
	int r;

	if (analysis->steps_left == 0 ||
	    !x86_decode(code, analysis->code.vaddr + offset, &instruction)) {
		analysis->result.is_uncertain = true;
		byte->reached = UNREACHED;
		return 0;
	}
	analysis->steps_left--;
	byte->length = instruction.length;
	r = state_after(analysis, offset, &instruction, &state);
	if (r <= 0) {
		analysis->result.is_contradicted |= r == 0;
		return r;
	}
	r = branch(analysis, &instruction, offset, state);
	if (r <= 0)
		return r;
	next = offset + instruction.length;
	if (next >= analysis->size) {
		analysis->result.is_uncertain = true;
		return 0;
	}
	if (r == 1)
		return reach(analysis, next, state);
	return vec_push(&analysis->after_calls,
			(struct code_position){ .offset = next, .state = state });
}

/* ---- trials ---------------------------------------------------------------------------------- */

static void undo(struct gap_analysis *analysis, size_t n_changes)
{
	while (analysis->changes.count > n_changes) {
		const struct code_change *change =
			&analysis->changes.items[--analysis->changes.count];

		analysis->bytes[change->offset] = change->before;
	}
}

/* Follows all paths from one instruction up to calls. */
static int follow(struct gap_analysis *analysis, struct code_position from,
		  enum reachability reachability)
{
	int r;

	analysis->reachability = reachability;
	vec_clear(&analysis->paths);
	r = reach(analysis, from.offset, from.state);
	while (r >= 0 && analysis->paths.count > 0 && !analysis->result.is_contradicted)
		r = follow_instruction(analysis, analysis->paths.items[--analysis->paths.count]);
	return r < 0 ? r : 0;
}

/*
 * Like follow(), for code that may be unreachable, such as code after a call that never returns. If
 * a path contradicts the trial, undoes the changes of this call of follow() and marks the result as
 * uncertain.
 */
static int follow_if_consistent(struct gap_analysis *analysis, struct code_position from)
{
	struct trial_result before = analysis->result;
	size_t n_changes = analysis->changes.count;
	size_t n_calls = analysis->after_calls.count;
	size_t n_switches = analysis->new_switches.count;
	int r = follow(analysis, from, REACHED_AFTER_CALL);

	if (r < 0 || !analysis->result.is_contradicted)
		return r;
	undo(analysis, n_changes);
	analysis->after_calls.count = n_calls;
	analysis->new_switches.count = n_switches;
	analysis->result = before;
	analysis->result.is_uncertain = true;
	return 0;
}

static int follow_after_calls(struct gap_analysis *analysis)
{
	struct code_position_vec *after = &analysis->after_calls;
	int r = 0;

	while (r == 0 && after->count > 0 && !analysis->result.is_contradicted)
		r = follow_if_consistent(analysis, after->items[--after->count]);
	return r;
}

/*
 * Confirms a function of which all paths end in switches. The first case of a switch is the code
 * after its indirect jump: the paths from there must return as a function does.
 */
static int follow_first_cases(struct gap_analysis *analysis)
{
	for (size_t i = 0; i < analysis->new_switches.count && !analysis->result.is_confirmed;
	     i++) {
		struct code_position first_case = analysis->new_switches.items[i];
		int r;

		first_case.offset += analysis->bytes[first_case.offset].length;
		if (first_case.offset >= analysis->size ||
		    analysis->bytes[first_case.offset].reached != UNREACHED)
			continue;
		r = follow_if_consistent(analysis, first_case);
		if (r == 0)
			r = follow_after_calls(analysis);
		if (r < 0)
			return r;
	}
	return 0;
}

static int accept(struct gap_analysis *analysis)
{
	int r = 0;

	for (size_t i = 0; i < analysis->changes.count; i++)
		analysis->bytes[analysis->changes.items[i].offset].reached |= BYTE_IS_ACCEPTED;
	for (size_t i = 0; r == 0 && i < analysis->new_switches.count; i++)
		if (analysis->switches.count < MAX_SWITCHES)
			r = vec_push(&analysis->switches, analysis->new_switches.items[i]);
	return r;
}

static void begin_trial(struct gap_analysis *analysis)
{
	vec_clear(&analysis->changes);
	vec_clear(&analysis->after_calls);
	vec_clear(&analysis->new_switches);
	analysis->result = (struct trial_result){};
}

static int follow_function(struct gap_analysis *analysis, struct code_position entry)
{
	int r = follow(analysis, entry, REACHED);

	if (r == 0)
		r = follow_after_calls(analysis);
	if (r == 0 && !analysis->result.is_contradicted)
		r = follow_first_cases(analysis);
	return r;
}

int gap_trial_function(struct gap_analysis *analysis, uint32_t offset, bool is_guess)
{
	const struct frame_state at_entry = FRAME_STATE_AT_ENTRY;
	const struct trial_result *result = &analysis->result;
	struct code_position entry = { .offset = offset };
	size_t n_called = analysis->called.count;
	int r;

	if (reachability_of(&analysis->bytes[offset]) == REACHED)
		return (analysis->bytes[offset].reached & BYTE_IS_ACCEPTED) != 0;
	r = frame_state_set_intern(&analysis->states, &at_entry, &entry.state);
	if (r <= 0)
		return r;
	begin_trial(analysis);
	r = follow_function(analysis, entry);
	if (r < 0)
		return r;
	if (result->is_contradicted || !result->is_confirmed ||
	    (is_guess && result->is_uncertain)) {
		undo(analysis, 0);
		analysis->called.count = n_called;
		return 0;
	}
	analysis->bytes[offset].reached |= BYTE_IS_ENTRY;
	r = accept(analysis);
	return r < 0 ? r : 1;
}

int gap_trial_case(struct gap_analysis *analysis, uint32_t offset, uint16_t state)
{
	int r;

	begin_trial(analysis);
	r = follow_if_consistent(analysis,
				 (struct code_position){ .offset = offset, .state = state });
	if (r == 0)
		r = follow_after_calls(analysis);
	if (r < 0)
		return r;
	if (analysis->result.is_confirmed)
		return accept(analysis);
	undo(analysis, 0);
	return 0;
}
