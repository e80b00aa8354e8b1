/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * One step of a user stack: computes the caller's registers from those of a frame, by the row of
 * the executable's unwind table or by the frame pointer chain (unwind_native.bpf.c).
 */

#include "bpf/include/unwind_rule.bpf.h"
#include "common/frame.h"

/*
 * Copies SAMPLE_WINDOW_WORDS words of the stack into sample->window, beginning with the word that
 * contains @address. Adjacent frames are then read from the window. Copying 512 bytes takes as long
 * as copying 8. Returns 0; 1: only the 8 bytes at @address could be read, and are window[0]; -1:
 * they could not be read either.
 */
static __noinline int read_window(struct sample *sample, __u64 address)
{
	__u64 start = address & ~7ULL;

	if (bpf_probe_read_user(sample->window, sizeof(sample->window), (void *)start) == 0) {
		sample->window_start = start;
		sample->window_bytes = sizeof(sample->window);
		return 0;
	}
	/* The stack, or its resident part, ends inside the window. */
	sample->window_bytes = 0;
	if (bpf_probe_read_user(sample->window, sizeof(__u64), (void *)address) == 0)
		return 1;
	sample->fault_address = address;
	sample->fault_innermost = sample->innermost;
	return -1;
}

static __always_inline bool read_u64(struct sample *sample, __u64 address, __u64 *ret_value)
{
	__u64 offset = address - sample->window_start;

	if (offset + sizeof(__u64) > sample->window_bytes || offset > sizeof(sample->window)) {
		int r = read_window(sample, address);

		if (r < 0)
			return false;
		offset = r == 0 ? address & 7 : 0;
	}
	if (offset & 7) /* rare, because compilers align words on the stack to 8 bytes */
		return bpf_probe_read_user(ret_value, sizeof(*ret_value), (void *)address) == 0;
	*ret_value = sample->window[(offset / sizeof(__u64)) % SAMPLE_WINDOW_WORDS];
	return true;
}

static __always_inline bool cut(struct sample *sample, __u8 reason)
{
	sample->header.cut = reason;
	return true;
}

/*
 * On arm64 a return address may carry a signature (PAC) in the bits between the address and bit 55.
 * Bit 55 is 0 for user memory; the bits above it are tags.
 */
static __always_inline __u64 without_signature(__u64 pc)
{
#if defined(__TARGET_ARCH_arm64)
	return pc & config.user_pc_mask;
#else
	return pc;
#endif
}

enum step {
	STEP_CALLER, /* the registers are now the caller's */
	STEP_END,    /* the stack ended, or was cut with a reason */
};

/*
 * Cuts the stack because a page is not resident. The caller must not have changed the registers:
 * unwind_user_again() continues with them.
 */
static __always_inline enum step stopped_by_page(struct sample *sample)
{
	sample->header.cut = STACK_CUT_READ_FAULT;
	return STEP_END;
}

static __always_inline void lose_rbx(struct unwind_registers *registers)
{
#if defined(__TARGET_ARCH_x86)
	registers->rbx_known = false;
#endif
}

static __always_inline void set_sp(struct unwind_registers *registers, __u64 sp, bool is_exact)
{
	registers->sp = sp;
#if defined(__TARGET_ARCH_arm64)
	registers->sp_is_exact = is_exact;
#endif
}

/*
 * Cuts the stack at a frame without a usable row whose frame pointer or return address is 0. A 0
 * does not prove that the frame is the outermost one, because code without rows often uses the
 * frame pointer register for other values. Only a row proves it: _start and the entry functions of
 * threads and contexts have such rows. If the process is unknown, its rows are unknown too, so the
 * reason is STACK_CUT_UNKNOWN.
 */
static __always_inline enum step stopped_without_row(struct sample *sample)
{
	cut(sample, sample->set ? STACK_CUT_NO_ROW : STACK_CUT_UNKNOWN);
	return STEP_END;
}

/* Steps to the caller by the frame pointer, if it is aligned and not below the stack pointer. */
static __always_inline enum step step_by_frame_pointer(struct sample *sample)
{
	struct unwind_registers *registers = &sample->registers;
	__u64 caller_fp, caller_pc;

	sample->n_by_pointer++;
	if (registers->fp == 0)
		return stopped_without_row(sample);
	if (registers->fp & 7 || registers->fp < registers->sp) {
		cut(sample, STACK_CUT_BAD_FRAME);
		return STEP_END;
	}
	if (!read_u64(sample, registers->fp, &caller_fp) ||
	    !read_u64(sample, registers->fp + 8, &caller_pc))
		return stopped_by_page(sample);
	caller_pc = without_signature(caller_pc);
	if (caller_pc == 0)
		return stopped_without_row(sample);
	set_sp(registers, registers->fp + 16, false);
	registers->pc = caller_pc;
	registers->fp = caller_fp;
	lose_rbx(registers);
	sample->pc_is_exact = false;
	return STEP_CALLER;
}

/* Whether general[@number], read in the innermost frame, is the value in this frame too. */
static __always_inline bool register_is_kept(const struct sample *sample, __u32 number)
{
	if (sample->innermost)
		return true;
	return !sample->registers.general_passed && (REGISTERS_OF_CALLEE >> number & 1);
}

/*
 * Reads a register of this frame. The registers that each step computes are always known. The
 * others are known in the innermost frame, and those of REGISTERS_OF_CALLEE until a signal frame is
 * passed.
 */
static __always_inline bool register_value(struct sample *sample, __u32 number, __u64 *ret_value)
{
	if (number == REGISTER_SP) {
		*ret_value = sample->registers.sp;
		return true;
	}
	if (number == REGISTER_FP) {
		*ret_value = sample->registers.fp;
		return true;
	}
#if defined(__TARGET_ARCH_x86)
	if (number == REGISTER_RBX && sample->registers.rbx_known) {
		*ret_value = sample->registers.rbx;
		return true;
	}
#elif defined(__TARGET_ARCH_arm64)
	if (number == REGISTER_LR && sample->pc_is_exact) {
		*ret_value = sample->registers.lr;
		return true;
	}
#endif
	asm volatile("" : "+r"(number));
	if (number >= N_GENERAL_REGISTERS || !register_is_kept(sample, number))
		return false;
	*ret_value = sample->registers.general[number];
	return true;
}

/*
 * The kernel's signal frame. x86-64: struct rt_sigframe after its return address was popped, so sp
 * points to the ucontext, whose registers begin at offset 40. arm64: struct rt_sigframe at sp: 128
 * bytes of siginfo, then the ucontext, whose sigcontext begins at offset 176 and has fault_address
 * before the registers.
 */
#if defined(__TARGET_ARCH_x86)
#define SIGNAL_FRAME_RBX 128
#define SIGNAL_FRAME_FP  120
#define SIGNAL_FRAME_SP  160
#define SIGNAL_FRAME_PC  168
#else
#define SIGNAL_FRAME_FP (128 + 176 + 8 + 29 * 8)
#define SIGNAL_FRAME_LR (128 + 176 + 8 + 30 * 8)
#define SIGNAL_FRAME_SP (128 + 176 + 8 + 31 * 8)
#define SIGNAL_FRAME_PC (128 + 176 + 8 + 32 * 8)
#endif

static __always_inline enum step step_over_signal(struct sample *sample)
{
	struct unwind_registers *registers = &sample->registers;
	__u64 frame = registers->sp;
	__u64 fp, pc, sp;

	if (!read_u64(sample, frame + SIGNAL_FRAME_FP, &fp) ||
	    !read_u64(sample, frame + SIGNAL_FRAME_PC, &pc) ||
	    !read_u64(sample, frame + SIGNAL_FRAME_SP, &sp))
		return stopped_by_page(sample);
	registers->fp = fp;
	registers->pc = pc;
	set_sp(registers, sp, true);
	registers->general_passed = true;
#if defined(__TARGET_ARCH_x86)
	registers->rbx_known = read_u64(sample, frame + SIGNAL_FRAME_RBX, &registers->rbx);
#elif defined(__TARGET_ARCH_arm64)
	/* Cannot fail: lr is saved between two words that were just read. */
	(void)read_u64(sample, frame + SIGNAL_FRAME_LR, &registers->lr);
#endif
	sample->pc_is_exact = true;
	return registers->pc ? STEP_CALLER : STEP_END;
}

static __always_inline bool compute_cfa_by_sp(const struct unwind_registers *registers,
					      const struct abi_unwind_rule *rule, __u64 *ret_cfa)
{
#if defined(__TARGET_ARCH_arm64)
	if (!registers->sp_is_exact) {
		/*
		 * sp is not exact, so compute the CFA from the frame pointer. It points to the
		 * frame record, whose offset from the CFA is in the row.
		 */
		*ret_cfa = registers->fp - rule->fp_offset;
		return rule->fp == UNWIND_SAVED_CFA;
	}
#endif
	*ret_cfa = registers->sp + rule->cfa_offset;
	return true;
}

/* Returns false if the rule needs a register that is not known here. */
static __always_inline bool compute_cfa(struct sample *sample, const struct abi_unwind_rule *rule,
					__u64 *ret_cfa)
{
	const struct unwind_registers *registers = &sample->registers;
	__u64 base = 0;

	switch (rule->cfa) {
	case UNWIND_CFA_SP:
#if !defined(HEARTH_BPF_KERNEL_5)
	case UNWIND_CFA_CLONE:
#endif
		return compute_cfa_by_sp(registers, rule, ret_cfa);
	case UNWIND_CFA_FP:
	case UNWIND_CFA_OTHER_STACK:
		*ret_cfa = registers->fp + rule->cfa_offset;
		return true;
	case UNWIND_CFA_REGISTER:
		if (!register_value(sample, rule->cfa_register, &base))
			return false;
		*ret_cfa = base + rule->cfa_offset;
		return true;
	case UNWIND_CFA_DEREF_SP:
		base = registers->sp + rule->cfa_offset;
		break;
	case UNWIND_CFA_DEREF_FP:
		base = registers->fp + rule->cfa_offset;
		break;
	case UNWIND_CFA_DEREF_INDEXED:
		if (!register_value(sample, rule->cfa_register, &base) ||
		    !read_u64(sample, registers->sp + rule->cfa_offset + 8 * base, &base))
			return false;
		*ret_cfa = base + 8;
		return true;
	case UNWIND_CFA_PLT:
		*ret_cfa = registers->sp + 8 +
			   ((registers->pc & 15) >= (__u64)rule->cfa_offset ? 8 : 0);
		return true;
	default:
		return false;
	}
	if (!read_u64(sample, base, &base))
		return false;
	*ret_cfa = base + rule->cfa_addend;
	return true;
}

static __always_inline void follow_rbx_by_rule(struct sample *sample,
					       const struct abi_unwind_rule *rule, __u64 cfa)
{
#if defined(__TARGET_ARCH_x86)
	struct unwind_registers *registers = &sample->registers;

	if (rule->rbx_offset == UNWIND_RBX_LOST)
		registers->rbx_known = false;
	else if (rule->rbx_offset != 0)
		registers->rbx_known = read_u64(sample, cfa + rule->rbx_offset, &registers->rbx);
#endif
}

/* The register that holds the return address. */
static __always_inline __u32 return_register(const struct abi_unwind_rule *rule)
{
#if defined(__TARGET_ARCH_arm64)
	if (rule->ra == UNWIND_SAVED_SAME)
		return REGISTER_LR;
#endif
	return (__u32)rule->ra_offset;
}

/*
 * Returns whether this frame is in clone() or clone3(), after the system call returned in the
 * child. The code that such a row covers calls nothing, so only the innermost frame can be there.
 */
static __always_inline bool is_new_thread(const struct sample *sample,
					  const struct abi_unwind_rule *rule)
{
#if defined(HEARTH_BPF_KERNEL_5)
	/*
	 * The verifier of 5.10 checks each of 16 frames separately. With this check, it would reach
	 * its limit of instructions.
	 */
	return false;
#else
	return rule->cfa == UNWIND_CFA_CLONE && sample->registers.general[REGISTER_RESULT] == 0;
#endif
}

/* Steps to the caller by a row of the executable's unwind table. */
static __always_inline enum step step_by_rule(struct sample *sample,
					      const struct abi_unwind_rule *rule)
{
	struct unwind_registers *registers = &sample->registers;
	__u64 caller_fp = registers->fp;
	__u64 caller_pc = 0;
	__u64 cfa;
	bool read = true;

	if (rule->cfa == UNWIND_CFA_END || rule->ra == UNWIND_SAVED_UNDEFINED ||
	    is_new_thread(sample, rule))
		return STEP_END;
	if (rule->cfa == UNWIND_CFA_SIGNAL)
		return step_over_signal(sample);
	if (rule->cfa == UNWIND_CFA_OTHER_STACK && registers->fp == 0)
		return STEP_END;
	if (!compute_cfa(sample, rule, &cfa)) {
		if (rule->cfa == UNWIND_CFA_DEREF_SP || rule->cfa == UNWIND_CFA_DEREF_FP ||
		    rule->cfa == UNWIND_CFA_DEREF_INDEXED)
			return stopped_by_page(sample);
		count(ABI_COUNTER_FRAMES_UNSUPPORTED);
		return step_by_frame_pointer(sample);
	}
	/*
	 * Read the saved frame pointer first. It is below the return address, so that one
	 * read_window() copies both.
	 */
	if (rule->fp == UNWIND_SAVED_CFA)
		read = read_u64(sample, cfa + rule->fp_offset, &caller_fp);
	else if (rule->fp == UNWIND_SAVED_FP_DEREF && registers->fp >= registers->sp &&
		 registers->fp < cfa)
		/*
		 * If the frame pointer does not point into this frame, it has the caller's value
		 * already: in gcc's epilogues, the row changes some instructions after the pop.
		 */
		read = read_u64(sample, registers->fp + rule->fp_offset, &caller_fp);
	else if (rule->fp == UNWIND_SAVED_REGISTER)
		read = register_value(sample, (__u32)rule->fp_offset, &caller_fp);
	if (rule->ra == UNWIND_SAVED_CFA)
		read = read && read_u64(sample, cfa + rule->ra_offset, &caller_pc);
	else if (rule->ra == UNWIND_SAVED_BESIDE_FP)
		read = read && read_u64(sample, cfa + rule->fp_offset + 8, &caller_pc);
	else if (!register_value(sample, return_register(rule), &caller_pc)) {
		count(ABI_COUNTER_FRAMES_UNSUPPORTED);
		return step_by_frame_pointer(sample);
	}
	if (!read)
		return stopped_by_page(sample);
	caller_pc = without_signature(caller_pc);
	/*
	 * The caller's frame must be above this one, otherwise unwinding may loop until the record
	 * is full. Only a leaf function of arm64 has the same CFA as its caller, if it has no
	 * frame.
	 */
	if (!sample->innermost && rule->cfa != UNWIND_CFA_OTHER_STACK &&
	    (cfa < registers->sp || (cfa == registers->sp && !sample->pc_is_exact))) {
		cut(sample, STACK_CUT_BAD_FRAME);
		return STEP_END;
	}
	follow_rbx_by_rule(sample, rule, cfa);
	sample->n_by_table++;
	set_sp(registers, cfa, true);
	registers->fp = caller_fp;
	registers->pc = caller_pc;
	sample->pc_is_exact = false;
	return caller_pc ? STEP_CALLER : STEP_END;
}

#if defined(__TARGET_ARCH_arm64)
#define SIGNAL_TRAMPOLINE 0xd4000001d2801168ULL /* mov x8, #139 (rt_sigreturn); svc #0 */
#endif

/*
 * Steps to the caller without a row. x86-64: by the frame pointer. arm64: by the link register or
 * by the frame pointer.
 *
 * On arm64, the return address is only in the link register while a function has no frame record:
 * in leaf functions, and in other functions before they push and after they pop the record.
 * Procedure linkage tables, the vDSO and generated code have such functions. A function that has
 * made a call has an old value in the link register: the address after that call, which lies in the
 * function itself. Such a function has a frame record. Therefore the link register is not used if
 * it equals the return address in the frame record. If it is not known whether the code has rows
 * (@rows_are_known is false: the code is in no file, or its rows are not resident), a link register
 * that points into the same mapping is not used either, because its value may be an old one.
 *
 * The signal trampoline of the vDSO has no rows since Linux 5.8. It is recognized by its
 * instructions.
 */
static __always_inline enum step step_without_rule(struct sample *sample, bool rows_are_known)
{
#if defined(__TARGET_ARCH_arm64)
	struct unwind_registers *registers = &sample->registers;
	__u64 lr = without_signature(registers->lr);
	bool is_near = lr >= sample->mapping.start && lr < sample->mapping.end;
	__u64 saved = 0, code = 0;

	if (bpf_probe_read_user(&code, sizeof(code), (void *)registers->pc) == 0 &&
	    code == SIGNAL_TRAMPOLINE)
		return step_over_signal(sample);
	if (sample->pc_is_exact && lr != 0 && (rows_are_known || !is_near)) {
		bool has_record = !(registers->fp & 7) && registers->fp >= registers->sp &&
				  read_u64(sample, registers->fp + 8, &saved) &&
				  without_signature(saved) == lr;

		if (!has_record) {
			sample->n_by_pointer++;
			registers->pc = lr;
			sample->pc_is_exact = false;
			return STEP_CALLER;
		}
	}
#endif
	return step_by_frame_pointer(sample);
}

/*
 * Counts a frame whose rows are not resident. Stores the address of the first such frame, whose
 * rows the agent then loads. The addresses of later ones may be wrong, because they were found by a
 * frame pointer that may have any value.
 */
static __always_inline void note_missing(struct sample *sample, __u64 elf_addr)
{
	if (sample->n_missing++ == 0) {
		sample->missing_executable = sample->mapping.executable;
		sample->missing_address = elf_addr;
	}
}

/*
 * Replaces sample->registers by the caller's. @pc: the address by which the mapping was found;
 * after a call, the byte before the return address.
 */
static __always_inline enum step step_to_caller(struct sample *sample, __u64 pc, bool mapped)
{
	struct abi_unwind_rule rule;
	enum rule_found found;

	if (!mapped || sample->mapping.executable == 0 || sample->mapping.kind != FRAME_NATIVE)
		return step_without_rule(sample, false);
	found = find_rule(sample, sample->mapping.executable, pc - sample->mapping.bias, &rule);
	if (found == RULE_MISSING)
		note_missing(sample, pc - sample->mapping.bias);
	if (found != RULE_FOUND || rule.cfa == UNWIND_CFA_NONE)
		return step_without_rule(sample, found != RULE_MISSING);
	if (rule.cfa == UNWIND_CFA_UNSUPPORTED) {
		count(ABI_COUNTER_FRAMES_UNSUPPORTED);
		return step_by_frame_pointer(sample);
	}
	return step_by_rule(sample, &rule);
}
