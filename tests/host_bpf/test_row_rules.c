/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the rules of unwind rows lead to the caller on x86-64.
 */
#include "tests/host_bpf/x86_stack.h"

static void unsupported_rules_fall_back_to_the_frame_pointer(void **state)
{
	struct made_up *process = *state;

	begin(process, in_function(UNEXPRESSED), 10, at_word(20));
	/* an address without a row */
	link_frame(process, 20, at_word(30), in_function(N_FUNCTIONS));
	link_frame(process, 30, 0, in_function(OUTERMOST));
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(UNEXPRESSED),
		      in_function(N_FUNCTIONS) - 1, in_function(OUTERMOST) - 1);
	assert_int_equal(process->output.counters[ABI_COUNTER_FRAMES_UNSUPPORTED], 1);
	assert_int_equal(process->output.counters[ABI_COUNTER_FRAMES_BY_POINTER], 2);
}

static void a_register_is_known_in_the_innermost_frame_only(void **state)
{
	struct made_up *process = *state;

	process->input.registers.general[15] = at_word(14);
	begin(process, in_function(BY_R15), 10, at_word(40));
	process->words[14] = in_function(BY_R15); /* its r15 is not known: by the frame pointer */
	link_frame(process, 40, 0, in_function(OUTERMOST));
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(BY_R15), in_function(BY_R15) - 1,
		      in_function(OUTERMOST) - 1);
	assert_int_equal(process->output.counters[ABI_COUNTER_FRAMES_BY_TABLE], 1);
	assert_int_equal(process->output.counters[ABI_COUNTER_FRAMES_UNSUPPORTED], 1);
}

static void a_realigned_frame_finds_its_callers_frame_pointer(void **state)
{
	struct made_up *process = *state;

	begin(process, in_function(REALIGNED), 10, at_word(20));
	process->words[19] = at_word(30); /* CFA */
	process->words[20] = at_word(40); /* the caller's rbp */
	process->words[29] = in_function(WITH_FP);
	link_frame(process, 40, 0, in_function(OUTERMOST));
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(REALIGNED), in_function(WITH_FP) - 1,
		      in_function(OUTERMOST) - 1);
}

/* gcc's row still describes rbp as saved at rbp after it has been popped. */
static void a_realigned_frame_whose_rbp_was_popped_has_its_callers_rbp(void **state)
{
	static const uint64_t of_caller[] = { at_word(40), 7, 0 };
	struct made_up *process = *state;

	for (size_t i = 0; i < ARRAY_SIZE(of_caller); i++) {
		process->input.registers.general[10] = at_word(30);
		begin(process, in_function(EPILOGUE), 28, of_caller[i]);
		process->words[29] = in_function(of_caller[i] == at_word(40) ? WITH_FP : PLAIN);
		process->words[31] = in_function(OUTERMOST);
		link_frame(process, 40, 0, in_function(OUTERMOST));
		run(process);
		expect_frames(process, STACK_CUT_NONE, in_function(EPILOGUE),
			      process->words[29] - 1, in_function(OUTERMOST) - 1);
	}
}

static void rbx_is_followed_to_the_frame_with_a_cfa_based_on_it(void **state)
{
	struct made_up *process = *state;

	/* The leaf preserves rbx, its caller has saved it. */
	process->input.registers.general[RBX] = 0x1234;
	begin(process, in_function(KEEPS_RBX), 10, 0);
	process->words[11] = in_function(SAVES_RBX);
	process->words[12] = at_word(50);
	process->words[14] = in_function(BY_RBX);
	process->words[50] = in_function(OUTERMOST);
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(KEEPS_RBX), in_function(SAVES_RBX) - 1,
		      in_function(BY_RBX) - 1, in_function(OUTERMOST) - 1);
	assert_int_equal(process->output.counters[ABI_COUNTER_FRAMES_BY_TABLE], 3);
}

static void a_lost_rbx_is_not_guessed(void **state)
{
	const uint64_t losing[] = { in_function(PLAIN), OTHER_START + 8 };
	struct made_up *process = *state;

	for (size_t i = 0; i < ARRAY_SIZE(losing); i++) {
		process->input.registers.general[RBX] = at_word(50);
		begin(process, losing[i], 10, at_word(10));
		link_frame(process, 10, at_word(60), in_function(BY_RBX));
		process->words[50] = in_function(PLAIN);
		link_frame(process, 60, 0, in_function(OUTERMOST));
		if (i == 0)
			process->input.registers.general[RBP] = at_word(60);
		run(process);
		expect_frames(process, STACK_CUT_NONE, losing[i], in_function(BY_RBX) - 1,
			      in_function(OUTERMOST) - 1);
		assert_int_equal(process->output.counters[ABI_COUNTER_FRAMES_UNSUPPORTED], 1);
	}
}

static void an_unaligned_stack_is_read(void **state)
{
	const uint64_t return_addresses[] = { in_function(PLAIN), in_function(OUTERMOST) };
	struct made_up *process = *state;

	for (size_t shift = 1; shift < 8; shift++) {
		uint8_t *stack = (uint8_t *)&process->words[10] + shift;

		memset(process->words, 0x5a, sizeof(process->words));
		memcpy(stack + 8, &return_addresses[0], 8);
		memcpy(stack + 24, &return_addresses[1], 8);
		begin(process, in_function(PLAIN), 10, 0);
		process->input.registers.general[RSP] += shift;
		run(process);
		expect_frames(process, STACK_CUT_NONE, in_function(PLAIN), in_function(PLAIN) - 1,
			      in_function(OUTERMOST) - 1);
	}
}

static void missing_rows_are_reported_and_frame_pointers_tried(void **state)
{
	struct made_up *process = *state;

	paged_rows_unload(&process->maps.rows, 1);
	begin(process, in_function(PLAIN), 10, at_word(20));
	process->words[11] = 0x1;
	link_frame(process, 20, 0, in_function(OUTERMOST));
	run(process);
	expect_frames(process, STACK_CUT_NO_ROW, in_function(PLAIN), in_function(OUTERMOST) - 1);
	assert_int_equal(process->output.counters[ABI_COUNTER_FRAMES_BY_POINTER], 2);
	assert_int_equal(process->output.n_missing, 2);
	assert_int_equal(process->output.missing_executable, 1);
	assert_int_equal(process->output.missing_address, in_function(PLAIN) - CODE_BIAS);
}

static void an_executable_without_a_table_has_missing_rows(void **state)
{
	struct made_up *process = made_up_new(NULL, 0);

	(void)state;
	begin(process, in_function(WITH_FP), 10, at_word(20));
	link_frame(process, 20, 0, in_function(PLAIN));
	run(process);
	expect_frames(process, STACK_CUT_NO_ROW, in_function(WITH_FP), in_function(PLAIN) - 1);
	assert_int_equal(process->output.n_missing, 2);
	assert_int_equal(process->output.missing_address, in_function(WITH_FP) - CODE_BIAS);
	made_up_free(process);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		with_process(unsupported_rules_fall_back_to_the_frame_pointer),
		with_process(a_register_is_known_in_the_innermost_frame_only),
		with_process(a_realigned_frame_finds_its_callers_frame_pointer),
		with_process(a_realigned_frame_whose_rbp_was_popped_has_its_callers_rbp),
		with_process(rbx_is_followed_to_the_frame_with_a_cfa_based_on_it),
		with_process(a_lost_rbx_is_not_guessed),
		with_process(an_unaligned_stack_is_read),
		with_process(missing_rows_are_reported_and_frame_pointers_tried),
		cmocka_unit_test(an_executable_without_a_table_has_missing_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
