/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code of a JVM in an invented process of arm64: what differs from test_java_walk. x22 has the
 * position of an interpreted method.
 */
#define JAVA_OF_ARM64
#include "tests/host_bpf/java_process.h"

#define X22 22

static void set_link_register(struct java *java, uint64_t address)
{
	java->process->input.registers.general[LR] = address;
}

static void compiled_methods_lead_to_the_native_callers_of_the_jvm(void **state)
{
	struct java *java = *state;
	const struct host_unwind_output *output;

	put_blob(java, 0, NMETHOD, 4);
	put_blob(java, 1, NATIVE_NMETHOD, 2);
	put(java, STACK, 0, 0, 0, in_blob(1) | SIGNATURE, at_word(STACK + 10),
	    java->jvm.call_stub_return | SIGNATURE);
	link_frame(java->process, STACK + 10, at_word(STACK + 20), in_function(WITH_FP));
	link_frame(java->process, STACK + 20, 0, in_function(OUTERMOST));
	/* It has called another method, and has returned from it. */
	set_link_register(java, in_blob(0) - 8);
	output = walk(java, in_blob(0), 0);
	assert_int_equal(output->header.n_user_frames, 4);
	expect_java(output, 0, compiled(0), offset_in(0));
	expect_java(output, 1, compiled(1), offset_in(1));
	expect_native(output, 2, in_function(WITH_FP));
	expect_native(output, 3, in_function(OUTERMOST));
	assert_int_equal(output->header.cut, STACK_CUT_NONE);
	assert_int_equal(output->counters[ABI_COUNTER_JAVA_FRAMES], 2);
}

/* Where the two words of the frame's end are. */
enum record_place {
	IN_REGISTERS, /* x29 and x30 are the caller's */
	AT_SP,
	AT_END, /* of the complete frame, of four words */
};

/*
 * Code around the pc of the innermost frame. Where x30 has the return address, the caller's stack
 * pointer is @caller_sp words above sp.
 */
struct innermost_case {
	const char *before, *after; /* in hexadecimal digits, as in memory */
	enum record_place place;
	unsigned int caller_sp;
	bool is_complete; /* the pc is behind FRAME_COMPLETE */
};

#define STP_END  "fd7b01a9" /* stp x29, x30, [sp, #16] */
#define LDP_END  "fd7b41a9" /* ldp x29, x30, [sp, #16] */
#define STP_PUSH "fd7bbfa9" /* stp x29, x30, [sp, #-16]! */
#define LDP_POP  "fd7bc1a8" /* ldp x29, x30, [sp], #16 */
#define SUB_SP   "ff8300d1" /* sub sp, sp, #32 */
#define SUB_REG  "ff6328cb" /* sub sp, sp, x8 */
#define ADD_SP   "ff830091" /* add sp, sp, #32 */
#define MOV_FP   "fd030091" /* mov x29, sp */
#define BANG     "e95340d1" /* sub x9, sp, #20, lsl #12 */
#define RET      "c0035fd6"
#define NOP      "1f2003d5"
#define BRANCH   "04000014"                 /* b */
#define POLL     "882340f9ff6328eb68000054" /* ldr x8, [x28, #64]; cmp sp, x8; b.hi */
#define PACIASP  "3f2303d5"
#define AUTIASP  "bf2303d5"

static void the_innermost_frame_may_be_made_or_removed_in_part(void **state)
{
	static const struct innermost_case cases[] = {
		/* a frame of less than 512 bytes is made */
		{ "", NOP, IN_REGISTERS, 0, false },
		{ NOP BANG, SUB_SP, IN_REGISTERS, 0, false },
		{ NOP PACIASP, SUB_SP, IN_REGISTERS, 0, false },
		{ BANG SUB_SP, STP_END, IN_REGISTERS, 4, false },
		{ SUB_SP STP_END, NOP, AT_END, 0, false },
		/* a larger one */
		{ BANG, STP_PUSH, IN_REGISTERS, 0, false },
		{ BANG STP_PUSH, SUB_SP, AT_SP, 0, false },
		{ STP_PUSH MOV_FP, SUB_SP, AT_SP, 0, false },
		{ STP_PUSH MOV_FP SUB_SP, NOP, AT_END, 0, false },
		{ STP_PUSH NOP SUB_REG, NOP, AT_END, 0, false },
		/* in the method; frames of other methods are removed before the pc */
		{ NOP NOP, NOP, AT_END, 0, true },
		{ LDP_END ADD_SP RET NOP, NOP, AT_END, 0, true },
		{ LDP_POP BRANCH, NOP, AT_END, 0, true },
		{ NOP ADD_SP, NOP, AT_END, 0, true },
		/* a small frame is removed */
		{ NOP, LDP_END, AT_END, 0, true },
		{ NOP LDP_END, ADD_SP, AT_END, 0, true },
		{ LDP_END ADD_SP, NOP, IN_REGISTERS, 0, true },
		{ LDP_END ADD_SP POLL, RET, IN_REGISTERS, 0, true },
		{ LDP_END ADD_SP AUTIASP NOP POLL, RET, IN_REGISTERS, 0, true },
		/* a larger one */
		{ ADD_SP, LDP_POP, AT_SP, 0, true },
		{ ADD_SP LDP_POP, NOP, IN_REGISTERS, 0, true },
		{ ADD_SP LDP_POP POLL, RET, IN_REGISTERS, 0, true },
	};
	const uint64_t caller_fp = at_word(STACK + 20), own_fp = at_word(STACK + 30);
	struct java *java = *state;

	put_blob(java, 0, NMETHOD, 4);
	/* The compiled caller has a frame of two words; a wrong stack pointer would be noticed. */
	put_blob(java, 1, NMETHOD, 2);
	link_frame(java->process, STACK + 20, 0, in_function(OUTERMOST));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct innermost_case *test = &cases[i];
		const uint64_t pc = code_of(0) + (test->is_complete ? FRAME_COMPLETE + 16 : 24);
		const bool in_registers = test->place == IN_REGISTERS;
		const unsigned int record = STACK + (test->place == AT_END ? 2 : 0);
		const unsigned int caller = in_registers ? STACK + test->caller_sp : record + 2;
		uint8_t *bytes = (uint8_t *)java->process->words + (pc - STACK_START);
		const struct host_unwind_output *output;

		memset(&java->process->words[blob_word_of(0) + CODE], 0, 24 * 8);
		put_hex(bytes - strlen(test->before) / 2, test->before);
		put_hex(bytes, test->after);
		for (unsigned int word = 0; word < 8; word++)
			java->process->words[STACK + word] = own_fp;
		if (!in_registers)
			link_frame(java->process, record, caller_fp, in_blob(1) | SIGNATURE);
		link_frame(java->process, caller, caller_fp, in_function(WITH_FP));
		set_link_register(java, in_registers ? in_blob(1) | SIGNATURE : in_blob(0) - 4);
		output = walk(java, pc, in_registers ? caller_fp : own_fp);
		if (output->header.n_user_frames != 4)
			print_message("case %zu\n", i);
		assert_int_equal(output->header.n_user_frames, 4);
		expect_java(output, 0, compiled(0), (uint32_t)(pc - code_of(0)));
		expect_java(output, 1, compiled(1), offset_in(1));
		expect_native(output, 2, in_function(WITH_FP));
		expect_native(output, 3, in_function(OUTERMOST));
		assert_int_equal(output->header.cut, STACK_CUT_NONE);
	}
}

static void put_interpreted(struct java *java, unsigned int record, unsigned int method,
			    uint64_t byte_code, uint64_t sender_sp)
{
	java->process->words[record - 1] = sender_sp;
	java->process->words[record - 3] = method_of(method);
	java->process->words[record - 9] = byte_code;
}

static void interpreted_methods_have_positions_in_their_byte_code(void **state)
{
	const uint64_t pc = OTHER_START + 16;
	struct java *java = *state;
	const struct host_unwind_output *output;

	java->jvm.layout.byte_code_below_fp = 72;
	put_blob(java, 0, NMETHOD, 2);
	put_interpreted(java, STACK + 12, 0, byte_code_of(0) + 3, 0);
	link_frame(java->process, STACK + 12, at_word(STACK + 30), pc | SIGNATURE);
	/* Its caller is compiled, and the arguments take two more words. */
	put_interpreted(java, STACK + 30, 1, byte_code_of(1) + 7, at_word(STACK + 34));
	link_frame(java->process, STACK + 30, at_word(STACK + 40), in_blob(0) | SIGNATURE);
	put(java, STACK + 34, at_word(STACK + 40), in_function(WITH_FP));
	link_frame(java->process, STACK + 40, 0, in_function(OUTERMOST));
	java->process->input.registers.general[X22] = byte_code_of(0) + 5;
	output = walk(java, pc, at_word(STACK + 12));
	assert_int_equal(output->header.n_user_frames, 5);
	expect_java(output, 0, method_of(0), 5); /* by x22 */
	expect_java(output, 1, method_of(1), 7);
	expect_java(output, 2, compiled(0), offset_in(0));
	expect_native(output, 3, in_function(WITH_FP));
	expect_native(output, 4, in_function(OUTERMOST));
}

/*
 * An interpreted method leaves a part of its operand stack unused, in which the frame of the method
 * that it calls begins: the stack pointer that is stored there is then below this frame.
 */
static void frames_of_interpreted_methods_may_overlap(void **state)
{
	const uint64_t pc = OTHER_START + 16;
	struct java *java = *state;
	const struct host_unwind_output *output;

	java->jvm.layout.byte_code_below_fp = 72;
	put_interpreted(java, STACK + 12, 0, byte_code_of(0) + 3, at_word(STACK + 6));
	link_frame(java->process, STACK + 12, at_word(STACK + 30), pc);
	put_interpreted(java, STACK + 30, 1, byte_code_of(1) + 7, 0);
	link_frame(java->process, STACK + 30, at_word(STACK + 40), in_function(WITH_FP));
	link_frame(java->process, STACK + 40, 0, in_function(OUTERMOST));
	output = walk(java, pc, at_word(STACK + 12));
	assert_int_equal(output->header.n_user_frames, 4);
	expect_java(output, 0, method_of(0), 3);
	expect_java(output, 1, method_of(1), 7);
	assert_int_equal(output->header.cut, STACK_CUT_NONE);
}

static void an_interpreted_frame_that_is_not_made_is_left_out(void **state)
{
	const uint64_t pc = OTHER_START + 16;
	struct java *java = *state;
	const struct host_unwind_output *output;

	put_blob(java, 0, NMETHOD, 2);
	put(java, STACK, 0, in_function(OUTERMOST));
	set_link_register(java, in_blob(0) | SIGNATURE);
	output = walk(java, pc, 0);
	assert_int_equal(output->header.n_user_frames, 2);
	expect_java(output, 0, compiled(0), offset_in(0));
	expect_native(output, 1, in_function(OUTERMOST));
	/* In a caller that is an error: the link register is not that of the caller. */
	put(java, STACK, 0, pc);
	output = walk(java, in_blob(0), 0);
	assert_int_equal(output->header.n_user_frames, 1);
	assert_int_equal(output->header.cut, STACK_CUT_BAD_FRAME);
}

struct stub_case {
	uint32_t size;
	const char *before, *after;
	uint64_t link_register;
	unsigned int record; /* word, from the stack pointer; 8: none */
	bool has_fp;         /* x29 points to the record */
};

static void stubs_have_a_size_or_a_frame_record_or_neither(void **state)
{
	struct java *java = *state;
	const uint64_t caller = in_blob(0), own = in_blob(1) + 4;
	const struct stub_case cases[] = {
		{ 0, NOP, NOP, caller, 8, false }, /* it has no frame */
		{ 0, NOP, STP_PUSH, caller | SIGNATURE, 8, false },
		{ 0, STP_PUSH, MOV_FP, caller, 0, false },
		{ 0, STP_PUSH MOV_FP, NOP, caller, 0, true },
		{ 0, NOP, NOP, caller | SIGNATURE, 4, true }, /* it has pushed registers */
		{ 0, NOP, NOP, own, 4, true },                /* it has called other code */
		{ 0, NOP, LDP_POP, own, 0, false },
		{ 4, NOP, NOP, own, 2, false }, /* by its size */
		{ 4, NOP, NOP, caller, 2, false },
		{ 4, NOP, NOP, caller, 8, false },
	};

	put_blob(java, 0, NMETHOD, 2);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct stub_case *test = &cases[i];
		const bool has_record = test->record != 8;
		uint8_t *bytes = (uint8_t *)java->process->words + (in_blob(1) - STACK_START);
		const unsigned int caller_sp = STACK + (has_record ? test->record + 2 : 0);
		const struct host_unwind_output *output;

		put_blob(java, 1, STUB, test->size);
		put_hex(bytes - strlen(test->before) / 2, test->before);
		put_hex(bytes, test->after);
		put(java, STACK, 0, 0, 0, 0, 0, 0, 0, 0);
		if (has_record)
			link_frame(java->process, STACK + test->record, 0, caller | SIGNATURE);
		link_frame(java->process, caller_sp, 0, in_function(OUTERMOST));
		set_link_register(java, test->link_register);
		output = walk(java, in_blob(1), test->has_fp ? at_word(STACK + test->record) : 0);
		if (output->header.n_user_frames != 3)
			print_message("case %zu\n", i);
		assert_int_equal(output->header.n_user_frames, 3);
		expect_java(output, 0, blob_of(1) | ABI_HOTSPOT_STUB, 0);
		expect_java(output, 1, compiled(0), offset_in(0));
		expect_native(output, 2, in_function(OUTERMOST));
	}
}

/* After native code without rows the stack pointer is only a lower bound. */
static void the_caller_of_native_code_without_rows_has_a_frame_pointer(void **state)
{
	struct java *java = *state;
	const struct host_unwind_output *output;

	put_blob(java, 0, NATIVE_NMETHOD, 6);
	link_frame(java->process, STACK, at_word(STACK + 12), in_blob(0));
	link_frame(java->process, STACK + 12, at_word(STACK + 20), in_function(WITH_FP));
	link_frame(java->process, STACK + 20, 0, in_function(OUTERMOST));
	/* of the code without rows, which has called a function */
	set_link_register(java, OTHER_START + 1024 - 8);
	output = walk(java, OTHER_START + 1024, at_word(STACK));
	assert_int_equal(output->header.n_user_frames, 4);
	expect_java(output, 1, compiled(0), offset_in(0));
	expect_native(output, 2, in_function(WITH_FP));
	expect_native(output, 3, in_function(OUTERMOST));
}

static void a_frame_of_no_bytes_ends_the_stack_if_it_is_not_the_innermost(void **state)
{
	struct java *java = *state;
	const struct host_unwind_output *output;

	/* A stub without a size that returns to itself, with a frame pointer below its frame. */
	put_blob(java, 0, NMETHOD, 2);
	put_blob(java, 1, STUB, 0);
	put(java, STACK, at_word(STACK - 2), in_blob(1));
	set_link_register(java, in_blob(0) - 4);
	output = walk(java, in_blob(0), 0);
	assert_int_equal(output->header.n_user_frames, 2);
	assert_int_equal(output->header.cut, STACK_CUT_BAD_FRAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		java_test(compiled_methods_lead_to_the_native_callers_of_the_jvm),
		java_test(the_innermost_frame_may_be_made_or_removed_in_part),
		java_test(interpreted_methods_have_positions_in_their_byte_code),
		java_test(frames_of_interpreted_methods_may_overlap),
		java_test(an_interpreted_frame_that_is_not_made_is_left_out),
		java_test(stubs_have_a_size_or_a_frame_record_or_neither),
		java_test(the_caller_of_native_code_without_rows_has_a_frame_pointer),
		java_test(a_frame_of_no_bytes_ends_the_stack_if_it_is_not_the_innermost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
