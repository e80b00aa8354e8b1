/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Adds the frames of Ruby to a stack (struct abi_ruby_layout), after all native frames: the native
 * unwinder marks the calls of the loop on its way (note_loop()), and ruby_walk() follows the
 * list of control frames. All work is bounded by numbers of steps, also if the process has changed
 * its lists into cycles.
 *
 * The thread may be interrupted anywhere. It writes a frame before it makes the ec point to it, but
 * a frame may get its flag FINISH some instructions later, when its call of the loop has not begun.
 */

#include "bpf/include/interpreter.bpf.h"
#include "bpf/include/task.bpf.h"
#include "common/frame.h"

/* Control frames that are read, with those of functions in C, which add no frame. */
#define RUBY_MAX_STEPS (3 * ABI_MAX_USER_FRAMES)

/* Threads of a process that are compared with the sampled one (before 3.0). */
#define RUBY_MAX_THREADS 512

/* Offsets that are the same in all known versions. */
#define RUBY_EC_STACK    0 /* the address of the stack, its size in words, the innermost frame */
#define RUBY_ISEQ_BODY   16
#define RUBY_FLAG_FINISH 0x20
#define RUBY_FLAG_C      0x80 /* a function in C */
#define RUBY_KIND_BITS   0x7fff0001
#define RUBY_KIND_DUMMY  0x79990001 /* the outermost frame, which executes nothing */

/* Words of a control frame. */
enum { RUBY_FRAME_PC, RUBY_FRAME_SP, RUBY_FRAME_ISEQ, RUBY_FRAME_SELF, RUBY_FRAME_EP, RUBY_WORDS };

/* glibc: the address of the thread's array of TLS blocks, and bytes of an element. */
#define TLS_VECTOR        8
#define TLS_ELEMENT_BYTES 16

struct ruby_walk {
	struct sample *sample;
	__u64 frame, end;
	__u64 frame_bytes;
	bool is_whole;
	bool is_first; /* the frame is the innermost one */
};

/* The beginning of the body of an iseq. */
struct ruby_body {
	__u32 kind;
	__u32 n_words; /* of the instructions, which begin at: */
	__u64 code;
};

struct ruby_threads {
	__u64 head, thread; /* the list is circular */
	__u64 thread_id;
	__u64 id_offset;
	bool is_found;
};

static long look_at_ruby_thread(__u64 index, void *argument)
{
	struct ruby_threads *threads = argument;
	__u64 id = 0;

	if (threads->thread == 0 || threads->thread == threads->head)
		return 1;
	threads->is_found =
		read_pointer(threads->thread + threads->id_offset, &id) && id == threads->thread_id;
	return threads->is_found || !read_pointer(threads->thread, &threads->thread);
}

/* Before 3.0: the ec of the sampled thread. */
static __always_inline bool find_listed_ec(const struct sample *sample,
					   const struct abi_interpreter *ruby, __u64 *ret_ec)
{
	const struct abi_ruby_layout *layout = &ruby->ruby;
	struct ruby_threads threads = {
		.thread_id = pthread_of(current_task()),
		.id_offset = layout->thread_id,
	};
	__u64 thread = 0, id = 0, vm = 0;

	if (read_pointer(ruby->runtime_addr + sample->listed_bias, ret_ec) &&
	    read_pointer(*ret_ec + layout->ec_thread, &thread) &&
	    read_pointer(thread + layout->thread_id, &id) && id == threads.thread_id)
		return true;
	if (!read_pointer(layout->vm_addr + sample->listed_bias, &vm))
		return false;
	threads.head = vm + layout->vm_threads;
	if (!read_pointer(threads.head, &threads.thread))
		return false;
	bpf_loop(RUBY_MAX_THREADS, look_at_ruby_thread, &threads, 0);
	return threads.is_found && read_pointer(threads.thread + layout->thread_ec, ret_ec);
}

/* From 3.0 on. An ec of 0: the thread does not execute Ruby. */
static __always_inline bool find_own_ec(const struct sample *sample,
					const struct abi_interpreter *ruby, __u64 *ret_ec)
{
	__u64 block = pthread_of(current_task()), vector = 0;
	__u64 index[2] = {}; /* number of the file's block, offset in it */

	if (ruby->runtime_addr != 0 &&
	    (!read_pointer(block + TLS_VECTOR, &vector) ||
	     bpf_probe_read_user(index, sizeof(index),
				 (void *)(ruby->runtime_addr + sample->listed_bias)) ||
	     !read_pointer(vector + index[0] * TLS_ELEMENT_BYTES, &block)))
		return false;
	return read_pointer(block + index[1] + ruby->ruby.tls_offset, ret_ec);
}

/*
 * The word of the instruction that the frame executes. The pc is behind the instruction's first
 * word. That of new frames is 0 or the first instruction. Code of YJIT stores the pc before it
 * calls a function that may need it, and not when it makes a frame: the pc of the innermost frame,
 * if that code runs itself, is that of an earlier instruction, or of another frame.
 */
static __always_inline __u32 ruby_position(const struct ruby_walk *walk, __u64 pc,
					   const struct ruby_body *body)
{
	if (walk->is_first && walk->sample->is_in_yjit)
		return FRAME_CODE_UNKNOWN_OFFSET;
	if (pc == 0 || pc == body->code)
		return 0;
	if (pc < body->code || pc - body->code > body->n_words * sizeof(__u64) ||
	    body->n_words > MAX_POSITION)
		return FRAME_CODE_UNKNOWN_OFFSET;
	return (__u32)((pc - body->code) / sizeof(__u64) - 1);
}

/* Adds the frame at walk->frame and goes to its caller. Returns whether the walk ended. */
static long add_ruby_frame(__u64 index, void *argument)
{
	struct ruby_walk *walk = argument;
	struct sample *sample = walk->sample;
	__u64 words[RUBY_WORDS] = {};
	struct ruby_body body = {};
	__u64 flags = 0, address = 0;
	__u32 position;

	walk->is_whole = walk->frame >= walk->end;
	if (walk->is_whole)
		return 1;
	if (bpf_probe_read_user(words, sizeof(words), (void *)walk->frame) ||
	    !read_pointer(words[RUBY_FRAME_EP], &flags)) {
		count(ABI_COUNTER_RUBY_UNREADABLE);
		return 1;
	}
	walk->frame += walk->frame_bytes;
	walk->is_first = index == 0;
	if (flags & RUBY_FLAG_C || (flags & RUBY_KIND_BITS) == RUBY_KIND_DUMMY ||
	    words[RUBY_FRAME_ISEQ] == 0)
		return 0;
	if (!read_pointer(words[RUBY_FRAME_ISEQ] + RUBY_ISEQ_BODY, &address) ||
	    bpf_probe_read_user(&body, sizeof(body), (void *)address)) {
		count(ABI_COUNTER_RUBY_UNREADABLE);
		return 1;
	}
	if (is_full(sample))
		return 1;
	position = ruby_position(walk, words[RUBY_FRAME_PC], &body);
	if (!sample_add_frame(sample,
			      FRAME_RUBY | (flags & RUBY_FLAG_FINISH ? ABI_FRAME_ENDS_CALL : 0),
			      position, address))
		return 1;
	sample->n_listed++;
	return 0;
}

/*
 * Adds the frames of Ruby to a stack in which the native unwinder found a call of the loop. The
 * verifier checks this function once by itself. Returns 0.
 */
__verified_alone int ruby_walk(struct sample *sample);
__verified_alone int ruby_walk(struct sample *sample)
{
	const struct abi_interpreter *ruby;
	__u64 stack[3] = {}; /* address, words, innermost frame */
	struct ruby_walk walk = {};
	__u64 ec = 0;

	if (!sample)
		return 0;
	ruby = find_interpreter(sample->listed);
	if (!ruby)
		return 0;
	begin_list(sample);
	if (!(ruby->ruby.vm_addr ? find_listed_ec(sample, ruby, &ec)
				 : find_own_ec(sample, ruby, &ec))) {
		count(ABI_COUNTER_RUBY_NO_THREAD);
		return 0;
	}
	if (ec == 0)
		return 0;
	if (bpf_probe_read_user(stack, sizeof(stack), (void *)(ec + RUBY_EC_STACK))) {
		count(ABI_COUNTER_RUBY_UNREADABLE);
		return 0;
	}
	walk.sample = sample;
	walk.frame = stack[2];
	walk.end = stack[0] + stack[1] * sizeof(__u64);
	walk.frame_bytes = ruby->ruby.frame_bytes;
	bpf_loop(RUBY_MAX_STEPS, add_ruby_frame, &walk, 0);
	end_list(sample, walk.is_whole);
	return 0;
}
