/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Finds the caller of code that YJIT, the compiler of CRuby, has generated. The code has no unwind
 * rows, and keeps no frame pointer unless Ruby was started with --yjit-perf.
 *
 * C code of CRuby calls it by a pointer. The entry pushes three registers. Methods do not call each
 * other: they jump, and their return addresses are in the control frames. Around calls of functions
 * in C the code pushes a few more registers. It changes the stack pointer in no other way
 * (codegen.rs of 3.2 to 3.4, yjit_codegen.c of 3.1). So all words between the stack pointer and the
 * return address were pushed since the entry, and the return address is the first word that points
 * behind a call.
 *
 * Code that others generate in a process of Ruby is in no file either. It is told apart by the
 * first return address, which is then not behind a call by a pointer in CRuby.
 */

#include "bpf/include/interpreter.bpf.h"
#include "bpf/include/unwind_step.bpf.h"

/*
 * The entry pushes 3 words, 5 with --yjit-perf. Calls of functions in C push up to 6 registers with
 * operands and 2 others, and calls that count events 10.
 */
#define YJIT_MAX_WORDS 24

/* Bytes before a return address that are compared with call instructions. */
#define CALL_BYTES 8

enum call_kind {
	CALL_NONE,
	CALL_DIRECT,
	CALL_BY_POINTER,
};

struct yjit_search {
	struct sample *sample;
	__u64 at; /* address of the next word */
	__u64 return_pc;
	enum call_kind kind; /* of the call before return_pc */
};

/* The index of the process's CRuby, 0 if it has none. */
static __always_inline __u32 ruby_of(const struct sample *sample)
{
	return sample->process_flags >> ABI_PROCESS_RUBY_SHIFT;
}

/* The call instruction that ends with the byte before @pc (Intel SDM, volume 2, CALL). */
static __always_inline enum call_kind call_before(__u64 pc)
{
	__u8 code[CALL_BYTES] = {};

	if (bpf_probe_read_user(code, sizeof(code), (void *)(pc - CALL_BYTES)))
		return CALL_NONE;
	if (code[6] == 0xff && (code[7] & 0xf8) == 0xd0) /* a register */
		return CALL_BY_POINTER;
	/* Memory: opcode, ModRM with the operation 2, a displacement of 8 or of 32 bits. */
	if ((code[5] == 0xff && (code[6] & 0xf8) == 0x50) ||
	    (code[2] == 0xff && ((code[3] & 0xf8) == 0x90 || code[3] == 0x15)))
		return CALL_BY_POINTER;
	return code[3] == 0xe8 ? CALL_DIRECT : CALL_NONE;
}

/* Looks at the next word. Returns whether the search ended. */
static long look_at_pushed_word(__u64 index, void *argument)
{
	struct yjit_search *search = argument;

	if (!read_u64(search->sample, search->at, &search->return_pc)) {
		/* A page that is not resident is no reason to cut the stack here. */
		search->sample->fault_address = 0;
		return 1;
	}
	search->at += sizeof(__u64);
	search->kind = call_before(search->return_pc);
	if (search->kind == CALL_NONE)
		return 0;
	if (find_mapping(search->sample, search->return_pc - 1) == MAPPING_FOUND)
		return 1;
	search->kind = CALL_NONE; /* data that looks like a call */
	return 0;
}

/* Goes to the caller if the search has found a call by CRuby. */
static __always_inline bool go_to_ruby(struct sample *sample, const struct yjit_search *search)
{
	struct unwind_registers *registers = &sample->registers;
	__u64 caller_fp = registers->fp;

	if (search->kind != CALL_BY_POINTER || sample->mapping.interpreter != ruby_of(sample))
		return false;
	/* With --yjit-perf, the entry has saved the frame pointer first, and points to it. */
	if (caller_fp == search->at - 2 * sizeof(__u64) && !read_u64(sample, caller_fp, &caller_fp))
		return false;
	if (!add_user_frame(sample, FRAME_NATIVE | ABI_FRAME_IS_LOOP, 0,
			    registers->pc - (sample->pc_is_exact ? 0 : 1)))
		return false;
	note_list(sample);
	sample->is_in_yjit |= sample->innermost;
	sample->left_yjit = true;
	set_sp(registers, search->at, true);
	registers->pc = search->return_pc;
	registers->fp = caller_fp;
	lose_rbx(registers);
	sample->innermost = false;
	sample->pc_is_exact = false;
	return true;
}

/*
 * If the frame is in code of YJIT, adds it as the call of the loop that executes methods, goes to
 * its caller, and returns 1. Else returns 0. The verifier checks this function once by itself.
 */
__verified_alone int yjit_step(struct sample *sample);
__verified_alone int yjit_step(struct sample *sample)
{
	struct yjit_search search = { .sample = sample };

	if (!sample)
		return 0;
	search.at = sample->registers.sp;
	if (search.at & 7)
		return 0;
	bpf_loop(YJIT_MAX_WORDS, look_at_pushed_word, &search, 0);
	if (go_to_ruby(sample, &search))
		return 1;
	/* The search has looked for other mappings. */
	(void)find_mapping(sample, sample->registers.pc - (sample->pc_is_exact ? 0 : 1));
	return 0;
}
