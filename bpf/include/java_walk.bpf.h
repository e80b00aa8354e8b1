/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Steps over the frames of code that a HotSpot JVM generates (bpf/abi/jvm.h). This code has no
 * unwind rows, and compiled methods keep no frame pointer, but the JVM knows the sizes of their
 * frames.
 *
 * java_step() handles one frame. It reads at most JAVA_MAX_HOPS bytes of two segment maps and some
 * words, whatever the process has written there, and the frames of a stack must rise.
 *
 * The frames of x86-64 and arm64 end with the same two words, the caller's frame pointer and the
 * return address. What differs is how a frame is made and removed, and where the return address is
 * meanwhile (java_caller_x86.bpf.h, java_caller_arm64.bpf.h).
 */

#include "bpf/abi/jvm.h"
#include "bpf/include/unwind_step.bpf.h"

/*
 * Steps back in a segment map: each passes up to 254 segments of 128 bytes, so that code of 512 KiB
 * is found. The interpreter, which may be larger, is known by its range.
 */
#define JAVA_MAX_HOPS 16

#define SEGMENT_FREE 0xff

/* The first bytes of the names of blobs, as a number. */
#define NAME_NMETHOD        0x00646f6874656d6eULL /* "nmethod" */
#define NAME_NATIVE_NMETHOD 0x6e2065766974616eULL /* "native n" */

/*
 * The frame of an interpreted method: offsets from the frame pointer, the same in JDK 8 to 25.
 * HotSpot compiles them into its interpreter and exports only the first.
 */
#define INTERPRETED_SENDER_SP (-8)
#define INTERPRETED_METHOD    (-24)

/* The register in which the innermost interpreted frame has its position. */
#if defined(__TARGET_ARCH_x86)
#define REGISTER_BYTE_CODE 13
#else
#define REGISTER_BYTE_CODE 22
#endif

/* The byte code of a method has at most this size (JVM specification, 4.7.3). */
#define MAX_BYTE_CODE 65536

/* An interpreted frame is not larger: locals and operands are at most 65535 words each. */
#define MAX_INTERPRETED_BYTES (2 * 65536 * 8 + 4096)

/* The compiler's limit for frames is 1 MiB. */
#define MAX_FRAME_WORDS (1U << 17)

enum java_step {
	JAVA_STEP_NONE, /* the pc is not in generated code */
	JAVA_STEP_CALLER,
	JAVA_STEP_END, /* the stack was cut */
};

/* The entry of the sampled image of the process, or NULL. Remembers that there is none. */
static __always_inline const struct abi_jvm *find_jvm(struct sample *sample)
{
	__u32 pid = sample->header.pid;
	const struct abi_jvm *jvm;

	if (sample->is_without_jvm)
		return NULL;
	jvm = bpf_map_lookup_elem(&jvms, &pid);
	if (jvm && jvm->n_execs == sample->header.exec_count / ABI_EXEC_STEP &&
	    jvm->start_time_10ms == sample->header.start_time_ns / ABI_START_TIME_TICK_NS)
		return jvm;
	sample->is_without_jvm = true;
	return NULL;
}

/* The heap that contains @pc, or NULL. */
static __always_inline const struct abi_code_heap *find_heap(const struct abi_jvm *jvm, __u64 pc)
{
	const struct abi_code_heap *found = NULL;

#pragma unroll
	for (int i = 0; i < ABI_MAX_CODE_HEAPS; i++)
		if (pc >= jvm->heaps[i].low && pc < jvm->heaps[i].high)
			found = &jvm->heaps[i];
	return found;
}

/* The address of the blob that contains @pc, 0 if it is free or cannot be read. */
static __always_inline __u64 find_blob(const struct abi_jvm *jvm, const struct abi_code_heap *heap,
				       __u64 pc)
{
	__u32 shift = heap->segment_shift & 31;
	__u64 segment = (pc - heap->low) >> shift;
	__u8 tag = SEGMENT_FREE;

	for (int i = 0; i < JAVA_MAX_HOPS; i++) {
		if (bpf_probe_read_user(&tag, sizeof(tag), (void *)(heap->segment_map + segment)) ||
		    tag == SEGMENT_FREE)
			return 0;
		if (tag == 0)
			return heap->low + (segment << shift) + jvm->layout.heap_block_bytes;
		segment -= tag;
	}
	return 0;
}

/* The words of the blob in sample->blob. */
static __always_inline __u64 blob_word(const struct sample *sample, __u16 offset)
{
	__u32 index = offset / sizeof(__u64);

	asm volatile("" : "+r"(index));
	return sample->blob[index % (ABI_CODE_BLOB_BYTES / sizeof(__u64))];
}

static __always_inline __u32 blob_half(const struct sample *sample, __u16 offset)
{
	return (__u32)(blob_word(sample, offset) >> (offset % sizeof(__u64) * 8));
}

/* The address at @offset in the blob at @blob, which may be stored as an offset from the blob. */
static __always_inline __u64 blob_place(const struct sample *sample, const struct abi_jvm *jvm,
					__u64 blob, __u16 offset)
{
	return jvm->layout.places_are_relative ? blob + blob_half(sample, offset)
					       : blob_word(sample, offset);
}

/* Of 32 bits, but only 16 in JDK 23 and later; a frame is made in the first instructions. */
static __always_inline __u16 blob_frame_complete(const struct sample *sample,
						 const struct abi_jvm *jvm)
{
	return (__u16)blob_half(sample, jvm->layout.blob_frame_complete);
}

/* Where a frame's caller is: its stack pointer, and where this frame has saved the registers. */
struct java_caller {
	__u64 cfa;     /* the return address is below it, unless pc_at or pc_in_lr is set */
	__u64 fp_at;   /* address of the saved frame pointer; 0: it was not changed */
	__u64 pc_at;   /* 0: cfa - 8 */
	bool pc_in_lr; /* arm64: the return address is in the link register */
};

/* Whether the caller's frame is above this one. A frame of arm64 that is not made has no bytes. */
static __always_inline bool caller_is_above(const struct sample *sample,
					    const struct java_caller *caller)
{
	__u64 sp = sample->registers.sp;

	return caller->cfa > sp || (caller->pc_in_lr && caller->cfa == sp);
}

static __always_inline bool read_return_address(struct sample *sample,
						const struct java_caller *caller, __u64 *ret_pc)
{
#if defined(__TARGET_ARCH_arm64)
	if (caller->pc_in_lr) {
		*ret_pc = without_signature(sample->registers.lr);
		return true;
	}
#endif
	if (!read_u64(sample, caller->pc_at ? caller->pc_at : caller->cfa - 8, ret_pc))
		return false;
	*ret_pc = without_signature(*ret_pc);
	return true;
}

static __always_inline enum java_step go_to_caller(struct sample *sample,
						   const struct java_caller *caller)
{
	struct unwind_registers *registers = &sample->registers;
	__u64 fp = registers->fp, pc = 0;

	if (!caller_is_above(sample, caller) || caller->cfa & 7) {
		cut(sample, STACK_CUT_BAD_FRAME);
		return JAVA_STEP_END;
	}
	if ((caller->fp_at && !read_u64(sample, caller->fp_at, &fp)) ||
	    !read_return_address(sample, caller, &pc)) {
		stopped_by_page(sample);
		return JAVA_STEP_END;
	}
	if (pc == 0) {
		cut(sample, STACK_CUT_BAD_FRAME);
		return JAVA_STEP_END;
	}
	set_sp(registers, caller->cfa, true);
	registers->fp = fp;
	registers->pc = pc;
	registers->general_passed = true;
	lose_rbx(registers);
	sample->pc_is_exact = false;
	sample->innermost = false;
	return JAVA_STEP_CALLER;
}

/* Like go_to_caller(), if this step has added no frame. */
static __always_inline enum java_step skip_to_caller(struct sample *sample,
						     const struct java_caller *caller)
{
	enum java_step step = go_to_caller(sample, caller);

	/* unwind_user_again() would remove the frame of the step before. */
	if (step == JAVA_STEP_END)
		sample->fault_address = 0;
	return step;
}

/* False: the record is full, and the stack is cut. */
static __always_inline bool add_java_frame(struct sample *sample, __u64 address, __u64 position)
{
	sample->header.more_flags |= ABI_SAMPLE_BYTE_CODE;
	sample->n_java_frames++;
	if (add_user_frame(sample, FRAME_HOTSPOT, (__u32)position & MAX_POSITION, address))
		return true;
	cut(sample, STACK_CUT_DEPTH);
	return false;
}

/*
 * Sets *ret_position to the index of the byte code in the method of the frame. Returns false if the
 * frame has no method.
 */
static __always_inline bool find_position(struct sample *sample, const struct abi_jvm *jvm,
					  __u64 method, __u64 *ret_position)
{
	const struct unwind_registers *registers = &sample->registers;
	__u64 code = 0, saved = 0;

	if (method == 0 || method & 7 ||
	    bpf_probe_read_user(&code, sizeof(code), (void *)(method + jvm->layout.method_const)) ||
	    code == 0 || code & 7)
		return false;
	code += jvm->layout.const_method_bytes;
	*ret_position = 0;
	if (sample->innermost && registers->general[REGISTER_BYTE_CODE] - code < MAX_BYTE_CODE) {
		*ret_position = registers->general[REGISTER_BYTE_CODE] - code;
		return true;
	}
	if (!read_u64(sample, registers->fp - jvm->layout.byte_code_below_fp, &saved))
		return false;
	/* The frame of a native method has no position. */
	if (saved - code < MAX_BYTE_CODE)
		*ret_position = saved - code;
	return saved == 0 || saved - code < MAX_BYTE_CODE;
}

/* The caller of a frame whose frame pointer points to the two saved words. */
static __always_inline struct java_caller caller_by_fp(const struct sample *sample)
{
	return (struct java_caller){
		.cfa = sample->registers.fp + 16,
		.fp_at = sample->registers.fp,
	};
}

#if defined(__TARGET_ARCH_x86)
#include "bpf/include/java_caller_x86.bpf.h"
#else
#include "bpf/include/java_caller_arm64.bpf.h"
#endif

/* The interpreter has not yet made a frame, or has removed it. */
static __always_inline enum java_step step_without_frame(struct sample *sample)
{
	const struct java_caller caller = caller_without_frame(sample);

	return skip_to_caller(sample, &caller);
}

static __always_inline enum java_step step_interpreted(struct sample *sample,
						       const struct abi_jvm *jvm)
{
	struct unwind_registers *registers = &sample->registers;
	__u64 fp = registers->fp, method = 0, position = 0, sender_sp = 0;
	struct java_caller caller = { .cfa = fp + 16, .fp_at = fp, .pc_at = fp + 8 };

	if (fp & 7 || fp < registers->sp || fp - registers->sp > MAX_INTERPRETED_BYTES ||
	    !read_u64(sample, fp + INTERPRETED_METHOD, &method) ||
	    !find_position(sample, jvm, method, &position)) {
		if (sample->pc_is_exact)
			return step_without_frame(sample);
		cut(sample, STACK_CUT_BAD_FRAME);
		return JAVA_STEP_END;
	}
	if (!add_java_frame(sample, method, position))
		return JAVA_STEP_END;
	/* A compiled caller does not count the arguments that were copied for this frame. */
	if (read_u64(sample, fp + INTERPRETED_SENDER_SP, &sender_sp) && sender_sp > fp + 8 &&
	    sender_sp - fp < MAX_INTERPRETED_BYTES)
		caller.cfa = sender_sp;
	return go_to_caller(sample, &caller);
}

/* sample->blob is the blob at @blob. */
static __always_inline enum java_step step_blob(struct sample *sample, const struct abi_jvm *jvm,
						__u64 blob)
{
	const struct abi_hotspot_layout *layout = &jvm->layout;
	struct unwind_registers *registers = &sample->registers;
	__u64 code = blob_place(sample, jvm, blob, layout->blob_code), pc = registers->pc;
	__u32 words = blob_half(sample, layout->blob_frame_size);
	__u64 name = 0;
	struct java_caller caller = { .cfa = registers->sp + 8ULL * words };
	bool is_compiled;

	(void)bpf_probe_read_user(&name, sizeof(name),
				  (void *)blob_word(sample, layout->blob_name));
	is_compiled = name == NAME_NMETHOD || name == NAME_NATIVE_NMETHOD;
	caller.fp_at = caller.cfa - 16;
	if (words > MAX_FRAME_WORDS)
		words = 0;
	if (is_compiled && words < 2) {
		cut(sample, STACK_CUT_BAD_FRAME);
		return JAVA_STEP_END;
	}
	if (is_compiled && pc == blob_place(sample, jvm, blob, layout->nmethod_deopt)) {
		__u32 at = 0;

		if (bpf_probe_read_user(&at, sizeof(at),
					(void *)(blob + layout->nmethod_orig_pc)) == 0)
			(void)read_u64(sample, registers->sp + at, &pc);
	}
	if (!add_java_frame(sample, blob | (is_compiled ? ABI_HOTSPOT_COMPILED : ABI_HOTSPOT_STUB),
			    is_compiled ? pc - code : 0))
		return JAVA_STEP_END;
	if (!is_compiled)
		find_caller_of_stub(sample, jvm, blob, words >= 2, &caller);
	else if (sample->pc_is_exact)
		find_innermost_caller(sample, code, blob_frame_complete(sample, jvm), &caller);
	else if (!sp_is_known(sample))
		caller = caller_by_fp(sample);
	return go_to_caller(sample, &caller);
}

/*
 * If the frame is in generated code of a JVM, adds it and goes to its caller. The verifier checks
 * this function once by itself, and not in each state in which the walk calls it.
 */
__verified_alone int java_step(struct sample *sample);
__verified_alone int java_step(struct sample *sample)
{
	const struct abi_code_heap *heap;
	const struct abi_jvm *jvm;
	__u64 blob, pc;

	if (!sample)
		return JAVA_STEP_NONE;
	jvm = find_jvm(sample);
	if (!jvm)
		return JAVA_STEP_NONE;
	pc = sample->registers.pc;
	if (pc == jvm->call_stub_return) {
		const struct java_caller caller = caller_by_fp(sample);

		return skip_to_caller(sample, &caller);
	}
	if (pc >= jvm->interpreter.start && pc < jvm->interpreter.end)
		return step_interpreted(sample, jvm);
	heap = find_heap(jvm, pc);
	if (!heap)
		return JAVA_STEP_NONE;
	blob = find_blob(jvm, heap, pc);
	if (blob == 0 || bpf_probe_read_user(sample->blob, sizeof(sample->blob), (void *)blob)) {
		count(ABI_COUNTER_JAVA_UNREADABLE);
		return JAVA_STEP_NONE;
	}
	return step_blob(sample, jvm, blob);
}
