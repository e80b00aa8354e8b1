/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Adds the frames of PHP functions to a stack (struct abi_php_layout).
 *
 * A function that is called from C is in the list before its call of the loop begins, and leaves it
 * before that call returns, to free its variables. Therefore the frames are added after all native
 * frames, and the agent finds out which call executes them (agent/sample/frame_order.h). In the
 * loop itself, the register that has the frame still shows a function that has left the list.
 *
 * Frames of internal functions, and those without a function, which PHP adds for its own
 * backtraces, are left out.
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

/* Frames that are read, with those that add no frame. */
#define PHP_MAX_STEPS (3 * ABI_MAX_USER_FRAMES)

struct php_walk {
	struct sample *sample;
	__u64 frame; /* the next one; 0: none */
	struct abi_php_layout layout;
	bool is_outermost; /* the frame before was the outermost one of its call */
	bool is_whole;
};

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

/* The line that @frame executes, 0: unknown. Its function is in @words. */
static __always_inline __u32 php_line_of(const struct php_walk *walk, __u64 opline)
{
	const struct abi_php_layout *layout = &walk->layout;
	const struct sample *sample = walk->sample;
	__u64 in_register = php_register(sample, layout->opline_register);
	__u32 line = 0;

	/* The frame has the instruction that was stored last, the register the executed one. */
	if (walk->frame == php_register(sample, layout->frame_register) &&
	    is_php_opline(&sample->walk, layout, in_register))
		opline = in_register;
	if (is_php_opline(&sample->walk, layout, opline))
		(void)bpf_probe_read_user(&line, sizeof(line), (void *)(opline + PHP_OPLINE_LINE));
	return line > MAX_POSITION ? 0 : line;
}

/*
 * Adds walk->frame if its function is of a script, and goes to the next one. Returns whether the
 * walk ended.
 */
static long add_php_frame(__u64 index, void *argument)
{
	struct php_walk *walk = argument;
	struct sample *sample = walk->sample;
	struct interpreter_walk *read = &sample->walk;
	__u64 opline, function, previous;
	__u32 call_info, line;

	walk->is_whole = walk->frame == 0;
	if (walk->is_whole)
		return 1;
	if (!read_php_frame(read, walk->frame)) {
		count(ABI_COUNTER_PHP_UNREADABLE);
		return 1;
	}
	opline = read->words[PHP_FRAME_OPLINE];
	function = read->words[PHP_FRAME_FUNCTION];
	call_info = (__u32)read->words[PHP_FRAME_CALL_INFO];
	previous = read->words[PHP_FRAME_PREVIOUS];
	if (function == 0) {
		walk->frame = previous;
		return 0;
	}
	if (!read_php_function(read, &walk->layout, function)) {
		count(ABI_COUNTER_PHP_UNREADABLE);
		return 1;
	}
	if (!is_php_script(read)) {
		/* A Fiber has its own native stack. The frame where it begins has no name. */
		walk->is_whole = walk->is_outermost && read->words[PHP_FUNCTION_NAME] == 0;
		walk->frame = previous;
		return walk->is_whole;
	}
	if (is_full(sample))
		return 1;
	walk->is_outermost = call_info & PHP_CALL_TOP;
	line = php_line_of(walk, opline);
	walk->frame = previous;
	if (!sample_add_frame(sample, FRAME_PHP | (walk->is_outermost ? ABI_FRAME_ENDS_CALL : 0),
			      line, function))
		return 1;
	sample->n_listed++;
	return 0;
}

/*
 * Adds the frames of PHP to a stack in which the native unwinder found a call of the loop. The
 * verifier checks this function once by itself. Returns 0.
 */
__verified_alone int php_walk(struct sample *sample);
__verified_alone int php_walk(struct sample *sample)
{
	const struct abi_interpreter *php;
	struct php_walk walk = {};
	__u64 in_register;

	if (!sample)
		return 0;
	php = find_interpreter(sample->listed);
	if (!php)
		return 0;
	begin_list(sample);
	walk.sample = sample;
	walk.layout = php->php;
	in_register = php_register(sample, walk.layout.frame_register);
	if (!read_pointer(php->runtime_addr + sample->listed_bias + walk.layout.globals_current,
			  &walk.frame)) {
		count(ABI_COUNTER_PHP_UNREADABLE);
		return 0;
	}
	if (is_leaving(sample, &walk.layout, in_register, walk.frame))
		walk.frame = in_register;
	bpf_loop(PHP_MAX_STEPS, add_php_frame, &walk, 0);
	if (sample->n_listed > 0)
		end_list(sample, walk.is_whole);
	return 0;
}
