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
	return sample->process_flags >> ABI_PROCESS_V8_SHIFT & ABI_PROCESS_V8_BITS;
}

/* The word at @offset of an object whose words from @start on are in sample->v8_words. */
static __always_inline __u64 v8_word(const struct sample *sample, __u32 offset, __u32 start)
{
	__u32 index = (offset - start) / sizeof(__u64);

	asm volatile("" : "+r"(index));
	return sample->v8_words[index % ABI_V8_FUNCTION_WORDS];
}

static __always_inline __u32 v8_half(const struct sample *sample, __u32 offset, __u32 start)
{
	return (__u32)(v8_word(sample, offset, start) >> (offset % sizeof(__u64) * 8));
}

#define V8_HANDLE_SHIFT     8
#define V8_ENTRY_SHIFT      4 /* the size of an entry is 16 */
#define V8_ENTRY_CODE       8
#define V8_ENTRY_CODE_SHIFT 16

/* The Code that @value of a JSFunction points to, directly or by a handle. 0: it cannot be read. */
static __always_inline __u64 v8_code_of(struct sample *sample, const struct abi_interpreter *v8,
					__u64 value)
{
	__u64 group = 0, entry = 0;

	if (!v8->v8.dispatch_table)
		return value;
	if (sample->v8_dispatch_table == 0 &&
	    (!read_pointer(v8->runtime_addr, &group) ||
	     !read_pointer(group + v8->v8.dispatch_table, &sample->v8_dispatch_table)))
		return 0;
	entry = (__u64)((__u32)value >> V8_HANDLE_SHIFT) << V8_ENTRY_SHIFT;
	if (!read_pointer(sample->v8_dispatch_table + entry + V8_ENTRY_CODE, &entry))
		return 0;
	return entry >> V8_ENTRY_CODE_SHIFT | V8_TAG;
}

/*
 * Sets sample->v8_function and v8_position to the Code to which @code points, and to the offset of
 * @pc in it, if it is optimized and contains @pc.
 */
static __always_inline void v8_find_optimized(struct sample *sample, const struct abi_v8_layout *v8,
					      __u64 code, __u64 pc)
{
	__u64 start = code - V8_TAG + v8->code_header;
	__u32 bytes;

	if (!is_v8_object(code) ||
	    bpf_probe_read_user(sample->v8_words, ABI_V8_CODE_WORDS * sizeof(__u64),
				(void *)(code - V8_TAG + ABI_V8_CODE_START)) ||
	    (v8_half(sample, v8->code_flags, ABI_V8_CODE_START) & ((1U << ABI_V8_KIND_BITS) - 1)) <
		    v8->first_optimized)
		return;
	if (v8->code_start)
		start = v8_word(sample, v8->code_start, ABI_V8_CODE_START);
	bytes = v8_half(sample, v8->code_bytes, ABI_V8_CODE_START);
	if (bytes > ABI_V8_MAX_CODE_BYTES || pc - start >= bytes)
		return;
	sample->v8_function = code | ABI_V8_OPTIMIZED;
	sample->v8_position = (__u32)(pc - start);
}

/*
 * Sets sample->v8_function to the function of the frame with the frame pointer @fp, or to 0: it is
 * not a frame of JavaScript. @elf_addr is in the file of V8, where only built-in functions have
 * such frames; @pc is 0 there, else the pc of the frame. @may_be: it is known that the code is a
 * built-in function, or was generated. Returns 1 if the code calls the handlers of byte code, else
 * 0. It does not read through sample->window, because a page that is not resident here is no reason
 * to cut the stack. The verifier checks this function once by itself.
 */
__verified_alone int v8_find_function(struct sample *sample, __u64 fp, __u64 elf_addr, __u64 pc,
				      bool may_be);
__verified_alone int v8_find_function(struct sample *sample, __u64 fp, __u64 elf_addr, __u64 pc,
				      bool may_be)
{
	const struct abi_interpreter *v8;
	__u64 words[2] = {}; /* the JSFunction, the context */
	__u64 shared, code;

	if (!sample)
		return 0;
	sample->v8_function = 0;
	sample->v8_position = 0;
	v8 = find_interpreter(v8_of(sample));
	if (!v8 || v8->runtime != INTERPRETER_V8 ||
	    (!may_be && !is_in(&v8->v8.builtins, elf_addr)) || fp & 7 ||
	    bpf_probe_read_user(words, sizeof(words), (void *)(fp + V8_FUNCTION)) ||
	    !is_v8_object(words[0]) || !is_v8_object(words[1]))
		return 0;
	if (bpf_probe_read_user(sample->v8_words, sizeof(sample->v8_words),
				(void *)(words[0] - V8_TAG + ABI_V8_FUNCTION_START))) {
		count(ABI_COUNTER_V8_UNREADABLE);
		return 0;
	}
	shared = v8_word(sample, v8->v8.function_shared, ABI_V8_FUNCTION_START);
	if (!is_v8_object(shared))
		return 0;
	sample->v8_function = shared;
	if (pc && v8->v8.function_code) {
		code = v8_code_of(sample, v8,
				  v8_word(sample, v8->v8.function_code, ABI_V8_FUNCTION_START));
		v8_find_optimized(sample, &v8->v8, code, pc);
	}
	return is_in(&v8->v8.entry, elf_addr);
}
