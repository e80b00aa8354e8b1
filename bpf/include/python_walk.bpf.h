/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Adds the frames of Python functions to a stack (bpf/abi/interpreter.h).
 *
 * When the native unwinder has left the stack frame of the interpreter's loop, it calls
 * python_walk_begin(). Until the state is INTERPRETER_WALK_NONE again, each step of unwinding is a
 * python_walk_step(): it compares one thread, reads one cframe, or adds one frame. So all work is
 * bounded by the number of steps, also if the process has changed its lists into cycles.
 *
 * The cframes of a thread are in the stack frames of its calls of the loop, and so are the shims of
 * 3.13. A call that has begun and not yet linked its cframe, or that is about to return and has
 * unlinked it, therefore has no cframe below the end of its stack frame, and gets no Python frames.
 * Frames of versions before 3.11 are on the heap: there the address of the instruction shows
 * whether the frame of the call is linked.
 *
 * The thread may be interrupted anywhere, but it changes each pointer with one instruction, after
 * it has written the object to which the pointer leads.
 */

#include "bpf/include/interpreter.bpf.h"
#include "bpf/include/sample.bpf.h"
#include "bpf/include/task.bpf.h"
#include "common/frame.h"

/* Threads of a process that are compared with the sampled one. */
#define PYTHON_MAX_THREADS 512

/* Steps in addition to those that add frames: threads, and two for each call of the loop. */
#define PYTHON_MORE_STEPS (PYTHON_MAX_THREADS + 2 * ABI_MAX_USER_FRAMES)

static __always_inline void lose_python(struct sample *sample, enum abi_counter reason)
{
	sample->walk.is_lost = true;
	count(reason);
}

static __always_inline void begin_call(struct sample *sample)
{
	struct interpreter_walk *walk = &sample->walk;

	walk->call_frame = walk->frame;
	walk->call_hash = sample->hash;
	walk->call_n_frames = sample->n_frames;
}

static __always_inline void begin_with_current_thread(struct sample *sample,
						      const struct abi_interpreter *interpreter)
{
	struct interpreter_walk *walk = &sample->walk;
	__u64 runtime = interpreter->runtime_addr + walk->loop_bias;

	walk->state = INTERPRETER_WALK_THREAD;
	walk->is_listed = false;
	walk->n_threads = 0;
	walk->vm = 0;
	walk->thread_id = interpreter->python.index_bytes ? pthread_of(current_task())
							  : tid_in_namespace(current_task());
	walk->thread = 0;
	if (interpreter->python.runtime_current_thread)
		(void)read_pointer(runtime + interpreter->python.runtime_current_thread,
				   &walk->thread);
}

/*
 * Removes the frame of the loop, which was added last, so that Python frames come before it. It is
 * in sample->mapping; the registers are those of its caller.
 */
static __always_inline void python_walk_begin(struct sample *sample,
					      const struct abi_interpreter *interpreter)
{
	struct interpreter_walk *walk = &sample->walk;

	__u32 last = --sample->n_frames;

	sample->hash = sample->hash_before;
	asm volatile("" : "+r"(last));
	if (last < ABI_MAX_FRAMES)
		walk->loop = sample->frames[last];
	walk->loop_interpreter = sample->mapping.interpreter;
	walk->loop_bias = sample->mapping.bias;
	walk->loop_end = sample->registers.sp;
	walk->state = INTERPRETER_WALK_FRAMES;
	walk->is_done = false;
	begin_call(sample);
	if (!walk->is_lost && walk->interpreter != walk->loop_interpreter)
		begin_with_current_thread(sample, interpreter);
}

/* Goes to the first thread of the next virtual machine ("interpreter" in CPython's sources). */
static __always_inline void next_vm(struct sample *sample,
				    const struct abi_interpreter *interpreter)
{
	const struct abi_python_layout *layout = &interpreter->python;
	struct interpreter_walk *walk = &sample->walk;
	__u64 link = walk->vm ? walk->vm + layout->interpreter_next
			      : interpreter->runtime_addr + walk->loop_bias +
					layout->runtime_interpreters;

	walk->is_listed = true;
	if (!read_pointer(link, &walk->vm) || walk->vm == 0 ||
	    !read_pointer(walk->vm + layout->interpreter_threads, &walk->thread))
		lose_python(sample, ABI_COUNTER_PYTHON_NO_THREAD);
}

/* Compares one thread with the sampled one. */
static __always_inline void look_at_thread(struct sample *sample,
					   const struct abi_interpreter *interpreter)
{
	const struct abi_python_layout *layout = &interpreter->python;
	struct interpreter_walk *walk = &sample->walk;
	__u64 native_id = 0;

	if (walk->thread == 0) {
		next_vm(sample, interpreter);
		return;
	}
	if (++walk->n_threads > PYTHON_MAX_THREADS) {
		lose_python(sample, ABI_COUNTER_PYTHON_NO_THREAD);
		return;
	}
	if (read_pointer(walk->thread + layout->thread_native_id, &native_id) &&
	    native_id == walk->thread_id) {
		if (!read_pointer(walk->thread + layout->thread_cframe, &walk->cframe)) {
			lose_python(sample, ABI_COUNTER_PYTHON_UNREADABLE);
			return;
		}
		walk->interpreter = walk->loop_interpreter;
		walk->frame = 0;
		if (!layout->has_cframes) {
			walk->frame = walk->cframe;
			walk->cframe = 0;
		}
		walk->state = INTERPRETER_WALK_FRAMES;
		begin_call(sample);
		return;
	}
	if (!walk->is_listed)
		walk->thread = 0;
	else if (!read_pointer(walk->thread + layout->thread_next, &walk->thread))
		lose_python(sample, ABI_COUNTER_PYTHON_NO_THREAD);
}

static __always_inline __u8 byte_at(const struct interpreter_walk *walk, __u16 offset)
{
	return (__u8)(word_at(walk, offset) >> (offset % sizeof(__u64) * 8));
}

/* Goes from walk->cframe to its innermost frame. */
static __always_inline void enter_cframe(struct sample *sample,
					 const struct abi_python_layout *layout)
{
	struct interpreter_walk *walk = &sample->walk;
	__u64 cframe = walk->cframe;

	if (!read_pointer(cframe + layout->cframe_frame, &walk->frame) ||
	    !read_pointer(cframe + layout->cframe_previous, &walk->cframe))
		lose_python(sample, ABI_COUNTER_PYTHON_UNREADABLE);
}

/*
 * walk->frame is the shim of a call: it lies in the stack frame of its call of the loop. If that is
 * an outer one, removes the frames that were added for the call. A call in a lower stack frame was
 * not recognized, so the frames of this one follow.
 */
static __always_inline void end_call(struct sample *sample, __u64 previous)
{
	struct interpreter_walk *walk = &sample->walk;

	if (walk->frame >= walk->loop_end) {
		walk->n_frames -= sample->n_frames - walk->call_n_frames;
		sample->n_frames = walk->call_n_frames;
		sample->hash = walk->call_hash;
		walk->frame = walk->call_frame;
		walk->is_done = true;
		return;
	}
	walk->is_done = walk->frame >= walk->loop_start;
	walk->frame = previous;
	begin_call(sample);
}

/*
 * Whether the sampled call of the loop has not linked its frame, or has unlinked it (before 3.11).
 * Computes without branches, which the verifier would follow one by one.
 */
static __always_inline bool is_unlinked(const struct interpreter_walk *walk,
					const struct abi_interpreter *interpreter)
{
	__u32 offset = (__u32)(walk->loop.address - interpreter->loop[0].start);
	__u64 below = 0;

	for (__u32 i = 0; i < ABI_UNLINKED_PIECES; i++) {
		const struct abi_code_piece *piece = &interpreter->unlinked[i];

		/* Negative if the offset is in the piece. */
		below |= (__u64)(__u32)(offset - (__u32)piece->start) - piece->bytes;
	}
	return below >> 63;
}

/* Adds walk->frame and goes to its caller. Returns false if the record is full. */
static __always_inline bool add_python_frame(struct sample *sample,
					     const struct abi_interpreter *interpreter)
{
	const struct abi_python_layout *layout = &interpreter->python;
	struct interpreter_walk *walk = &sample->walk;
	__u32 size = layout->frame_bytes;
	__u64 code, bytecode, instruction;
	bool is_entry;

	asm volatile("" : "+r"(size));
	if (size > ABI_PYTHON_FRAME_BYTES)
		return true;
	if (bpf_probe_read_user(walk->words, size, (void *)walk->frame)) {
		lose_python(sample, ABI_COUNTER_PYTHON_UNREADABLE);
		return true;
	}
	code = word_at(walk, layout->frame_code) & ~7ULL;
	instruction = word_at(walk, layout->frame_instruction);
	bytecode = code + layout->code_bytecode;
	is_entry = byte_at(walk, layout->frame_entry) >= layout->frame_entry_value;
	if (layout->index_bytes) {
		/* The index of a function that has not begun is -1. */
		instruction = (__s32)instruction < 0 ? 0 : (__u32)instruction * layout->index_bytes;
		bytecode = 0;
		is_entry = false;
		walk->is_done = true;
	} else if (is_entry && !layout->has_cframes) {
		end_call(sample, word_at(walk, layout->frame_previous));
		return true;
	}
	walk->frame = is_entry ? 0 : word_at(walk, layout->frame_previous);
	if (is_entry && layout->frame_entry_is_shim)
		return true;
	sample->header.more_flags |= ABI_SAMPLE_BYTE_CODE;
	/* The position in the loop says less than that in the function, so it is left out. */
	walk->loop.address = interpreter->loop[0].start;
	walk->n_frames++;
	/* A function that has not begun is before its first instruction. */
	return sample_add_frame(
		sample, FRAME_PYTHON,
		instruction > bytecode ? (instruction - bytecode) & MAX_POSITION : 0, code);
}

/* Adds the frame of the loop itself, after those of the functions that it executes. */
static __always_inline bool end_python_walk(struct sample *sample)
{
	struct interpreter_walk *walk = &sample->walk;

	walk->state = INTERPRETER_WALK_NONE;
	return sample_add_frame(sample, walk->loop.kind, walk->loop.executable, walk->loop.address);
}

/* Returns false if the record is full. */
static __always_inline bool python_walk_step(struct sample *sample)
{
	struct interpreter_walk *walk = &sample->walk;
	const struct abi_interpreter *interpreter = find_interpreter(walk->loop_interpreter);

	if (walk->is_lost || !interpreter)
		return end_python_walk(sample);
	if (walk->state == INTERPRETER_WALK_THREAD) {
		look_at_thread(sample, interpreter);
		return true;
	}
	if (walk->is_done || (interpreter->python.index_bytes && is_unlinked(walk, interpreter)))
		return end_python_walk(sample);
	if (walk->frame != 0)
		return add_python_frame(sample, interpreter);
	if (walk->cframe == 0 || walk->cframe >= walk->loop_end)
		return end_python_walk(sample);
	enter_cframe(sample, &interpreter->python);
	return true;
}
