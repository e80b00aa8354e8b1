/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * The registers that unwinding uses, per architecture. In the innermost frame all of them are
 * known. Each step to a caller computes only the caller's pc, sp and fp, and one more register
 * (rbx or lr).
 */

#include "bpf/include/task.bpf.h"

/*
 * The verifier accepts an access to the context only at a constant offset. `volatile` prevents the
 * compiler from computing an address inside the context once and using it for several accesses.
 */
#define context_read(context, field) (*(volatile __u64 *)&(context)->regs.field)

#if defined(__TARGET_ARCH_x86)

/* DWARF numbers (psABI x86-64 figure 3.36): rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 */
#define N_GENERAL_REGISTERS 16
#define REGISTER_RESULT     0
#define REGISTER_RBX        3
#define REGISTER_FP         6
#define REGISTER_SP         7

/*
 * Registers that a callee may change: rax rcx rdx rsi rdi r8 ... r11. Compilers never compute the
 * CFA of a frame with a callee from them. Hand-written call frame information (OpenSSL's AES-GCM)
 * does, where the callees are known not to change the register. The value in the innermost frame is
 * then the right one.
 */
#define REGISTERS_OF_CALLEE 0x0f37

/* Privilege level of the code segment: 3 is user mode. */
#define in_user_mode(context) ((context_read(context, cs) & 3) == 3)

/*
 * In 32-bit mode, cs is __USER32_CS (arch/x86/include/asm/segment.h). The format of the program
 * does not show the mode: a 64-bit program can switch to 32-bit code.
 */
#define context_is_32_bit(context)           (context_read(context, cs) == 0x23)
#define task_registers_are_32_bit(registers) (kernel_read(registers, cs) == 0x23)

/* clang-format off */
#define FOR_EACH_GENERAL_REGISTER(X)                                                           \
	X(0, ax) X(1, dx) X(2, cx) X(3, bx) X(4, si) X(5, di) X(6, bp) X(7, sp)                \
	X(8, r8) X(9, r9) X(10, r10) X(11, r11) X(12, r12) X(13, r13) X(14, r14) X(15, r15)
/* clang-format on */

#define registers_pc_field ip

#define task_registers_pc(registers) kernel_read(registers, ip)
#define task_registers_sp(registers) kernel_read(registers, sp)

/* execve and execveat of 64-bit programs (arch/x86/entry/syscalls/syscall_64.tbl). */
#define task_registers_in_exec(registers)                                                          \
	(kernel_read(registers, orig_ax) == 59 || kernel_read(registers, orig_ax) == 322)

#elif defined(__TARGET_ARCH_arm64)

/* DWARF numbers (AADWARF64 §4.1): x0 ... x30, sp */
#define N_GENERAL_REGISTERS                  32
#define REGISTER_RESULT                      0
#define REGISTER_FP                          29
#define REGISTER_LR                          30
#define REGISTER_SP                          31
#define REGISTERS_OF_CALLEE                  0

/* PSTATE.M[3:0]: 0 is EL0. */
#define in_user_mode(context)                ((context_read(context, pstate) & 0xf) == 0)

/* PSTATE.M[4]: AArch32. */
#define context_is_32_bit(context)           (context_read(context, pstate) >> 4 & 1)
#define task_registers_are_32_bit(registers) (kernel_read(registers, user_regs.pstate) >> 4 & 1)

/* clang-format off */
#define FOR_EACH_GENERAL_REGISTER(X)                                                           \
	X(0, regs[0]) X(1, regs[1]) X(2, regs[2]) X(3, regs[3]) X(4, regs[4]) X(5, regs[5])    \
	X(6, regs[6]) X(7, regs[7]) X(8, regs[8]) X(9, regs[9]) X(10, regs[10])                \
	X(11, regs[11]) X(12, regs[12]) X(13, regs[13]) X(14, regs[14]) X(15, regs[15])        \
	X(16, regs[16]) X(17, regs[17]) X(18, regs[18]) X(19, regs[19]) X(20, regs[20])        \
	X(21, regs[21]) X(22, regs[22]) X(23, regs[23]) X(24, regs[24]) X(25, regs[25])        \
	X(26, regs[26]) X(27, regs[27]) X(28, regs[28]) X(29, regs[29]) X(30, regs[30]) X(31, sp)
/* clang-format on */

#define registers_pc_field pc

#define task_registers_pc(registers) kernel_read(registers, user_regs.pc)
#define task_registers_sp(registers) kernel_read(registers, user_regs.sp)

/* execve and execveat (include/uapi/asm-generic/unistd.h). */
#define task_registers_in_exec(registers)                                                          \
	(kernel_read(registers, syscallno) == 221 || kernel_read(registers, syscallno) == 281)

#else
#error "no registers for this architecture"
#endif

struct unwind_registers {
	__u64 pc;
	__u64 sp;
	__u64 fp; /* rbp, x29 */
#if defined(__TARGET_ARCH_x86)
	__u64 rbx;
	/*
	 * false after a step that could not compute rbx; unwind tables store how to compute it only
	 * for executables in which a CFA depends on rbx
	 */
	bool rbx_known;
#elif defined(__TARGET_ARCH_arm64)
	/* valid only in the innermost frame, and in a frame that a signal interrupted */
	__u64 lr;
	/*
	 * false after a step by a frame record: the record may be anywhere in its frame, so sp is
	 * only a lower bound
	 */
	bool sp_is_exact;
#endif
	/* pc of the innermost frame; 0: its registers could not be read */
	__u64 entry_pc;
	__u64 general[N_GENERAL_REGISTERS]; /* of the innermost frame, by DWARF number */
	bool is_32_bit; /* the innermost frame runs 32-bit code; its callers are not unwound */
	/*
	 * unwinding has passed a signal frame: general[] has registers of the signal handler, not
	 * of the code that the signal interrupted
	 */
	bool general_passed;
};

/* Sets the register that each step computes in addition to pc, sp and fp. */
static __always_inline void follow_register(struct unwind_registers *registers)
{
#if defined(__TARGET_ARCH_x86)
	registers->rbx = registers->general[REGISTER_RBX];
	registers->rbx_known = true;
#elif defined(__TARGET_ARCH_arm64)
	registers->lr = registers->general[REGISTER_LR];
	registers->sp_is_exact = true;
#endif
}

static __always_inline void registers_from_context(struct unwind_registers *registers,
						   struct bpf_perf_event_data *context)
{
#define X(number, field) registers->general[number] = context_read(context, field);
	FOR_EACH_GENERAL_REGISTER(X)
#undef X
	registers->pc = context_read(context, registers_pc_field);
	registers->entry_pc = registers->pc;
	registers->sp = registers->general[REGISTER_SP];
	registers->fp = registers->general[REGISTER_FP];
	registers->is_32_bit = context_is_32_bit(context);
	registers->general_passed = false;
	follow_register(registers);
}

static __always_inline void registers_from_task(struct unwind_registers *registers,
						struct pt_regs *task_registers)
{
#if defined(__TARGET_ARCH_arm64)
	struct user_pt_regs *from = &task_registers->user_regs;
#else
	struct pt_regs *from = task_registers;
#endif

#define X(number, field) registers->general[number] = kernel_read(from, field);
	FOR_EACH_GENERAL_REGISTER(X)
#undef X
	registers->pc = kernel_read(from, registers_pc_field);
	registers->entry_pc = registers->pc;
	registers->sp = registers->general[REGISTER_SP];
	registers->fp = registers->general[REGISTER_FP];
	registers->is_32_bit = task_registers_are_32_bit(task_registers);
	registers->general_passed = false;
	follow_register(registers);
}
