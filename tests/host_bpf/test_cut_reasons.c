/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a stack of x86-64 ends: naturally, or cut with a reason.
 */
#include "tests/host_bpf/x86_stack.h"

/* Only a row can mark a frame as the outermost one: in other code the register may hold 0. */
static void a_chain_of_frame_pointers_that_leads_to_zero_is_cut(void **state)
{
	struct made_up *process = *state;

	begin(process, OTHER_START + 8, 10, at_word(20));
	link_frame(process, 20, at_word(30), OTHER_START + 100);
	link_frame(process, 30, 0, OTHER_START + 200);
	run(process);
	expect_frames(process, STACK_CUT_NO_ROW, OTHER_START + 8, OTHER_START + 99,
		      OTHER_START + 199);
	assert_int_equal(process->output.counters[ABI_COUNTER_CUT_NO_ROW], 1);
	assert_int_equal(process->output.counters[ABI_COUNTER_FRAMES_BY_POINTER], 3);
	assert_true(process->output.header.flags & ABI_SAMPLE_UNRESOLVED);
}

static void a_chain_of_frame_pointers_to_an_outermost_frame_is_complete(void **state)
{
	struct made_up *process = *state;

	begin(process, OTHER_START + 8, 10, at_word(20));
	link_frame(process, 20, at_word(30), OTHER_START + 100);
	link_frame(process, 30, 0, in_function(OUTERMOST));
	run(process);
	expect_frames(process, STACK_CUT_NONE, OTHER_START + 8, OTHER_START + 99,
		      in_function(OUTERMOST) - 1);
}

/* Code may use the register for other purposes, and its stack then still has callers. */
static void a_leaf_without_a_row_whose_frame_pointer_is_zero_is_cut(void **state)
{
	struct made_up *process = *state;

	begin(process, OTHER_START + 8, 10, 0);
	process->words[11] = in_function(OUTERMOST);
	run(process);
	expect_frames(process, STACK_CUT_NO_ROW, OTHER_START + 8);
	/* The same if a row led there. */
	begin(process, in_function(PLAIN), 10, 0);
	process->words[11] = OTHER_START + 8;
	run(process);
	expect_frames(process, STACK_CUT_NO_ROW, in_function(PLAIN), OTHER_START + 7);
}

static void a_frame_record_without_return_address_cuts_the_stack(void **state)
{
	struct made_up *process = *state;

	begin(process, OTHER_START + 8, 10, at_word(20));
	link_frame(process, 20, at_word(30), 0);
	run(process);
	expect_frames(process, STACK_CUT_NO_ROW, OTHER_START + 8);
}

static void an_undefined_return_address_is_a_natural_end(void **state)
{
	struct made_up *process = *state;

	begin(process, in_function(PLAIN), 10, 0);
	process->words[11] = in_function(OUTERMOST);
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(PLAIN), in_function(OUTERMOST) - 1);
	assert_int_equal(process->output.counters[ABI_COUNTER_FRAMES_BY_TABLE], 1);
	assert_false(process->output.header.flags & ABI_SAMPLE_UNRESOLVED);
}

/* The parent's stack is unwound like any other. */
static void the_stack_of_a_new_thread_ends_where_clone_returns(void **state)
{
	struct made_up *process = *state;

	begin(process, in_function(CLONES), 10, 0);
	process->words[10] = in_function(PLAIN);
	process->words[12] = in_function(OUTERMOST);
	process->input.registers.general[RAX] = 4711;
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(CLONES), in_function(PLAIN) - 1,
		      in_function(OUTERMOST) - 1);
	process->input.registers.general[RAX] = 0;
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(CLONES));
}

static void a_return_address_of_zero_is_a_natural_end(void **state)
{
	struct made_up *process = *state;

	begin(process, in_function(PLAIN), 10, 0);
	process->words[11] = 0;
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(PLAIN));
}

static void a_page_that_cannot_be_read_cuts_the_stack(void **state)
{
	struct made_up *process = *state;

	process->readable_bytes = 8 * 20;
	begin(process, in_function(PLAIN), 17, 0);
	process->words[18] = in_function(PLAIN); /* the next return address is at word 20 */
	run(process);
	expect_frames(process, STACK_CUT_READ_FAULT, in_function(PLAIN), in_function(PLAIN) - 1);
}

static void a_frame_pointer_into_a_page_that_cannot_be_read_cuts_the_stack(void **state)
{
	struct made_up *process = *state;

	process->readable_bytes = 8 * 20;
	begin(process, OTHER_START + 8, 10, at_word(20));
	run(process);
	expect_frames(process, STACK_CUT_READ_FAULT, OTHER_START + 8);
}

static void the_last_words_before_an_unreadable_page_are_read(void **state)
{
	struct made_up *process = *state;

	process->readable_bytes = 8 * 20;
	begin(process, in_function(PLAIN), 16, 0);
	process->words[17] = in_function(PLAIN);
	process->words[19] = in_function(OUTERMOST);
	run(process);
	expect_frames(process, STACK_CUT_NONE, in_function(PLAIN), in_function(PLAIN) - 1,
		      in_function(OUTERMOST) - 1);
}

static void a_return_address_in_no_mapping_cuts_the_stack(void **state)
{
	static const uint64_t nowhere[] = { 1,
					    CODE_START,
					    CODE_START + CODE_BYTES + 1,
					    OTHER_START - 5,
					    OTHER_START + OTHER_BYTES + 1,
					    STACK_START,
					    UINT64_MAX };
	struct made_up *process = *state;

	for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++) {
		begin(process, in_function(PLAIN), 10, 0);
		process->words[11] = in_function(PLAIN);
		process->words[13] = nowhere[i];
		run(process);
		expect_frames(process, STACK_CUT_NO_MAPPING, in_function(PLAIN),
			      in_function(PLAIN) - 1);
	}
}

static void a_leaf_in_no_mapping_is_sent_as_a_raw_pc(void **state)
{
	struct made_up *process = *state;

	begin(process, 0x1234, 10, at_word(20));
	link_frame(process, 20, 0, in_function(OUTERMOST));
	run(process);
	expect_frames(process, STACK_CUT_NONE, 0x1234, in_function(OUTERMOST) - 1);
}

static void implausible_frame_pointers_cut_the_stack(void **state)
{
	const struct {
		uint64_t fp;
	} cases[] = { { at_word(20) + 4 }, { at_word(20) + 1 }, { at_word(9) }, { 0x1000 } };
	struct made_up *process = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(process, OTHER_START + 8, 10, cases[i].fp);
		run(process);
		expect_frames(process, STACK_CUT_BAD_FRAME, OTHER_START + 8);
	}
}

static void a_loop_of_frame_pointers_ends(void **state)
{
	struct made_up *process = *state;

	begin(process, OTHER_START + 8, 10, at_word(20));
	link_frame(process, 20, at_word(30), OTHER_START + 100);
	link_frame(process, 30, at_word(20), OTHER_START + 200);
	run(process);
	expect_frames(process, STACK_CUT_BAD_FRAME, OTHER_START + 8, OTHER_START + 99,
		      OTHER_START + 199);
}

static void a_loop_of_frames_with_rows_ends(void **state)
{
	struct made_up *process = *state;

	/* The frame above points back to the first one. */
	begin(process, in_function(WITH_FP), 10, at_word(20));
	link_frame(process, 20, at_word(30), in_function(WITH_FP));
	link_frame(process, 30, at_word(20), in_function(WITH_FP));
	run(process);
	expect_frames(process, STACK_CUT_BAD_FRAME, in_function(WITH_FP), in_function(WITH_FP) - 1,
		      in_function(WITH_FP) - 1);
}

static void a_stack_that_never_ends_is_cut_at_the_depth_that_fits(void **state)
{
	struct made_up *process = *state;
	size_t n_frames;

	for (size_t i = 0; i < STACK_WORDS; i++)
		process->words[i] = in_function(PLAIN);
	/* The stack consists of 512 frames of two words: these fit, one more does not. */
	begin(process, in_function(PLAIN), 0, 0);
	run(process);
	n_frames = process->output.header.n_user_frames;
	assert_int_equal(process->output.header.cut, STACK_CUT_DEPTH);
	assert_int_equal(process->output.counters[ABI_COUNTER_CUT_DEPTH], 1);
	assert_true(n_frames >= ABI_MAX_USER_FRAMES && n_frames <= ABI_MAX_USER_FRAMES + 1);
}

static void as_many_frames_as_fit_are_not_cut(void **state)
{
	struct made_up *process = *state;

	for (size_t i = 0; i < STACK_WORDS; i++)
		process->words[i] = in_function(PLAIN);
	process->words[2 * (ABI_MAX_USER_FRAMES - 2) + 1] = in_function(OUTERMOST);
	begin(process, in_function(PLAIN), 0, 0);
	run(process);
	assert_int_equal(process->output.header.cut, STACK_CUT_NONE);
	assert_int_equal(process->output.header.n_user_frames, ABI_MAX_USER_FRAMES);
}

static void without_registers_there_is_no_stack(void **state)
{
	struct made_up *process = *state;

	begin(process, 0, 10, 0);
	run(process);
	expect_stack(process, STACK_CUT_NO_USER_REGS, NULL, 0);
}

static void an_unknown_process_is_unwound_by_frame_pointers(void **state)
{
	struct made_up *process = *state;

	process->input.process.entry = NULL;
	begin(process, in_function(WITH_FP), 10, at_word(20));
	link_frame(process, 20, at_word(30), 0x5000);
	link_frame(process, 30, 0, in_function(PLAIN));
	run(process);
	expect_frames(process, STACK_CUT_UNKNOWN, in_function(WITH_FP), 0x4fff,
		      in_function(PLAIN) - 1);
	assert_true(process->output.header.flags & ABI_SAMPLE_UNKNOWN);
	assert_int_equal(process->output.counters[ABI_COUNTER_UNKNOWN_PROCESS], 1);
}

static void an_entry_of_another_process_or_image_is_not_used(void **state)
{
	struct made_up *process = *state;

	for (int i = 0; i < 2; i++) {
		made_up_map(process);
		process->maps.process.start_time_10ms += i == 0;
		process->maps.process.exec_count += i == 1;
		begin(process, in_function(WITH_FP), 10, 0);
		run(process);
		expect_frames(process, STACK_CUT_UNKNOWN, in_function(WITH_FP));
		assert_true(process->output.header.flags & ABI_SAMPLE_UNKNOWN);
	}
}

/* The stack has no more frames, although a row and a frame pointer chain exist. */
static void a_32_bit_program_has_only_its_innermost_frame(void **state)
{
	struct made_up *process = *state;

	begin(process, in_function(WITH_FP), 10, at_word(20));
	link_frame(process, 20, at_word(30), in_function(PLAIN));
	process->input.registers.is_32_bit = true;
	run(process);
	expect_frames(process, STACK_CUT_32_BIT, in_function(WITH_FP));
	assert_int_equal(process->output.counters[ABI_COUNTER_CUT_32_BIT], 1);

	process->input.registers.is_32_bit = false;
	run(process);
	assert_int_equal(process->output.header.n_user_frames, 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		with_process(a_chain_of_frame_pointers_that_leads_to_zero_is_cut),
		with_process(a_chain_of_frame_pointers_to_an_outermost_frame_is_complete),
		with_process(a_leaf_without_a_row_whose_frame_pointer_is_zero_is_cut),
		with_process(a_frame_record_without_return_address_cuts_the_stack),
		with_process(an_undefined_return_address_is_a_natural_end),
		with_process(the_stack_of_a_new_thread_ends_where_clone_returns),
		with_process(a_return_address_of_zero_is_a_natural_end),
		with_process(a_page_that_cannot_be_read_cuts_the_stack),
		with_process(a_frame_pointer_into_a_page_that_cannot_be_read_cuts_the_stack),
		with_process(the_last_words_before_an_unreadable_page_are_read),
		with_process(a_return_address_in_no_mapping_cuts_the_stack),
		with_process(a_leaf_in_no_mapping_is_sent_as_a_raw_pc),
		with_process(implausible_frame_pointers_cut_the_stack),
		with_process(a_loop_of_frame_pointers_ends),
		with_process(a_loop_of_frames_with_rows_ends),
		with_process(a_stack_that_never_ends_is_cut_at_the_depth_that_fits),
		with_process(as_many_frames_as_fit_are_not_cut),
		with_process(without_registers_there_is_no_stack),
		with_process(an_unknown_process_is_unwound_by_frame_pointers),
		with_process(a_32_bit_program_has_only_its_innermost_frame),
		with_process(an_entry_of_another_process_or_image_is_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
