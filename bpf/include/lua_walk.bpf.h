/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Adds the frames of Lua functions to a stack (struct abi_lua_layout), after all native frames, as
 * ruby_walk.bpf.h does.
 *
 * Each call of the loop has its lua_State among the registers that it saved for its caller. Others
 * of them may have the lua_State of the coroutine that resumed this one. That has the older error
 * jump, which is in the stack of the thread, so that the lowest address is the right one.
 *
 * A coroutine that has yielded in a function that C had called has lost the stack frames of these
 * calls: after it is resumed, one call of the loop executes the innermost group of functions, and
 * the groups around it have no call. They are added to the last group that has one.
 */

#include "bpf/include/interpreter.bpf.h"
#include "common/frame.h"

/* Calls that are read, with those of C functions. */
#define LUA_MAX_STEPS (2 * ABI_MAX_USER_FRAMES)

/* The words below the return address: six saved registers, in any order, and alignment. */
#define LUA_SAVED_WORDS 7

/* Offsets that are the same in all known versions. */
#define LUA_OBJECT_TYPE 8
#define LUA_TYPE_THREAD 8

/* Of a value: the lowest bits are the type, and the kind of function. */
#define LUA_VALUE_TYPE   0x3f
#define LUA_LUA_FUNCTION 6

#define LUA_INSTRUCTION_BYTES 4
#define LUA_OPCODE            0x3f /* before 5.4 */

/* A value in the stack of Lua. */
struct lua_value {
	__u64 value;
	__u64 type;
};

/*
 * Marks a call of the loop, after the native unwinder has gone to its caller: the stack pointer is
 * the CFA of the loop.
 */
static __always_inline void note_lua_loop(struct sample *sample, const struct abi_interpreter *lua)
{
	__u32 index = sample->lua.n_loops;

	asm volatile("" : "+r"(index));
	if (index < LUA_MAX_LOOPS) {
		sample->lua.loops[index] = sample->registers.sp;
		sample->lua.n_loops = index + 1;
	}
	note_loop(sample, lua);
}

/* ---- the states of the calls of the loop ----------------------------------------------------- */

static __always_inline bool is_lua_address(__u64 address)
{
	return address >= 4096 && (address & 7) == 0 && address >> 47 == 0;
}

/* Whether a lua_State may be at @state. *ret_jump: where its innermost error jump is. */
static __always_inline bool is_lua_state(const struct abi_lua_layout *layout, __u64 state,
					 __u64 *ret_jump)
{
	__u64 call = 0, function = 0, stack[2] = {};
	__u8 type = 0;

	if (!is_lua_address(state) ||
	    bpf_probe_read_user(&type, sizeof(type), (void *)(state + LUA_OBJECT_TYPE)) ||
	    type != LUA_TYPE_THREAD)
		return false;
	if (!read_pointer(state + layout->state_call, &call) || !is_lua_address(call) ||
	    bpf_probe_read_user(stack, sizeof(stack),
				(void *)(state + layout->state_stack - sizeof(__u64))) ||
	    !read_pointer(call + layout->call_function, &function))
		return false;
	/* The innermost function is in the stack of Lua. */
	if (stack[0] <= stack[1] || function - stack[1] >= stack[0] - stack[1])
		return false;
	return read_pointer(state + layout->state_error_jump, ret_jump);
}

/* Adds a call of the loop to those of the state walk->state, 0: not known. */
static __always_inline bool add_lua_state(struct lua_walk *walk)
{
	__u32 last = walk->n_states - 1, index = walk->n_states;

	asm volatile("" : "+r"(last), "+r"(index));
	if (walk->n_states == 0 && walk->state == 0) {
		walk->n_unknown++;
		return true;
	}
	if (walk->n_states > 0 &&
	    (walk->state == 0 || walk->state == walk->states[last % LUA_MAX_STATES])) {
		walk->n_calls[last % LUA_MAX_STATES]++;
		return true;
	}
	if (index >= LUA_MAX_STATES) {
		walk->lacks_states = true;
		return false;
	}
	walk->states[index] = walk->state;
	/* The innermost calls may have begun, and not have saved registers yet. */
	walk->n_calls[index] = 1 + walk->n_unknown;
	walk->n_unknown = 0;
	walk->n_states = index + 1;
	return true;
}

/*
 * Reads a word of the stack frame of a call of the loop, which may be a saved register. A call that
 * has just begun has not saved all of them: below the innermost stack pointer are words of calls
 * that have ended.
 */
static __always_inline bool read_lua_register(const struct sample *sample, __u64 address,
					      __u64 *ret_value)
{
	if (!sample->registers.general_passed && address < sample->registers.general[REGISTER_SP])
		return false;
	return read_pointer(address, ret_value);
}

/* Looks at one saved register of a call of the loop. Returns whether the search ended. */
static long look_at_lua_register(__u64 index, void *argument)
{
	struct sample *sample = *(struct sample **)argument;
	struct lua_walk *walk = &sample->lua;
	__u32 loop = (__u32)index / LUA_SAVED_WORDS, at = (__u32)index % LUA_SAVED_WORDS;
	__u64 state = 0, jump = 0;

	if (loop >= walk->n_loops)
		return 1;
	if (at == 0)
		walk->state = 0;
	/* The first word below the CFA is the return address. */
	if (read_lua_register(sample, walk->loops[loop % LUA_MAX_LOOPS] - (2 + at) * sizeof(__u64),
			      &state) &&
	    is_lua_state(&walk->layout, state, &jump)) {
		/* No error jump is that of a call without protection, the outermost one. */
		if (walk->state == 0 || jump - 1 < walk->error_jump - 1) {
			walk->state = state;
			walk->error_jump = jump;
		}
	}
	return at == LUA_SAVED_WORDS - 1 && !add_lua_state(walk);
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Adds the last frame. @is_last: it is the outermost one of its state. */
static __always_inline bool add_last_lua_frame(struct sample *sample, bool is_last)
{
	struct lua_walk *walk = &sample->lua;
	bool ends = walk->ends_call;
	__u32 kind = FRAME_LUA | (ends ? ABI_FRAME_FROM_C : 0);

	if (walk->address == 0)
		return true;
	/* Called from C, whose call of the loop has not begun: it is a group without a call. */
	if (ends && walk->is_at_start && walk->n_paired != ~0U)
		walk->n_paired++;
	if (ends)
		walk->n_groups++;
	if (walk->n_groups >= walk->n_paired)
		ends = false;
	if (ends || is_last)
		kind |= ABI_FRAME_ENDS_CALL;
	if (is_full(sample) || !sample_add_frame(sample, kind, walk->position, walk->address))
		return false;
	sample->n_listed++;
	walk->address = 0;
	return true;
}

/* Goes to the next state. False: there is none. */
static __always_inline bool begin_lua_state(struct sample *sample)
{
	struct lua_walk *walk = &sample->lua;
	__u32 index = walk->at;
	__u64 state, next_object = 0;

	asm volatile("" : "+r"(index));
	if (index >= walk->n_states || index >= LUA_MAX_STATES) {
		walk->is_whole = !walk->lacks_states;
		return false;
	}
	state = walk->states[index];
	walk->n_paired = walk->n_calls[index];
	walk->n_groups = 0;
	walk->at = index + 1;
	walk->first_call = 0;
	if (!read_pointer(state, &next_object) ||
	    !read_pointer(state + walk->layout.state_call, &walk->call) || walk->call == 0 ||
	    (walk->layout.state_first_call &&
	     !read_pointer(state + walk->layout.state_first_call, &walk->first_call))) {
		count(ABI_COUNTER_LUA_UNREADABLE);
		return false;
	}
	/*
	 * All groups of the main thread of Lua have calls, because it cannot yield. It is the only
	 * thread without a next object; in 5.1, where it may have one, no coroutine can yield below
	 * C functions.
	 */
	if (next_object == 0 || walk->layout.state_first_call)
		walk->n_paired = ~0U;
	walk->innermost = walk->call;
	return true;
}

/*
 * Index of the instruction that a register points to, if one does: the loop stores it only before
 * actions that may fail. Else @index.
 */
static __always_inline __u32 index_in_register(const struct sample *sample, __u64 instructions,
					       __u32 n_instructions, __u32 index, bool *ret_found)
{
	*ret_found = false;
	if (sample->registers.general_passed)
		return index;
#pragma unroll
	for (int i = 0; i < N_GENERAL_REGISTERS; i++) {
		__u64 distance = sample->registers.general[i] - instructions;

		if (distance / LUA_INSTRUCTION_BYTES <= n_instructions &&
		    distance % LUA_INSTRUCTION_BYTES == 0 && distance > 0) {
			*ret_found = true;
			index = (__u32)(distance / LUA_INSTRUCTION_BYTES) - 1;
		}
	}
	return index;
}

/* Makes the Lua function of a call the last frame. @instruction: the next one that it executes. */
static __always_inline bool set_last_lua_frame(struct sample *sample, __u64 closure,
					       __u64 instruction, bool is_innermost)
{
	struct lua_walk *walk = &sample->lua;
	__u64 code = 0, instructions = 0, distance;
	bool found = false, has_begun;
	__u32 n = 0, index = 0;

	if (!read_pointer(closure + walk->layout.closure_code, &code) || code == 0 ||
	    !read_pointer(code + walk->layout.code_instructions, &instructions) ||
	    bpf_probe_read_user(&n, sizeof(n), (void *)(code + walk->layout.code_count)))
		return false;
	distance = instruction - instructions;
	/* Before Lua has stored the beginning of a new call, it is that of another function. */
	has_begun = distance / LUA_INSTRUCTION_BYTES <= n && distance > 0;
	if (has_begun)
		index = (__u32)(distance / LUA_INSTRUCTION_BYTES) - 1;
	if (is_innermost && walk->at == 1)
		index = index_in_register(sample, instructions, n, index, &found);
	walk->address = code;
	walk->position = index > MAX_POSITION ? 0 : index;
	walk->ends_call = false;
	walk->is_at_start = is_innermost && walk->at == 1 && !has_begun && !found;
	return true;
}

/* Before 5.3: whether the instruction before @next calls a function. */
static __always_inline bool is_lua_call(const struct abi_lua_layout *layout, __u64 next)
{
	__u32 instruction = 0;

	if (bpf_probe_read_user(&instruction, sizeof(instruction),
				(void *)(next - LUA_INSTRUCTION_BYTES)))
		return false;
	instruction = (instruction & LUA_OPCODE) - layout->opcode_call;
	return instruction <= 1;
}

/* The call that was read last is of a Lua function. */
static __always_inline bool add_lua_function(struct sample *sample, __u64 closure)
{
	const struct interpreter_walk *read = &sample->walk;
	struct lua_walk *walk = &sample->lua;
	const struct abi_lua_layout *layout = &walk->layout;
	const bool is_innermost = walk->call == walk->innermost;
	__u64 instruction = word_at(read, layout->call_instruction);
	__u32 index = walk->at - 1;

	asm volatile("" : "+r"(index));
	if (is_innermost && layout->state_instruction &&
	    !read_pointer(walk->states[index % LUA_MAX_STATES] + layout->state_instruction,
			  &instruction))
		return false;
	if (layout->status_fresh)
		walk->ends_call |= walk->is_fresh;
	else if (!is_lua_call(layout, instruction))
		walk->ends_call = true;
	if (!add_last_lua_frame(sample, false))
		return false;
	walk->is_fresh = word_at(read, layout->call_status) >> (layout->call_status % 8 * 8) &
			 layout->status_fresh;
	if (set_last_lua_frame(sample, closure, instruction, is_innermost))
		return true;
	count(ABI_COUNTER_LUA_UNREADABLE);
	return false;
}

/* Whether a value is a Lua function. */
static __always_inline bool is_lua_function(const struct abi_lua_layout *layout,
					    const struct lua_value *value)
{
	__u8 is_c = 0;

	if ((value->type & LUA_VALUE_TYPE) != LUA_LUA_FUNCTION)
		return false;
	return !layout->closure_is_c ||
	       (bpf_probe_read_user(&is_c, sizeof(is_c),
				    (void *)(value->value + layout->closure_is_c)) == 0 &&
		!is_c);
}

/* Adds the frame of walk->call, if it has one, and goes to its caller. Returns whether it ended. */
static long add_lua_call(__u64 index, void *argument)
{
	struct sample *sample = *(struct sample **)argument;
	struct interpreter_walk *read = &sample->walk;
	struct lua_walk *walk = &sample->lua;
	const struct abi_lua_layout *layout = &walk->layout;
	__u32 size = layout->call_bytes;
	struct lua_value value = {};

	if (walk->call == 0 && !begin_lua_state(sample))
		return 1;
	asm volatile("" : "+r"(size));
	if (size > sizeof(read->words) ||
	    bpf_probe_read_user(read->words, size, (void *)walk->call) ||
	    bpf_probe_read_user(&value, sizeof(value),
				(void *)word_at(read, layout->call_function))) {
		count(ABI_COUNTER_LUA_UNREADABLE);
		return 1;
	}
	if (!is_lua_function(layout, &value))
		walk->ends_call = true;
	else if (!add_lua_function(sample, value.value))
		return 1;
	if (layout->state_first_call)
		walk->call = walk->call == walk->first_call ? 0 : walk->call - layout->call_bytes;
	else
		walk->call = word_at(read, layout->call_previous);
	return walk->call == 0 && !add_last_lua_frame(sample, true);
}

/*
 * Adds the frames of Lua to a stack in which the native unwinder found a call of the loop. The
 * verifier checks this function once by itself. Returns 0.
 */
__verified_alone int lua_walk(struct sample *sample);
__verified_alone int lua_walk(struct sample *sample)
{
	const struct abi_interpreter *lua;
	struct lua_walk *walk;

	if (!sample)
		return 0;
	lua = find_interpreter(sample->listed);
	if (!lua)
		return 0;
	walk = &sample->lua;
	walk->layout = lua->lua;
	walk->n_states = 0;
	walk->n_unknown = 0;
	walk->lacks_states = false;
	walk->at = 0;
	walk->call = 0;
	walk->address = 0;
	walk->is_fresh = false;
	walk->ends_call = false;
	walk->is_whole = false;
	begin_list(sample);
	bpf_loop(LUA_MAX_LOOPS * LUA_SAVED_WORDS, look_at_lua_register, &sample, 0);
	if (walk->n_states == 0) {
		count(ABI_COUNTER_LUA_NO_THREAD);
		return 0;
	}
	bpf_loop(LUA_MAX_STEPS, add_lua_call, &sample, 0);
	if (!add_last_lua_frame(sample, false))
		walk->is_whole = false;
	/* The states of further calls are not known. */
	if (walk->n_loops >= LUA_MAX_LOOPS)
		walk->is_whole = false;
	if (sample->n_listed > 0)
		end_list(sample, walk->is_whole);
	return 0;
}
