/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A stack of arm64 in an invented process. x29 is the frame pointer, x30 the link register. */

#include "tests/host_bpf/made_up_stack.h"

#define X29 29
#define LR  30
#define SP  31

#define SIGNATURE UINT64_C(0x005a000000000000)

enum function {
	WITH_FP, /* CFA = x29 + 16, frame record at x29 */
	OUTERMOST,
	N_FUNCTIONS
};

static const struct abi_unwind_rule rules[N_FUNCTIONS] = {
	[WITH_FP] = { .cfa = UNWIND_CFA_FP,
		      .cfa_offset = 16,
		      .fp = UNWIND_SAVED_CFA,
		      .fp_offset = -16,
		      .ra = UNWIND_SAVED_CFA,
		      .ra_offset = -8,
		      .rbx_offset = UNWIND_RBX_LOST },
	[OUTERMOST] = { .cfa = UNWIND_CFA_END },
};

static inline void begin(struct made_up *process, uint64_t pc, unsigned int sp_word, uint64_t fp)
{
	process->input.registers.pc = pc;
	process->input.registers.general[SP] = at_word(sp_word);
	process->input.registers.general[X29] = fp;
}

static inline void run(struct made_up *process)
{
	process->config.user_pc_mask = (UINT64_C(1) << 48) - 1;
	host_unwind_arm64(&process->input, &process->output);
}

/* Writes a frame record. */
static inline void link_frame(struct made_up *process, unsigned int word, uint64_t caller_fp,
			      uint64_t return_address)
{
	process->words[word] = caller_fp;
	process->words[word + 1] = return_address;
}
