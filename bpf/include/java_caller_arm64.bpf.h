/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Callers of the innermost frame in code that a HotSpot JVM generates for arm64. Part of
 * java_walk.bpf.h, which includes it.
 *
 * The frame record {caller's x29, return address} is in the last two words of a frame. Compilers
 * make and remove a frame in one of two ways, depending on its size:
 *
 *   sub sp, sp, #n                  stp x29, x30, [sp, #-16]!
 *   stp x29, x30, [sp, #n - 16]     sub sp, sp, ...
 *
 *   ldp x29, x30, [sp, #n - 16]     add sp, sp, ...
 *   add sp, sp, #n                  ldp x29, x30, [sp], #16
 */

/* Instructions. */
#define PUSH_RECORD 0xa9bf7bfdU /* stp x29, x30, [sp, #-16]! */
#define POP_RECORD  0xa8c17bfdU /* ldp x29, x30, [sp], #16 */
#define RETURN      0xd65f03c0U

/*
 * Instructions before the pc that are compared. After a frame was removed, at most six follow
 * until the return: they look for a safepoint, and check the return address.
 */
#define CODE_BEFORE 8

/* stp x29, x30, [sp, #...] */
static __always_inline bool stores_record(__u32 instruction)
{
	return (instruction & 0xffc07fff) == 0xa9007bfd;
}

/* ldp x29, x30, [sp, #...] */
static __always_inline bool loads_record(__u32 instruction)
{
	return (instruction & 0xffc07fff) == 0xa9407bfd;
}

/* sub sp, sp, #...; sub sp, sp, register */
static __always_inline bool lowers_sp(__u32 instruction)
{
	return (instruction & 0xff8003ff) == 0xd10003ff || (instruction & 0xffe0ffff) == 0xcb2063ff;
}

/* add sp, sp, #... */
static __always_inline bool raises_sp(__u32 instruction)
{
	return (instruction & 0xff8003ff) == 0x910003ff;
}

/* ret; b */
static __always_inline bool leaves(__u32 instruction)
{
	return instruction == RETURN || instruction >> 26 == 5;
}

/* After a step by a frame record, the stack pointer is only a lower bound. */
static __always_inline bool sp_is_known(const struct sample *sample)
{
	return sample->registers.sp_is_exact;
}

static __always_inline struct java_caller caller_without_frame(const struct sample *sample)
{
	return (struct java_caller){ .cfa = sample->registers.sp, .pc_in_lr = true };
}

/* The frame consists of its record only. */
static __always_inline struct java_caller caller_by_record(const struct sample *sample)
{
	return (struct java_caller){
		.cfa = sample->registers.sp + 16,
		.fp_at = sample->registers.sp,
	};
}

/*
 * The innermost frame of a compiled method may not have been made yet, or may already be removed:
 * compares the code before and at the pc with what the compilers write there. @start: of the code;
 * @complete: offset at which the frame is made. *caller is that of the complete frame.
 */
static __always_inline void find_innermost_caller(struct sample *sample, __u64 start,
						  __u16 complete, struct java_caller *caller)
{
	const __u64 offset = sample->registers.pc - start;
	__u32 code[CODE_BEFORE + 1] = {};

	/* The bytes before the code are not instructions, but such values are very rare there. */
	if (bpf_probe_read_user(code, sizeof(code),
				(void *)(sample->registers.pc - CODE_BEFORE * sizeof(*code))))
		return;
	if (offset >= complete && code[CODE_BEFORE] == POP_RECORD) {
		*caller = caller_by_record(sample);
		return;
	}
	for (int i = CODE_BEFORE - 1; i > 0; i--) {
		if (offset >= complete) {
			if (leaves(code[i]))
				return;
			if (code[i] == POP_RECORD ||
			    (raises_sp(code[i]) && loads_record(code[i - 1]))) {
				*caller = caller_without_frame(sample);
				return;
			}
		} else if (code[i] == PUSH_RECORD) {
			*caller = caller_by_record(sample);
			return;
		} else if (lowers_sp(code[i])) {
			if (i == CODE_BEFORE - 1 && stores_record(code[CODE_BEFORE])) {
				caller->fp_at = 0;
				caller->pc_in_lr = true;
			}
			return;
		}
	}
	if (offset < complete)
		*caller = caller_without_frame(sample);
}

/* Whether the innermost frame consists of its record, and x29 may not point to it yet. */
static __always_inline bool is_at_record(const struct sample *sample)
{
	const __u64 pc = sample->registers.pc;
	__u32 code[2] = {};

	return bpf_probe_read_user(code, sizeof(code), (void *)(pc - sizeof(*code))) == 0 &&
	       (code[0] == PUSH_RECORD || code[1] == POP_RECORD);
}

/*
 * Stubs are written by hand. They have a frame of the blob's size, or a frame record to which x29
 * points; the innermost one may have neither. Its return address is then in the link register. A
 * stub that has called other code has an address in itself there.
 */
static __always_inline void find_caller_of_stub(struct sample *sample, const struct abi_jvm *jvm,
						__u64 blob, bool has_size,
						struct java_caller *caller)
{
	const struct unwind_registers *registers = &sample->registers;
	const __u64 lr = without_signature(registers->lr), fp = registers->fp;
	const struct abi_code_heap *heap;
	bool is_return_address;
	__u64 saved = 0;

	if (!sample->pc_is_exact) {
		if (!has_size || !sp_is_known(sample))
			*caller = caller_by_fp(sample);
		return;
	}
	if (is_at_record(sample)) {
		*caller = caller_by_record(sample);
		return;
	}
	heap = find_heap(jvm, lr);
	is_return_address = heap && find_blob(jvm, heap, lr) != blob;
	if (has_size && (!is_return_address || (read_u64(sample, caller->cfa - 8, &saved) &&
						without_signature(saved) == lr)))
		return;
	if (is_return_address &&
	    (fp & 7 || fp < registers->sp || !read_u64(sample, fp + 8, &saved) ||
	     without_signature(saved) != lr))
		*caller = caller_without_frame(sample);
	else
		*caller = caller_by_fp(sample);
}
