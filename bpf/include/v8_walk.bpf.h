/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Finds the JavaScript function of a frame (struct abi_v8_layout). V8 compiles functions to code in
 * no file; its interpreter and its built-in functions are code in the file of the program, most of
 * it without unwind rows. Both keep frame pointers, so that the native unwinder steps over them.
 *
 * A built-in function that has not yet made a frame, or that makes none, is interrupted with the
 * frame pointer of its caller. Then the frame pointer leads to the caller's function, whose frame
 * is added after that of the built-in function.
 */

#include "bpf/include/interpreter.bpf.h"
#include "bpf/include/unwind_step.bpf.h"

/* From the frame pointer; the context follows. */
#define V8_FUNCTION (-16)

#define V8_TAG      1
#define V8_TAG_BITS 3

static __always_inline bool is_v8_object(__u64 value)
{
	return (value & V8_TAG_BITS) == V8_TAG;
}

/* The index of the process's V8, 0 if it has none. */
static __always_inline __u32 v8_of(const struct sample *sample)
{
	return sample->process_flags >> ABI_PROCESS_V8_SHIFT;
}

/*
 * Sets sample->v8_function to the SharedFunctionInfo of the frame with the frame pointer @fp, or to
 * 0: it is not a frame of JavaScript. @elf_addr is in the file of V8, where only built-in functions
 * have such frames; @may_be: it is known that the code is one, or was generated. Returns 1 if the
 * code calls the handlers of byte code, else 0. It does not read through sample->window, because a
 * page that is not resident here is no reason to cut the stack. The verifier checks this function
 * once by itself.
 */
__verified_alone int v8_find_function(struct sample *sample, __u64 fp, __u64 elf_addr, bool may_be);
__verified_alone int v8_find_function(struct sample *sample, __u64 fp, __u64 elf_addr, bool may_be)
{
	const struct abi_interpreter *v8;
	__u64 words[2] = {}; /* the JSFunction, the context */
	__u64 shared = 0;

	if (!sample)
		return 0;
	sample->v8_function = 0;
	v8 = find_interpreter(v8_of(sample));
	if (!v8 || v8->runtime != INTERPRETER_V8 ||
	    (!may_be && !is_in(&v8->v8.builtins, elf_addr)) || fp & 7 ||
	    bpf_probe_read_user(words, sizeof(words), (void *)(fp + V8_FUNCTION)) ||
	    !is_v8_object(words[0]) || !is_v8_object(words[1]))
		return 0;
	if (!read_pointer(words[0] - V8_TAG + v8->v8.function_shared, &shared)) {
		count(ABI_COUNTER_V8_UNREADABLE);
		return 0;
	}
	if (!is_v8_object(shared))
		return 0;
	sample->v8_function = shared;
	return is_in(&v8->v8.entry, elf_addr);
}
