/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Adds the frames of PHP functions to a stack (struct abi_php_layout).
 *
 * A call of the loop takes frames from the list until it has taken one with the mark of an
 * outermost frame. Frames of internal functions, and those without a function, which PHP adds for
 * its own backtraces, are left out.
 *
 * A function that returns leaves the list before its variables are freed. In the loop itself, the
 * register that has its frame then still shows it. There are two other cases, in which each call of
 * the loop gets the frames of another call. The agent puts them right (agent/sample/loop_frames.h)
 * by what is left at the end of the stack:
 *
 *   the function has left the list, and the loop has not returned yet: the outermost call of the
 *   loop has no frames; its address is that of the loop, as if it had some
 *
 *   the function is in the list, and its call of the loop has not begun: the frames of the
 *   outermost call follow the last native frame
 */

#include "bpf/include/interpreter.bpf.h"
#include "common/frame.h"

/* zend_execute_data: the words that are read. */
enum {
	PHP_FRAME_OPLINE = 0,
	PHP_FRAME_FUNCTION = 3,
	PHP_FRAME_CALL_INFO = 5, /* lower half */
	PHP_FRAME_PREVIOUS = 6,
	PHP_FRAME_WORDS = 7,
};

/* ZEND_CALL_TOP: the outermost frame of a call of the loop. */
#define PHP_CALL_TOP (1U << 17)

/* The type of functions, the first byte. */
#define PHP_USER_FUNCTION 2
#define PHP_EVAL_CODE     4

/* The name of functions, as a word. */
#define PHP_FUNCTION_NAME 1

/* zend_op */
#define PHP_OPLINE_BYTES 32
#define PHP_OPLINE_LINE  24

/* See take_loop(). */
static __always_inline void php_walk_begin(struct sample *sample)
{
	struct interpreter_walk *walk = &sample->walk;

	take_loop(sample);
	if (!walk->is_lost && walk->interpreter != walk->loop_interpreter)
		walk->state = INTERPRETER_WALK_THREAD;
}

static __always_inline bool read_php_frame(struct interpreter_walk *walk, __u64 address)
{
	return bpf_probe_read_user(walk->words, PHP_FRAME_WORDS * sizeof(__u64), (void *)address) ==
	       0;
}

/* Reads the function at @address to walk->words. */
static __always_inline bool read_php_function(struct interpreter_walk *walk,
					      const struct abi_php_layout *layout, __u64 address)
{
	__u32 size = layout->function_bytes;

	asm volatile("" : "+r"(size));
	return size <= ABI_PHP_FUNCTION_BYTES &&
	       bpf_probe_read_user(walk->words, size, (void *)address) == 0;
}

/* Whether walk->words is a function that was compiled of a script. */
static __always_inline bool is_php_script(const struct interpreter_walk *walk)
{
	__u8 type = (__u8)walk->words[0];

	return type == PHP_USER_FUNCTION || type == PHP_EVAL_CODE;
}

/* Whether an instruction of the function in walk->words is at @opline. */
static __always_inline bool is_php_opline(const struct interpreter_walk *walk,
					  const struct abi_php_layout *layout, __u64 opline)
{
	__u64 distance = opline - word_at(walk, layout->function_oplines);
	__u32 count = (__u32)(word_at(walk, layout->function_n_oplines) >>
			      (layout->function_n_oplines % sizeof(__u64) * 8));

	return distance / PHP_OPLINE_BYTES < count && distance % PHP_OPLINE_BYTES == 0;
}

/* The value of a register in the innermost frame, which functions often do not change. */
static __always_inline __u64 php_register(const struct sample *sample, __u16 number)
{
	__u32 index = number;

	asm volatile("" : "+r"(index));
	if (number == 0 || sample->registers.general_passed)
		return 0;
	return sample->registers.general[index % N_GENERAL_REGISTERS];
}

/* Whether @frame was removed from the list before @current, and its function still runs. */
static __always_inline bool is_leaving(struct sample *sample, const struct abi_php_layout *layout,
				       __u64 frame, __u64 current)
{
	struct interpreter_walk *walk = &sample->walk;

	return frame != 0 && frame != current && (frame & 7) == 0 && read_php_frame(walk, frame) &&
	       walk->words[PHP_FRAME_PREVIOUS] == current &&
	       read_php_function(walk, layout, walk->words[PHP_FRAME_FUNCTION]) &&
	       is_php_script(walk) &&
	       is_php_opline(walk, layout, php_register(sample, layout->opline_register));
}

static __always_inline void find_current_frame(struct sample *sample,
					       const struct abi_interpreter *interpreter)
{
	const struct abi_php_layout *layout = &interpreter->php;
	struct interpreter_walk *walk = &sample->walk;
	__u64 globals = interpreter->runtime_addr + walk->loop_bias;
	__u64 in_register = php_register(sample, layout->frame_register);

	if (!read_pointer(globals + layout->globals_current, &walk->frame)) {
		lose_frames(sample, ABI_COUNTER_PHP_UNREADABLE);
		return;
	}
	walk->interpreter = walk->loop_interpreter;
	walk->state = INTERPRETER_WALK_FRAMES;
	if (is_leaving(sample, layout, in_register, walk->frame))
		walk->frame = in_register;
}

/*
 * Adds walk->frame if its function is of a script, and goes to the next one. Returns false if the
 * record is full.
 */
static __always_inline bool add_php_frame(struct sample *sample,
					  const struct abi_interpreter *interpreter)
{
	const struct abi_php_layout *layout = &interpreter->php;
	struct interpreter_walk *walk = &sample->walk;
	__u64 frame = walk->frame, opline, function;
	__u32 call_info, line = 0;

	if (!read_php_frame(walk, frame)) {
		lose_frames(sample, ABI_COUNTER_PHP_UNREADABLE);
		return true;
	}
	opline = walk->words[PHP_FRAME_OPLINE];
	function = walk->words[PHP_FRAME_FUNCTION];
	call_info = (__u32)walk->words[PHP_FRAME_CALL_INFO];
	walk->frame = walk->words[PHP_FRAME_PREVIOUS];
	if (function == 0)
		return true;
	if (!read_php_function(walk, layout, function)) {
		lose_frames(sample, ABI_COUNTER_PHP_UNREADABLE);
		return true;
	}
	if (!is_php_script(walk)) {
		/* A Fiber has its own native stack. The frame where it begins has no name. */
		if (walk->state == INTERPRETER_WALK_REST && walk->words[PHP_FUNCTION_NAME] == 0)
			walk->frame = 0;
		return true;
	}
	walk->is_done = call_info & PHP_CALL_TOP;
	/* The frame has the instruction that was stored last, the register the executed one. */
	if (frame == php_register(sample, layout->frame_register) &&
	    is_php_opline(walk, layout, php_register(sample, layout->opline_register)))
		opline = php_register(sample, layout->opline_register);
	if (is_php_opline(walk, layout, opline))
		(void)bpf_probe_read_user(&line, sizeof(line), (void *)(opline + PHP_OPLINE_LINE));
	return add_byte_code(sample, interpreter, FRAME_PHP, line & MAX_POSITION, function);
}

/* The last native frame was added. Returns whether frames of PHP are left. */
static __always_inline bool php_rest_begin(struct interpreter_walk *walk)
{
	if (walk->is_lost || walk->frame == 0)
		return false;
	walk->state = INTERPRETER_WALK_REST;
	walk->is_done = false;
	return true;
}

static __always_inline bool php_rest_ended(const struct interpreter_walk *walk)
{
	return walk->state == INTERPRETER_WALK_REST &&
	       (walk->is_done || walk->is_lost || walk->frame == 0);
}

/* Returns 0 if the record is full, else 1. The verifier checks this function once by itself. */
__verified_alone int php_walk_step(struct sample *sample);
__verified_alone int php_walk_step(struct sample *sample)
{
	const struct abi_interpreter *interpreter;
	struct interpreter_walk *walk;

	if (!sample)
		return 0;
	walk = &sample->walk;
	interpreter = find_interpreter(walk->loop_interpreter);
	if (walk->is_lost || !interpreter)
		return end_walk(sample);
	if (walk->state == INTERPRETER_WALK_THREAD) {
		find_current_frame(sample, interpreter);
		return 1;
	}
	if (!walk->is_done && walk->frame == 0 && walk->n_frames > 0)
		walk->loop.address = interpreter->loop[0].start;
	if (walk->is_done || walk->frame == 0)
		return end_walk(sample);
	return add_php_frame(sample, interpreter);
}
