/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Callers of the innermost frame in code that a HotSpot JVM generates for x86-64. Part of
 * java_walk.bpf.h, which includes it.
 */

/* The stack pointer of a frame is exact. */
static __always_inline bool sp_is_known(const struct sample *sample)
{
	return true;
}

/* The caller of a frame that has not been made: its return address is on the stack. */
static __always_inline struct java_caller caller_without_frame(const struct sample *sample)
{
	return (struct java_caller){ .cfa = sample->registers.sp + 8 };
}

/*
 * The innermost frame of a compiled method may not have been made yet, or may already be removed:
 * compares the code before and at the pc with what the compilers write there.
 */
static __always_inline void find_innermost_caller(struct sample *sample, __u64 start,
						  __u16 complete, struct java_caller *caller)
{
	__u64 pc = sample->registers.pc, sp = sample->registers.sp;
	__u64 before = 0, code[2] = {};

	(void)bpf_probe_read_user(&before, sizeof(before), (void *)(pc - 8));
	(void)bpf_probe_read_user(code, sizeof(code), (void *)pc);
	if (pc < start + complete) {
		bool has_space = (before >> 32 & 0xffffff) == 0xec8348 || /* sub rsp, 8 bits */
				 (before >> 8 & 0xffffff) == 0xec8148;    /* sub rsp, 32 bits */
		bool saves_fp = (code[0] & 0xffffffff) == 0x246c8948 || /* mov [rsp+8 bits], rbp */
				(code[0] & 0xffffffff) == 0x24ac8948;   /* 32 bits */
		bool has_fp = before >> 56 == 0x55 ||                   /* push rbp */
			      (before >> 32) == 0xec8b4855 ||           /* push rbp; mov rbp, rsp */
			      (before >> 32) == 0xe5894855;

		if (saves_fp) {
			caller->fp_at = 0;
		} else if (has_fp) {
			caller->cfa = sp + 16;
			caller->fp_at = sp;
		} else if (!has_space) {
			caller->cfa = sp + 8;
			caller->fp_at = 0;
		}
		return;
	}
	if ((code[0] & 0xff) == 0x5d) { /* pop rbp */
		caller->cfa = sp + 16;
		caller->fp_at = sp;
	} else if ((code[0] & 0xff) == 0xc3 ||         /* ret */
		   (code[0] & 0xffffff) == 0xa73b49 || /* cmp rsp, [r15+...] */
		   ((code[0] & 0xffff) == 0x870f && (code[0] >> 48 & 0xff) == 0xc3) || /* ja; ret */
		   (code[0] & 0xffffffff) == 0xc3028541 || /* test eax, [r10]; ret */
		   ((code[0] & 0xffff) == 0x0585 && (code[0] >> 48 & 0xff) == 0xc3) ||
		   ((code[0] & 0xffffff) == 0x978b4d && code[0] >> 56 == 0x41 &&
		    (code[1] & 0xffffff) == 0xc30285)) { /* mov r10, [r15+...]; test; ret */
		caller->cfa = sp + 8;
		caller->fp_at = 0;
	}
}

/* Whether the word below @cfa is a return address in generated code. */
static __always_inline bool returns_to_java(struct sample *sample, const struct abi_jvm *jvm,
					    __u64 cfa)
{
	__u64 pc = 0;

	return read_u64(sample, cfa - 8, &pc) && find_heap(jvm, pc);
}

/*
 * Stubs are written by hand. They have a frame of the blob's size, or a frame pointer; the
 * innermost one may have neither, or may just have pushed the frame pointer.
 */
static __always_inline void find_caller_of_stub(struct sample *sample, const struct abi_jvm *jvm,
						__u64 blob, bool has_size,
						struct java_caller *caller)
{
	__u64 sp = sample->registers.sp;

	if (!sample->pc_is_exact && has_size)
		return;
	if (sample->pc_is_exact) {
		if (has_size && returns_to_java(sample, jvm, caller->cfa))
			return;
		if (returns_to_java(sample, jvm, sp + 8)) {
			*caller = (struct java_caller){ .cfa = sp + 8 };
			return;
		}
		if (returns_to_java(sample, jvm, sp + 16)) {
			*caller = (struct java_caller){ .cfa = sp + 16, .fp_at = sp };
			return;
		}
	}
	*caller = caller_by_fp(sample);
}
