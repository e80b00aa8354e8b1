/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * What the walks of interpreters have in common.
 *
 * When the native unwinder has left the stack frame of an interpreter's loop, it calls the
 * interpreter's function *_walk_begin(). Until the state is INTERPRETER_WALK_NONE again, each step
 * of unwinding is a *_walk_step(), so that the number of steps bounds all work. walk->frame is the
 * next frame of byte code.
 */

#include "bpf/include/sample.bpf.h"

/* The agent needs the highest bit (FRAME_CODE_OBJECT). */
#define MAX_POSITION 0x7fffffffu

/* @index: of the map `interpreters`; 0: none. */
static __always_inline const struct abi_interpreter *find_interpreter(__u32 index)
{
	return index ? bpf_map_lookup_elem(&interpreters, &index) : NULL;
}

static __always_inline bool is_in(const struct abi_code_range *range, __u64 elf_addr)
{
	return elf_addr >= range->start && elf_addr < range->end;
}

/* Reads a word of the memory of the process. */
static __always_inline bool read_pointer(__u64 address, __u64 *ret_value)
{
	return bpf_probe_read_user(ret_value, sizeof(*ret_value), (void *)address) == 0;
}

/*
 * The interpreter if the frame with this address in sample->mapping is a call of its loop, else
 * NULL.
 */
static __always_inline const struct abi_interpreter *
find_interpreter_loop(const struct sample *sample, __u64 elf_addr)
{
	const struct abi_interpreter *interpreter = find_interpreter(sample->mapping.interpreter);

	if (interpreter &&
	    (is_in(&interpreter->loop[0], elf_addr) || is_in(&interpreter->loop[1], elf_addr)))
		return interpreter;
	return NULL;
}

/* No more frames of byte code are added to this stack. */
static __always_inline void lose_frames(struct sample *sample, enum abi_counter reason)
{
	sample->walk.is_lost = true;
	count(reason);
}

/*
 * Removes the frame of the loop, which was added last, so that frames of byte code come before it.
 * It is in sample->mapping; the registers are those of its caller.
 */
static __always_inline void take_loop(struct sample *sample)
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
}

/*
 * Adds a frame of byte code. Returns false if the record is full. The position in the loop says
 * less than that in the function, so it is left out.
 */
static __always_inline bool add_byte_code(struct sample *sample,
					  const struct abi_interpreter *interpreter, __u32 kind,
					  __u32 position, __u64 code)
{
	sample->header.more_flags |= ABI_SAMPLE_BYTE_CODE;
	sample->walk.loop.address = interpreter->loop[0].start;
	sample->walk.n_frames++;
	return sample_add_frame(sample, kind, position, code);
}

/* Adds the frame of the loop itself, after those of the functions that it executes. */
static __always_inline bool end_walk(struct sample *sample)
{
	struct interpreter_walk *walk = &sample->walk;

	walk->state = INTERPRETER_WALK_NONE;
	return sample_add_frame(sample, walk->loop.kind, walk->loop.executable, walk->loop.address);
}

/* The word at @offset of the structure that was read to walk->words. */
static __always_inline __u64 word_at(const struct interpreter_walk *walk, __u16 offset)
{
	__u32 index = offset / sizeof(__u64);

	asm volatile("" : "+r"(index));
	return walk->words[index % (sizeof(walk->words) / sizeof(walk->words[0]))];
}

static __always_inline __u8 byte_at(const struct interpreter_walk *walk, __u16 offset)
{
	return (__u8)(word_at(walk, offset) >> (offset % sizeof(__u64) * 8));
}
