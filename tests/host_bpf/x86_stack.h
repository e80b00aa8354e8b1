/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An invented process of x86-64 (made_up_stack.h) with one function for each kind of rule that the
 * tests use. rbp is register 6, rsp is 7.
 */

#include "tests/host_bpf/made_up_stack.h"

#define RAX 0
#define RBX 3
#define RBP 6
#define RSP 7

enum function {
	PLAIN,       /* CFA = rsp + 16 */
	WITH_FP,     /* CFA = rbp + 16, rbp saved */
	OUTERMOST,   /* return address undefined */
	UNEXPRESSED, /* an unsupported expression */
	BY_R15,      /* CFA = r15 + 8 */
	REALIGNED,   /* CFA = *(rbp - 8), rbp saved at rbp */
	BY_RBX,      /* CFA = rbx + 8, as in the dynamic linker's entry */
	KEEPS_RBX,   /* CFA = rsp + 16, rbx untouched */
	SAVES_RBX,   /* CFA = rsp + 24, rbx saved */
	/* an epilogue: CFA = r10; rbp has been popped, but the row describes it as saved at rbp */
	EPILOGUE,
	CLONES, /* after the system call clone(), which returns twice */
	N_FUNCTIONS
};

static const struct abi_unwind_rule rules[N_FUNCTIONS] = {
	[PLAIN] = { .cfa = UNWIND_CFA_SP,
		    .cfa_offset = 16,
		    .ra = UNWIND_SAVED_CFA,
		    .ra_offset = -8,
		    .rbx_offset = UNWIND_RBX_LOST },
	[WITH_FP] = { .cfa = UNWIND_CFA_FP,
		      .cfa_offset = 16,
		      .ra = UNWIND_SAVED_CFA,
		      .ra_offset = -8,
		      .fp = UNWIND_SAVED_CFA,
		      .fp_offset = -16,
		      .rbx_offset = UNWIND_RBX_LOST },
	[OUTERMOST] = { .cfa = UNWIND_CFA_END },
	[UNEXPRESSED] = { .cfa = UNWIND_CFA_UNSUPPORTED },
	[BY_R15] = { .cfa = UNWIND_CFA_REGISTER,
		     .cfa_register = 15,
		     .cfa_offset = 8,
		     .ra = UNWIND_SAVED_CFA,
		     .ra_offset = -8,
		     .rbx_offset = UNWIND_RBX_LOST },
	[BY_RBX] = { .cfa = UNWIND_CFA_REGISTER,
		     .cfa_register = RBX,
		     .cfa_offset = 8,
		     .ra = UNWIND_SAVED_CFA,
		     .ra_offset = -8,
		     .rbx_offset = -16 },
	[KEEPS_RBX] = { .cfa = UNWIND_CFA_SP,
			.cfa_offset = 16,
			.ra = UNWIND_SAVED_CFA,
			.ra_offset = -8 },
	[SAVES_RBX] = { .cfa = UNWIND_CFA_SP,
			.cfa_offset = 24,
			.ra = UNWIND_SAVED_CFA,
			.ra_offset = -8,
			.rbx_offset = -24 },
	[CLONES] = { .cfa = UNWIND_CFA_CLONE,
		     .cfa_offset = 8,
		     .ra = UNWIND_SAVED_CFA,
		     .ra_offset = -8 },
	[REALIGNED] = { .cfa = UNWIND_CFA_DEREF_FP,
			.cfa_offset = -8,
			.ra = UNWIND_SAVED_CFA,
			.ra_offset = -8,
			.fp = UNWIND_SAVED_FP_DEREF,
			.rbx_offset = UNWIND_RBX_LOST },
	[EPILOGUE] = { .cfa = UNWIND_CFA_REGISTER,
		       .cfa_register = 10,
		       .ra = UNWIND_SAVED_CFA,
		       .ra_offset = -8,
		       .fp = UNWIND_SAVED_FP_DEREF,
		       .rbx_offset = UNWIND_RBX_LOST },
};

static inline int setup(void **state)
{
	*state = made_up_new(rules, N_FUNCTIONS);
	return 0;
}

static inline int teardown(void **state)
{
	made_up_free(*state);
	return 0;
}

static inline void begin(struct made_up *process, uint64_t pc, unsigned int sp_word, uint64_t fp)
{
	process->input.registers.pc = pc;
	process->input.registers.general[RSP] = at_word(sp_word);
	process->input.registers.general[RBP] = fp;
}

static inline void run(struct made_up *process)
{
	host_unwind_x86(&process->input, &process->output);
}

/* Writes frame pointer and return address, like "push %rbp". */
static inline void link_frame(struct made_up *process, unsigned int word, uint64_t caller_fp,
			      uint64_t return_address)
{
	process->words[word] = caller_fp;
	process->words[word + 1] = return_address;
}

#define with_process(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
