/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Adds the frames of Perl to a stack (struct abi_perl_layout), after all native frames, as
 * ruby_walk.bpf.h does.
 *
 * A frame executes the statement from which the next inner frame was entered. The innermost frame
 * executes PL_curcop. A sub that has just been entered has not set PL_curcop yet: then PL_curcop is
 * still the statement of its caller.
 */

#include "bpf/include/interpreter.bpf.h"
#include "bpf/include/task.bpf.h"
#include "common/frame.h"

/* Most contexts and stacks that are read. A sub has a context for each of its loops and blocks. */
#define PERL_MAX_STEPS (4 * ABI_MAX_USER_FRAMES)

/*
 * glibc, struct pthread: the values of the first 32 keys, and the addresses of arrays with those of
 * 32 more each. A value is {number of the use of the key, which is odd, value}.
 */
#define PTHREAD_VALUES       0x310
#define PTHREAD_VALUE_ARRAYS 0x510
#define PTHREAD_ARRAY_KEYS   32
#define PTHREAD_VALUE_BYTES  16
#define PTHREAD_MAX_KEYS     1024

/* Offsets that are the same in all known versions. */
#define PERL_CONTEXT_WORDS  10
#define PERL_CONTEXT_COP    2 /* words: the statement from which the context was entered */
#define PERL_CONTEXT_RETURN 6 /* the instruction at which the caller continues */
#define PERL_STACK_WORDS    6
#define PERL_STACK_CONTEXTS 1
#define PERL_STACK_PREVIOUS 2
#define PERL_STACK_INDEX    4  /* lower half: of the innermost context, or -1 */
#define PERL_COP_LINE       32 /* upper half of the word */
#define PERL_COP_FILE       2  /* the word after the next one */

/* The lowest byte of a context is its kind and flags. (cop.h) */
#define PERL_KIND        0x0f
#define PERL_KIND_BLOCK  0 /* of sort */
#define PERL_KIND_SUB    9
#define PERL_KIND_FORMAT 10
#define PERL_KIND_EVAL   11
#define PERL_FROM_C      0x10 /* C calls the code of the context again and again */
#define PERL_IN_REGEX    0x40 /* of a sub: code in a regular expression */
#define PERL_EVAL_BLOCK  0x40

/* The word with the kind has the number of the eval's instruction in these bits. */
#define PERL_EVAL_SHIFT 23
#define PERL_EVAL_BITS  0x1ff

#define PERL_STACK_MAIN 1

/*
 * Words of a sub: its first instruction, and flags. PERL_SUB_COPY: the sub is a copy that has its
 * own variables; PERL_SUB_ANONYMOUS: it has no name.
 */
#define PERL_SUB_START     40
#define PERL_SUB_WORDS     7
#define PERL_SUB_FLAGS     6 /* upper half of this word from there on */
#define PERL_SUB_COPY      0x40
#define PERL_SUB_ANONYMOUS 0x80

/*
 * Marks a call of the loop. The native unwinder has found the caller of this call already. If the
 * code of an eval called the loop, this call and the one around it count as one.
 */
static __always_inline void note_perl_loop(struct sample *sample,
					   const struct abi_interpreter *perl)
{
	__u64 caller = sample->registers.pc - 1 - sample->mapping.bias - perl->loop[0].start;

	if (sample->perl_skips_loop)
		note_list(sample);
	else
		note_loop(sample, perl);
	sample->perl_skips_loop =
		caller - (__u64)(__s64)perl->perl.again_run.start < perl->perl.again_run.bytes;
	if (caller - (__u64)(__s64)perl->perl.main_run.start < perl->perl.main_run.bytes)
		sample->perl_is_run = true;
}

/* pthread_getspecific(@key) of the sampled thread; 0: not found. */
static __always_inline __u64 value_of_key(__u32 key)
{
	__u64 thread = pthread_of(current_task()), values = thread + PTHREAD_VALUES;
	__u64 value[2] = {};

	if (key >= PTHREAD_MAX_KEYS)
		return 0;
	if (key >= PTHREAD_ARRAY_KEYS &&
	    !read_pointer(thread + PTHREAD_VALUE_ARRAYS + key / PTHREAD_ARRAY_KEYS * sizeof(__u64),
			  &values))
		return 0;
	if (bpf_probe_read_user(
		    value, sizeof(value),
		    (void *)(values + key % PTHREAD_ARRAY_KEYS * PTHREAD_VALUE_BYTES)) ||
	    !(value[0] & 1))
		return 0;
	return value[1];
}

/* Finds the interpreter of the sampled thread. *ret_base: what the offsets are relative to. */
static __always_inline bool find_perl(const struct sample *sample,
				      const struct abi_interpreter *perl, __u64 *ret_base)
{
	__u64 key = 0;

	*ret_base = sample->listed_bias;
	if (perl->perl.threads_key == 0)
		return true;
	if (!read_pointer(perl->perl.threads_key + sample->listed_bias, &key))
		return false;
	*ret_base = value_of_key((__u32)key);
	if (*ret_base != 0)
		return true;
	/* Another C library. The first thread has the first interpreter. */
	return sample->header.pid == sample->header.tid &&
	       read_pointer(perl->runtime_addr + sample->listed_bias, ret_base) && *ret_base != 0;
}

/* Reads the stack sample->perl.stack. */
static __always_inline bool begin_perl_stack(struct sample *sample)
{
	struct interpreter_walk *read = &sample->walk;
	struct perl_walk *walk = &sample->perl;

	if (bpf_probe_read_user(read->words, PERL_STACK_WORDS * sizeof(__u64),
				(void *)walk->stack)) {
		count(ABI_COUNTER_PERL_UNREADABLE);
		return false;
	}
	walk->contexts = read->words[PERL_STACK_CONTEXTS];
	walk->previous = read->words[PERL_STACK_PREVIOUS];
	walk->index = (__s32)read->words[PERL_STACK_INDEX];
	walk->stack_kind =
		(__u32)(word_at(read, walk->stack_kind_at) >> (walk->stack_kind_at % 8 * 8));
	return true;
}

/* Reads the line and the file of a statement. @cop: 0: none. */
static __always_inline bool read_statement(__u64 cop, __u32 *ret_line, __u64 *ret_file)
{
	__u64 words[PERL_COP_FILE + 1] = {};

	if (cop != 0 && bpf_probe_read_user(words, sizeof(words), (void *)(cop + PERL_COP_LINE))) {
		count(ABI_COUNTER_PERL_UNREADABLE);
		return false;
	}
	*ret_line = (__u32)(words[0] >> 32);
	if (*ret_line > MAX_POSITION)
		*ret_line = 0;
	*ret_file = words[PERL_COP_FILE];
	return true;
}

/* Adds the last frame. @caller: the address of the next one. */
static __always_inline bool add_last_frame(struct sample *sample, __u64 caller)
{
	struct perl_walk *walk = &sample->perl;

	if (walk->address == 0)
		return true;
	/* The statement is that of the caller. Only a sub that has called itself contains it. */
	if (walk->is_entered && walk->address != caller)
		walk->line = 0;
	if (is_full(sample) || !sample_add_frame(sample, walk->kind, walk->line, walk->address))
		return false;
	sample->n_listed++;
	walk->address = 0;
	return true;
}

/*
 * Returns the address that identifies the sub in frames. A closure without a name may be freed
 * after one call. It is a copy of a sub and shares its instructions, so their address is returned.
 */
static __always_inline __u64 address_of_sub(__u64 cv)
{
	__u64 words[PERL_SUB_WORDS] = {}, body = 0;
	__u32 flags;

	if (!read_pointer(cv, &body) ||
	    bpf_probe_read_user(words, sizeof(words), (void *)(body + PERL_SUB_START)))
		return cv;
	flags = words[PERL_SUB_FLAGS] >> 32;
	if (!(flags & PERL_SUB_COPY) || !(flags & PERL_SUB_ANONYMOUS) || words[0] == 0)
		return cv;
	return (words[0] & ~(__u64)ABI_PERL_MARKS) | ABI_PERL_CLOSURE;
}

/*
 * Adds the last frame, and makes {@address, line of perl.cop} the last one. @mark: the address is
 * that of the statement's file, with this mark; 0: it is @address.
 */
static __always_inline bool add_perl_frame(struct sample *sample, __u64 address, __u32 mark,
					   bool ends_call, bool is_entered)
{
	struct perl_walk *walk = &sample->perl;
	__u64 file = 0;
	__u32 line = 0;

	if (!read_statement(walk->cop, &line, &file))
		return false;
	/* Each call of a string eval makes a file with a new number and frees it at the end. */
	if (mark == ABI_PERL_EVAL)
		address = mark;
	else if (mark)
		address = (file & ~(__u64)ABI_PERL_MARKS) | mark;
	if (!add_last_frame(sample, address))
		return false;
	walk->address = address;
	walk->line = line;
	walk->kind = FRAME_PERL | (ends_call ? ABI_FRAME_ENDS_CALL : 0);
	walk->is_entered = is_entered;
	return true;
}

/* Goes to the stack from which this one was entered. Returns whether the walk ended. */
static __always_inline long leave_perl_stack(struct sample *sample)
{
	struct perl_walk *walk = &sample->perl;

	if (walk->stack_kind != PERL_STACK_MAIN && walk->previous != 0) {
		walk->stack = walk->previous;
		return !begin_perl_stack(sample);
	}
	if (!sample->perl_is_run)
		walk->is_whole = true;
	else
		walk->is_whole = add_perl_frame(sample, 0, ABI_PERL_MAIN, true, false);
	return 1;
}

/* Whether the context is of the block of sort, or of code in a regular expression. */
static __always_inline bool is_block(__u32 head)
{
	const __u32 kind = head & PERL_KIND;

	return kind == PERL_KIND_BLOCK || (kind == PERL_KIND_SUB && head & PERL_IN_REGEX);
}

/*
 * Whether the stack begins with a block. The last instruction of a block has no next one, as if a
 * sub that it calls were called from C.
 */
static __always_inline bool begins_with_block(const struct sample *sample)
{
	__u64 head = 0;

	return read_pointer(sample->perl.contexts, &head) && is_block((__u32)head);
}

/* Adds the frame of the context that was read, if it has one. Returns whether the walk goes on. */
static __always_inline bool add_frame_of_context(struct sample *sample, __s32 index,
						 bool is_innermost)
{
	const struct interpreter_walk *read = &sample->walk;
	struct perl_walk *walk = &sample->perl;
	const __u32 head = (__u32)read->words[0], kind = head & PERL_KIND;
	const __u64 cop = read->words[PERL_CONTEXT_COP];
	__u64 address = word_at(read, walk->context_cv);
	bool ends_call = read->words[PERL_CONTEXT_RETURN] == 0, is_sub = false;
	__u32 mark = 0;

	if (is_block(head)) {
		mark = ABI_PERL_BLOCK;
		ends_call = true;
	} else if (kind == PERL_KIND_EVAL) {
		if (head & PERL_EVAL_BLOCK)
			return true;
		mark = (head >> PERL_EVAL_SHIFT & PERL_EVAL_BITS) == walk->eval_string
			       ? ABI_PERL_EVAL
			       : ABI_PERL_MAIN;
	} else if (kind == PERL_KIND_SUB || kind == PERL_KIND_FORMAT) {
		is_sub = true;
		address = address_of_sub(address);
	} else {
		return true;
	}
	if (ends_call && is_sub && index == 1 && begins_with_block(sample))
		ends_call = false;
	if (is_innermost && walk->is_idle && (mark == ABI_PERL_BLOCK || head & PERL_FROM_C)) {
		walk->cop = cop;
		return true;
	}
	if (!add_perl_frame(sample, address, mark, ends_call,
			    is_innermost && is_sub && walk->cop == cop))
		return false;
	walk->cop = cop;
	return true;
}

/* Goes to the next context, or to the next stack. Returns whether the walk ended. */
static long add_perl_context(__u64 index, void *argument)
{
	struct sample *sample = *(struct sample **)argument;
	struct perl_walk *walk = &sample->perl;
	const __s32 at = walk->index;
	const bool is_first = walk->is_first;

	if (at < 0)
		return leave_perl_stack(sample);
	if (bpf_probe_read_user(sample->walk.words, PERL_CONTEXT_WORDS * sizeof(__u64),
				(void *)(walk->contexts + (__u64)at * walk->context_bytes))) {
		count(ABI_COUNTER_PERL_UNREADABLE);
		return 1;
	}
	walk->index = at - 1;
	walk->is_first = false;
	return !add_frame_of_context(sample, at, is_first);
}

/* Reads where the interpreter is. */
static __always_inline bool begin_perl_walk(struct sample *sample,
					    const struct abi_perl_layout *layout, __u64 base)
{
	struct perl_walk *walk = &sample->perl;
	__u64 instruction = 0;

	walk->stack_kind_at = layout->stack_kind;
	walk->context_bytes = layout->context_bytes;
	walk->context_cv = layout->context_cv;
	walk->eval_string = layout->eval_string;
	walk->is_first = true;
	walk->is_entered = false;
	walk->is_whole = false;
	walk->address = 0;
	if (!read_pointer(base + layout->statement, &walk->cop) ||
	    !read_pointer(base + layout->stack, &walk->stack) ||
	    !read_pointer(base + layout->instruction, &instruction)) {
		count(ABI_COUNTER_PERL_UNREADABLE);
		return false;
	}
	/* The loop stores 0 when it ends: then C code has not called the context again yet. */
	walk->is_idle = instruction == 0;
	/* An interpreter that is being copied for a new thread has none. */
	if (walk->stack == 0)
		return false;
	return begin_perl_stack(sample);
}

/*
 * Adds the frames of Perl to a stack in which the native unwinder found a call of the loop. The
 * verifier checks this function once by itself. Returns 0.
 */
__verified_alone int perl_walk(struct sample *sample);
__verified_alone int perl_walk(struct sample *sample)
{
	const struct abi_interpreter *perl;
	__u64 base = 0;

	if (!sample)
		return 0;
	perl = find_interpreter(sample->listed);
	if (!perl)
		return 0;
	begin_list(sample);
	if (!find_perl(sample, perl, &base)) {
		count(ABI_COUNTER_PERL_NO_THREAD);
		return 0;
	}
	if (!begin_perl_walk(sample, &perl->perl, base))
		return 0;
	bpf_loop(PERL_MAX_STEPS, add_perl_context, &sample, 0);
	if (!add_last_frame(sample, 0))
		sample->perl.is_whole = false;
	if (sample->n_listed > 0)
		end_list(sample, sample->perl.is_whole);
	return 0;
}
