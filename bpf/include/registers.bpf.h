/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * The registers that unwinding starts from, per architecture.
 */

#include "bpf/include/kernel_types.h"

struct unwind_registers {
	__u64 pc;
	__u64 sp;
	__u64 fp; /* rbp, x29 */
};

/* The verifier wants each access as context + constant; volatile keeps the compiler from sharing a moved pointer. */
#define context_read(context, field) (*(volatile __u64 *)&(context)->regs.field)

#if defined(__TARGET_ARCH_x86)

/* Privilege level of the code segment: 3 is user mode. */
#define in_user_mode(context) ((context_read(context, cs) & 3) == 3)

#define registers_from_context(context)                                                        \
	((struct unwind_registers){ context_read(context, ip), context_read(context, sp),      \
				    context_read(context, bp) })

#define registers_from_task(registers)                                                         \
	((struct unwind_registers){ (registers)->ip, (registers)->sp, (registers)->bp })

#elif defined(__TARGET_ARCH_arm64)

/* PSTATE.M[3:0]: 0 is EL0. */
#define in_user_mode(context) ((context_read(context, pstate) & 0xf) == 0)

#define registers_from_context(context)                                                        \
	((struct unwind_registers){ context_read(context, pc), context_read(context, sp),      \
				    context_read(context, regs[29]) })

#define registers_from_task(registers)                                                         \
	((struct unwind_registers){ (registers)->user_regs.pc, (registers)->user_regs.sp,      \
				    (registers)->user_regs.regs[29] })

#else
#error "no registers for this architecture"
#endif
