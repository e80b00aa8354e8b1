/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/host_bpf/made_up_stack.h"

/*
 * Stacks of arm64 with the arm64 build of the unwinder: cases that exist only on that machine. x29
 * is the frame pointer, x30 the link register, number 31 is sp. A frame record is {caller's x29,
 * return address}, at x29.
 */

#define X29 29
#define LR  30
#define SP  31

/* The signature that pac-ret inserts between a 48-bit address and bit 55. */
#define SIGNATURE UINT64_C(0x005a000000000000)
#define TAG       UINT64_C(0x2b00000000000000)

enum function {
	LEAF,  /* no frame: CFA = sp, return address in x30 */
	SMALL, /* CFA = sp + 16, frame record at CFA - 16 */
	/* CFA = x29 + 100016, frame record at CFA - 100016: the return address is next to x29 */
	LARGE,
	HUGE_BY_SP,  /* CFA = sp + 80000, frame record at the bottom */
	TRAMPOLINE,  /* the kernel's signal frame is at sp */
	OUTERMOST,   /* return address undefined */
	LEAF_PUSHED, /* sp moved by 32, return address still in x30 */
	N_FUNCTIONS
};

static const struct abi_unwind_rule rules[N_FUNCTIONS] = {
	[LEAF] = { .cfa = UNWIND_CFA_SP, .ra = UNWIND_SAVED_SAME, .rbx_offset = UNWIND_RBX_LOST },
	[SMALL] = { .cfa = UNWIND_CFA_SP,
		    .cfa_offset = 16,
		    .fp = UNWIND_SAVED_CFA,
		    .fp_offset = -16,
		    .ra = UNWIND_SAVED_CFA,
		    .ra_offset = -8,
		    .rbx_offset = UNWIND_RBX_LOST },
	[LARGE] = { .cfa = UNWIND_CFA_FP,
		    .cfa_offset = 100016,
		    .fp = UNWIND_SAVED_CFA,
		    .fp_offset = -100016,
		    .ra = UNWIND_SAVED_BESIDE_FP,
		    .rbx_offset = UNWIND_RBX_LOST },
	[HUGE_BY_SP] = { .cfa = UNWIND_CFA_SP,
			 .cfa_offset = 80000,
			 .fp = UNWIND_SAVED_CFA,
			 .fp_offset = -80000,
			 .ra = UNWIND_SAVED_BESIDE_FP,
			 .rbx_offset = UNWIND_RBX_LOST },
	[TRAMPOLINE] = { .cfa = UNWIND_CFA_SIGNAL },
	[OUTERMOST] = { .cfa = UNWIND_CFA_END },
	[LEAF_PUSHED] = { .cfa = UNWIND_CFA_SP,
			  .cfa_offset = 32,
			  .ra = UNWIND_SAVED_SAME,
			  .rbx_offset = UNWIND_RBX_LOST },
};

static int setup(void **state)
{
	*state = made_up_new(rules, N_FUNCTIONS);
	return 0;
}

static int teardown(void **state)
{
	made_up_free(*state);
	return 0;
}

static void begin(struct made_up *process, uint64_t pc, uint64_t sp, uint64_t fp, uint64_t lr)
{
	process->input.registers.pc = pc;
	process->input.registers.general[SP] = sp;
	process->input.registers.general[X29] = fp;
	process->input.registers.general[LR] = lr;
}

static void run(struct made_up *process)
{
	host_unwind_arm64(&process->input, &process->output);
}

static void record_frame(struct made_up *process, unsigned int word, uint64_t caller_fp,
			 uint64_t return_address)
{
	process->words[word] = caller_fp;
	process->words[word + 1] = return_address;
}

static void a_leaf_returns_to_the_link_register(void **state)
{
	struct made_up *process = *state;

	begin(process, in_function(LEAF), at_word(10), at_word(10), in_function(SMALL));
	record_frame(process, 10, at_word(30), in_function(OUTERMOST));
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(LEAF), in_function(SMALL) - 1,
		      in_function(OUTERMOST) - 1);
	assert_int_equal(process->output.counters[ABI_COUNTER_FRAMES_BY_TABLE], 2);
}

static void a_32_bit_program_has_only_its_innermost_frame(void **state)
{
	struct made_up *process = *state;

	begin(process, in_function(LEAF), at_word(10), at_word(10), in_function(SMALL));
	process->input.registers.is_32_bit = true;
	run(process);
	expect_frames(process, STACK_CUT_32_BIT, in_function(LEAF));
}

static void a_leaf_may_have_moved_the_stack_pointer(void **state)
{
	struct made_up *process = *state;

	begin(process, in_function(LEAF_PUSHED), at_word(6), at_word(10), in_function(SMALL));
	record_frame(process, 10, at_word(30), in_function(OUTERMOST));
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(LEAF_PUSHED), in_function(SMALL) - 1,
		      in_function(OUTERMOST) - 1);
}

static void other_functions_return_to_their_frame_record(void **state)
{
	struct made_up *process = *state;

	begin(process, in_function(SMALL), at_word(10), at_word(10), in_function(SMALL) + 4);
	record_frame(process, 10, at_word(12), in_function(SMALL));
	record_frame(process, 12, 0, in_function(OUTERMOST));
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(SMALL), in_function(SMALL) - 1,
		      in_function(OUTERMOST) - 1);
}

static void a_frame_record_at_the_bottom_of_a_large_frame_is_found(void **state)
{
	struct made_up *process = *state;

	begin(process, in_function(HUGE_BY_SP), at_word(10), at_word(10), 0);
	record_frame(process, 10, at_word(20), in_function(LARGE));
	record_frame(process, 20, 0, in_function(OUTERMOST));
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(HUGE_BY_SP), in_function(LARGE) - 1,
		      in_function(OUTERMOST) - 1);
	assert_int_equal(process->output.counters[ABI_COUNTER_FRAMES_BY_TABLE], 2);
}

static void signatures_and_tags_of_return_addresses_are_removed(void **state)
{
	struct made_up *process = *state;

	begin(process, in_function(LEAF), at_word(10), at_word(10), in_function(SMALL) | SIGNATURE);
	/* an address without a row */
	record_frame(process, 10, at_word(30), in_function(N_FUNCTIONS) | SIGNATURE | TAG);
	record_frame(process, 30, 0, in_function(OUTERMOST) | SIGNATURE);
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(LEAF), in_function(SMALL) - 1,
		      in_function(N_FUNCTIONS) - 1, in_function(OUTERMOST) - 1);
}

static void a_signed_zero_ends_the_stack(void **state)
{
	struct made_up *process = *state;

	begin(process, in_function(SMALL), at_word(10), at_word(10), 0);
	record_frame(process, 10, 0, SIGNATURE);
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(SMALL));
}

static void addresses_of_52_bits_are_kept(void **state)
{
	const struct abi_mapping mapping = { .start = UINT64_C(0x000a055500010000),
					     .end = UINT64_C(0x000a055500011000),
					     .kind = FRAME_NATIVE };
	struct made_up *process = *state;

	assert_ok(host_maps_set_mappings(&process->maps, &mapping, 1));
	host_maps_describe(&process->maps, &process->input);
	process->config.user_pc_mask = (UINT64_C(1) << 52) - 1;
	begin(process, mapping.start, at_word(10), at_word(20), 0);
	record_frame(process, 20, 0, (mapping.start + 0x80) | UINT64_C(0x0050000000000000));
	run(process);
	expect_frames(process, STACK_CUT_NO_ROW, mapping.start, mapping.start + 0x7f);
}

/* The kernel's layout: siginfo, ucontext, and in it the registers after the fault's address. */
static void write_signal_frame(struct made_up *process, unsigned int word, uint64_t pc, uint64_t sp,
			       uint64_t fp, uint64_t lr)
{
	unsigned int registers = word + (128 + 176 + 8) / 8;

	process->words[registers + X29] = fp;
	process->words[registers + LR] = lr;
	process->words[registers + 31] = sp;
	process->words[registers + 32] = pc;
}

static void a_signal_frame_restores_all_interrupted_registers(void **state)
{
	struct made_up *process = *state;

	/* A handler, the trampoline, and a leaf with its caller in the link register only. */
	begin(process, in_function(SMALL), at_word(10), at_word(10), 0);
	record_frame(process, 10, 0, in_function(TRAMPOLINE));
	write_signal_frame(process, 12, in_function(LEAF), at_word(500), at_word(500),
			   in_function(SMALL));
	record_frame(process, 500, 0, in_function(OUTERMOST));
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(SMALL), in_function(TRAMPOLINE) - 1,
		      in_function(LEAF), in_function(SMALL) - 1, in_function(OUTERMOST) - 1);
}

static void a_signal_may_have_interrupted_a_lower_stack(void **state)
{
	struct made_up *process = *state;

	begin(process, in_function(TRAMPOLINE), at_word(700), 0, 0);
	write_signal_frame(process, 700, in_function(LEAF_PUSHED), at_word(100), 0,
			   in_function(SMALL) | SIGNATURE);
	record_frame(process, 104, 0, in_function(OUTERMOST));
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(TRAMPOLINE), in_function(LEAF_PUSHED),
		      in_function(SMALL) - 1, in_function(OUTERMOST) - 1);
}

static void the_link_register_is_used_in_the_innermost_frame_only(void **state)
{
	struct made_up *process = *state;

	/* A leaf that another frame returned to: by its frame pointer, if it has one. */
	begin(process, in_function(SMALL), at_word(10), at_word(10), in_function(SMALL));
	record_frame(process, 10, at_word(20), in_function(LEAF));
	record_frame(process, 20, 0, in_function(OUTERMOST));
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(SMALL), in_function(LEAF) - 1,
		      in_function(OUTERMOST) - 1);
	assert_int_equal(process->output.counters[ABI_COUNTER_FRAMES_UNSUPPORTED], 1);
}

static void a_cycle_of_frames_without_a_frame_record_ends(void **state)
{
	struct made_up *process = *state;

	/* A leaf under a signal in a leaf, without end: each signal frame is the previous one. */
	begin(process, in_function(TRAMPOLINE), at_word(100), 0, 0);
	write_signal_frame(process, 100, in_function(LEAF), at_word(100), 0,
			   in_function(TRAMPOLINE) + 1);
	run(process);
	assert_int_equal(process->output.header.cut, STACK_CUT_DEPTH);
}

static void code_without_rows_returns_to_the_link_register(void **state)
{
	struct made_up *process = *state;

	/* An entry of a procedure linkage table, in the same executable as its caller. */
	begin(process, in_function(N_FUNCTIONS), at_word(10), at_word(10),
	      in_function(SMALL) | SIGNATURE);
	record_frame(process, 10, 0, in_function(OUTERMOST));
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(N_FUNCTIONS), in_function(SMALL) - 1,
		      in_function(OUTERMOST) - 1);
	assert_int_equal(process->output.counters[ABI_COUNTER_FRAMES_BY_POINTER], 1);
}

static void the_vdso_without_rows_returns_to_the_link_register(void **state)
{
	struct made_up *process = *state;

	begin(process, OTHER_START + 40, at_word(10), at_word(10), in_function(SMALL));
	record_frame(process, 10, 0, in_function(OUTERMOST));
	run(process);
	expect_frames(process, STACK_CUT_NONE, OTHER_START + 40, in_function(SMALL) - 1,
		      in_function(OUTERMOST) - 1);
}

static void generated_code_with_a_frame_record_returns_by_it(void **state)
{
	/*
	 * Before its first call the link register holds the same address as the record; afterwards
	 * an address of the function itself.
	 */
	const uint64_t link_registers[] = { in_function(SMALL), OTHER_START + 36 };
	struct made_up *process = *state;

	for (size_t i = 0; i < ARRAY_SIZE(link_registers); i++) {
		begin(process, OTHER_START + 40, at_word(8), at_word(8),
		      link_registers[i] | SIGNATURE);
		record_frame(process, 8, at_word(10), in_function(SMALL) | SIGNATURE);
		record_frame(process, 10, 0, in_function(OUTERMOST));
		run(process);
		expect_frames(process, STACK_CUT_NONE, OTHER_START + 40, in_function(SMALL) - 1,
			      in_function(OUTERMOST) - 1);
	}
}

static void a_call_of_a_null_pointer_has_a_caller(void **state)
{
	struct made_up *process = *state;

	/* A call of a null pointer. */
	begin(process, 8, at_word(10), at_word(10), in_function(SMALL));
	record_frame(process, 10, 0, in_function(OUTERMOST));
	run(process);
	expect_frames(process, STACK_CUT_NONE, 8, in_function(SMALL) - 1,
		      in_function(OUTERMOST) - 1);
}

#define with_process(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		with_process(a_leaf_returns_to_the_link_register),
		with_process(a_32_bit_program_has_only_its_innermost_frame),
		with_process(a_leaf_may_have_moved_the_stack_pointer),
		with_process(other_functions_return_to_their_frame_record),
		with_process(a_frame_record_at_the_bottom_of_a_large_frame_is_found),
		with_process(signatures_and_tags_of_return_addresses_are_removed),
		with_process(a_signed_zero_ends_the_stack),
		with_process(addresses_of_52_bits_are_kept),
		with_process(a_signal_frame_restores_all_interrupted_registers),
		with_process(a_signal_may_have_interrupted_a_lower_stack),
		with_process(the_link_register_is_used_in_the_innermost_frame_only),
		with_process(a_cycle_of_frames_without_a_frame_record_ends),
		with_process(code_without_rows_returns_to_the_link_register),
		with_process(the_vdso_without_rows_returns_to_the_link_register),
		with_process(generated_code_with_a_frame_record_returns_by_it),
		with_process(a_call_of_a_null_pointer_has_a_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
