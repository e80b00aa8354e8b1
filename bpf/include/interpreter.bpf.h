/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * What the walks of interpreters have in common.
 *
 * The frames of Python are added in the steps of the native unwinder, when it has left the stack
 * frame of the loop. Those of Ruby, PHP, Perl and Lua are added after all native frames, because
 * only then it is known which call of the loop executes them; the agent puts them in order
 * (agent/sample/frame_order.h).
 */

#include "bpf/include/sample.bpf.h"
#include "common/frame.h"

/* The agent needs the highest bit (FRAME_CODE_OBJECT). */
#define MAX_POSITION 0x7fffffffu

_Static_assert(FRAME_CODE_UNKNOWN_OFFSET <= MAX_POSITION, "the position of a frame of byte code");

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

/* Whether the code at the address is the interpreter's loop. */
static __always_inline bool is_interpreter_loop(const struct abi_interpreter *interpreter,
						__u64 elf_addr)
{
	return is_in(&interpreter->loop[0], elf_addr) || is_in(&interpreter->loop[1], elf_addr);
}

/* The word at @offset of the structure that was read to walk->words. */
static __always_inline __u64 word_at(const struct interpreter_walk *walk, __u16 offset)
{
	__u32 index = offset / sizeof(__u64);

	asm volatile("" : "+r"(index));
	return walk->words[index % (sizeof(walk->words) / sizeof(walk->words[0]))];
}

/* ---- frames after the native ones ---------------------------------------------------------- */

static __always_inline bool is_full(const struct sample *sample)
{
	return sample->n_frames - sample->header.n_kernel_frames >= ABI_MAX_USER_FRAMES;
}

/* The frame that was added last is of an interpreter whose frames are added at the end. */
static __always_inline void note_list(struct sample *sample)
{
	sample->listed = sample->mapping.interpreter;
	sample->listed_bias = sample->mapping.bias;
}

/* Marks the frame that was added last, which is in sample->mapping, as a call of the loop. */
static __always_inline void note_loop(struct sample *sample,
				      const struct abi_interpreter *interpreter)
{
	note_list(sample);
	sample->n_frames--;
	sample->hash = sample->hash_before;
	/* The position in the loop says less than that in the function, so it is left out. */
	(void)sample_add_frame(sample, sample->mapping.kind | ABI_FRAME_IS_LOOP,
			       sample->mapping.executable, interpreter->loop[0].start);
}

static __always_inline void begin_list(struct sample *sample)
{
	sample->n_frames_before_list = sample->n_frames;
	sample->hash_before_list = sample->hash;
	sample->hash_before_last = sample->hash_before;
}

/* @is_whole: all frames of the thread were added. */
static __always_inline void end_list(struct sample *sample, bool is_whole)
{
	sample->header.more_flags |= ABI_SAMPLE_LISTED | ABI_SAMPLE_BYTE_CODE;
	if (is_whole)
		return;
	sample->header.more_flags |= ABI_SAMPLE_LIST_CUT;
	if (sample->header.cut == STACK_CUT_NONE && is_full(sample))
		sample->header.cut = STACK_CUT_DEPTH;
}

/* Removes the frames of the list, for unwind_user_again(). */
static __always_inline void forget_list(struct sample *sample)
{
	if (!(sample->header.more_flags & ABI_SAMPLE_LISTED))
		return;
	sample->header.more_flags &= ~(ABI_SAMPLE_LISTED | ABI_SAMPLE_LIST_CUT);
	sample->n_frames = sample->n_frames_before_list;
	sample->hash = sample->hash_before_list;
	sample->hash_before = sample->hash_before_last;
	sample->n_listed = 0;
}
