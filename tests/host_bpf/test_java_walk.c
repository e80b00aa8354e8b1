/* SPDX-License-Identifier: Apache-2.0 */
/* Code of a JVM in an invented process of x86-64. */
#include "tests/host_bpf/java_process.h"

#define R13 13

static void compiled_methods_lead_to_the_native_callers_of_the_jvm(void **state)
{
	struct java *java = *state;
	const struct host_unwind_output *output;

	put_blob(java, 0, NMETHOD, 4);
	put_blob(java, 1, NATIVE_NMETHOD, 2);
	/* The last words of a frame are the caller's rbp and the return address. */
	put(java, STACK, 0, 0, 0, in_blob(1), at_word(STACK + 10), java->jvm.call_stub_return);
	link_frame(java->process, STACK + 10, at_word(STACK + 20), in_function(WITH_FP));
	link_frame(java->process, STACK + 20, 0, in_function(OUTERMOST));
	output = walk(java, in_blob(0), 0);
	assert_int_equal(output->header.n_user_frames, 4);
	expect_java(output, 0, compiled(0), offset_in(0));
	expect_java(output, 1, compiled(1), offset_in(1));
	expect_native(output, 2, in_function(WITH_FP));
	expect_native(output, 3, in_function(OUTERMOST));
	assert_int_equal(output->header.cut, STACK_CUT_NONE);
	assert_int_equal(output->header.more_flags, ABI_SAMPLE_BYTE_CODE);
	assert_int_equal(output->counters[ABI_COUNTER_JAVA_FRAMES], 2);
	assert_int_equal(output->counters[ABI_COUNTER_JAVA_UNREADABLE], 0);
}

static void code_of_another_image_of_the_process_is_not_java(void **state)
{
	struct java *java = *state;
	const struct host_unwind_output *output;

	put_blob(java, 0, NMETHOD, 2);
	put(java, STACK, 0, in_function(OUTERMOST));
	output = walk(java, in_blob(0), 0);
	expect_java(output, 0, compiled(0), offset_in(0));
	java->jvm.n_execs++;
	output = walk(java, in_blob(0), 0);
	assert_int_equal(output->frames[0].kind, FRAME_NATIVE);
	assert_int_equal(output->frames[0].address, in_blob(0));
	assert_int_equal(output->counters[ABI_COUNTER_JAVA_FRAMES], 0);
	java->jvm.n_execs--;
	java->jvm.start_time_10ms++;
	output = walk(java, in_blob(0), 0);
	assert_int_equal(output->frames[0].kind, FRAME_NATIVE);
}

/*
 * Code around the pc of the innermost frame, and where the caller's frame then is. The frame has 4
 * words when it is complete.
 */
struct innermost_case {
	const char *before, *after; /* in hexadecimal digits */
	unsigned int caller_word;   /* of the return address, from the stack pointer */
	int saved_fp_word;          /* -1: rbp is the caller's */
	bool is_complete;           /* the pc is behind FRAME_COMPLETE */
};

static void the_innermost_frame_may_be_made_or_removed_in_part(void **state)
{
	static const struct innermost_case cases[] = {
		/* the entry: mov [rsp-0x14000], eax */
		{ "", "89842400c0feff", 0, -1, false },
		{ "55", "4883ec10", 1, 0, false },          /* push rbp; here; sub rsp, 16 */
		{ "554889e5", "4883ec10", 1, 0, false },    /* push; mov rbp, rsp */
		{ "55488bec", "4883ec10", 1, 0, false },    /* the other code of this mov */
		{ "4883ec18", "48896c2410", 3, -1, false }, /* sub rsp; here; mov [rsp+16], rbp */
		{ "4881ec18000000", "4889ac2410000000", 3, -1, false }, /* with 32 bits */
		{ "48896c2410", "90", 0, -1, false },                   /* unknown code: no frame */
		{ "4883ec18", "90", 3, 2, false },                      /* after sub rsp */
		{ "", "90", 3, 2, true },                               /* in the method */
		{ "4883c410", "5d", 1, 0, true }, /* add rsp, 16; here; pop rbp */
		{ "5d", "c3", 0, -1, true },      /* ret */
		{ "5d", "493ba7480300000f8700000000c3", 0, -1, true }, /* cmp rsp, [r15+...] */
		{ "", "0f8700000000c3", 0, -1, true },                 /* ja; ret */
		{ "", "418502c3", 0, -1, true },                       /* test [r10], eax; ret */
		{ "", "850500000000c3", 0, -1, true },         /* test [rip+...], eax; ret */
		{ "", "4d8b9708010000418502c3", 0, -1, true }, /* mov r10, [r15+...] */
	};
	const uint64_t caller_fp = at_word(STACK + 20), own_fp = at_word(STACK + 30);
	struct java *java = *state;

	put_blob(java, 0, NMETHOD, 4);
	/* The caller finds its own caller by the frame pointer, which shows that it is right. */
	link_frame(java->process, STACK + 20, 0, in_function(OUTERMOST));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct innermost_case *test = &cases[i];
		const uint64_t pc = code_of(0) + (test->is_complete ? FRAME_COMPLETE + 16 : 16);
		uint8_t *bytes = (uint8_t *)java->process->words + (pc - STACK_START);
		const struct host_unwind_output *output;

		memset(&java->process->words[blob_word_of(0) + CODE], 0, 24 * 8);
		put_hex(bytes - strlen(test->before) / 2, test->before);
		put_hex(bytes, test->after);
		put(java, STACK, own_fp, own_fp, own_fp, own_fp);
		java->process->words[STACK + test->caller_word] = in_function(WITH_FP);
		if (test->saved_fp_word >= 0)
			java->process->words[STACK + test->saved_fp_word] = caller_fp;
		output = walk(java, pc, test->saved_fp_word >= 0 ? own_fp : caller_fp);
		assert_int_equal(output->header.n_user_frames, 3);
		expect_java(output, 0, compiled(0), (uint32_t)(pc - code_of(0)));
		expect_native(output, 1, in_function(WITH_FP));
		expect_native(output, 2, in_function(OUTERMOST));
	}
}

/* Writes an interpreted frame whose frame pointer is at word @record. */
static void put_interpreted(struct java *java, unsigned int record, unsigned int method,
			    uint64_t byte_code, uint64_t sender_sp, uint64_t caller_fp,
			    uint64_t caller_pc)
{
	link_frame(java->process, record, caller_fp, caller_pc);
	java->process->words[record - 1] = sender_sp;
	java->process->words[record - 3] = method_of(method);
	java->process->words[record - 8] = byte_code;
}

static void interpreted_methods_have_positions_in_their_byte_code(void **state)
{
	const uint64_t pc = OTHER_START + 16;
	struct java *java = *state;
	const struct host_unwind_output *output;

	put_blob(java, 0, NMETHOD, 2);
	put_interpreted(java, STACK + 12, 0, byte_code_of(0) + 3, 0, at_word(STACK + 30), pc);
	/* Its caller is compiled, and the arguments take two more words. */
	put_interpreted(java, STACK + 30, 1, byte_code_of(1) + 7, at_word(STACK + 34),
			at_word(STACK + 40), in_blob(0));
	put(java, STACK + 34, at_word(STACK + 40), in_function(WITH_FP));
	link_frame(java->process, STACK + 40, 0, in_function(OUTERMOST));
	java->process->input.registers.general[R13] = byte_code_of(0) + 5;
	output = walk(java, pc, at_word(STACK + 12));
	assert_int_equal(output->header.n_user_frames, 5);
	expect_java(output, 0, method_of(0), 5); /* by r13 */
	expect_java(output, 1, method_of(1), 7);
	expect_java(output, 2, compiled(0), offset_in(0));
	expect_native(output, 3, in_function(WITH_FP));
	expect_native(output, 4, in_function(OUTERMOST));
	/* Code that the interpreter calls may use r13 for another value. */
	java->process->input.registers.general[R13] = 12345;
	expect_java(walk(java, pc, at_word(STACK + 12)), 0, method_of(0), 3);
	/* A native method has no byte code. */
	java->process->words[STACK + 30 - 8] = 0;
	expect_java(walk(java, pc, at_word(STACK + 12)), 1, method_of(1), 0);
}

static void an_interpreted_frame_that_is_not_made_is_left_out(void **state)
{
	const uint64_t pc = OTHER_START + 16;
	struct java *java = *state;
	const struct host_unwind_output *output;

	put_blob(java, 0, NMETHOD, 2);
	put(java, STACK, in_blob(0), 0, in_function(OUTERMOST));
	output = walk(java, pc, 0);
	assert_int_equal(output->header.n_user_frames, 2);
	expect_java(output, 0, compiled(0), offset_in(0));
	expect_native(output, 1, in_function(OUTERMOST));
	/* In a caller that is an error. */
	put(java, STACK, 0, pc);
	output = walk(java, in_blob(0), 0);
	assert_int_equal(output->header.n_user_frames, 1);
	assert_int_equal(output->header.cut, STACK_CUT_BAD_FRAME);
}

static void stubs_have_a_size_or_a_return_address_into_java(void **state)
{
	const uint64_t stub = blob_of(1) | ABI_HOTSPOT_STUB;
	struct java *java = *state;
	const struct host_unwind_output *output;

	put_blob(java, 0, NMETHOD, 2);
	put_blob(java, 1, STUB, 3);
	/* by the size; then the compiled method, then native code */
	put(java, STACK, 0, 0, in_blob(0), 0, in_function(OUTERMOST));
	output = walk(java, in_blob(1), 0);
	assert_int_equal(output->header.n_user_frames, 3);
	expect_java(output, 0, stub, 0);
	expect_java(output, 1, compiled(0), offset_in(0));
	expect_native(output, 2, in_function(OUTERMOST));
	/* without a size: the first word, the word behind the saved frame pointer, the fp chain */
	put_blob(java, 1, STUB, 0);
	put(java, STACK, in_blob(0), 0, in_function(OUTERMOST));
	output = walk(java, in_blob(1), 0);
	assert_int_equal(output->header.n_user_frames, 3);
	expect_java(output, 1, compiled(0), offset_in(0));
	put(java, STACK, at_word(STACK + 20), in_blob(0), 0, in_function(OUTERMOST));
	output = walk(java, in_blob(1), 0);
	assert_int_equal(output->header.n_user_frames, 3);
	expect_java(output, 1, compiled(0), offset_in(0));
	put(java, STACK, 0, 0, 0, 0);
	link_frame(java->process, STACK + 8, 0, in_function(OUTERMOST));
	output = walk(java, in_blob(1), at_word(STACK + 8));
	assert_int_equal(output->header.n_user_frames, 2);
	expect_native(output, 1, in_function(OUTERMOST));
}

static void an_invalidated_frame_has_its_true_position(void **state)
{
	struct java *java = *state;
	const struct host_unwind_output *output;

	put_blob(java, 0, NMETHOD, 2);
	put_blob(java, 1, NMETHOD, 4);
	put(java, STACK, 0, code_of(1) + 8);
	/* the word at nmethod_orig_pc */
	put(java, STACK + 2, 0, code_of(1) + 77, 0, in_function(OUTERMOST));
	output = walk(java, in_blob(0), 0);
	assert_int_equal(output->header.n_user_frames, 3);
	expect_java(output, 1, compiled(1), 77);
}

/*
 * In JDK 8 and 25 the header has distances of 32 bits instead of addresses; in JDK 25 the offset
 * at which the frame is complete has 16 bits.
 */
static void places_may_be_relative_to_the_code(void **state)
{
	struct java *java = *state;
	const struct host_unwind_output *output;
	uint64_t *words = &java->process->words[blob_word_of(1)];

	java->jvm.layout.places_are_relative = 1;
	for (unsigned int blob = 0; blob < 2; blob++) {
		uint64_t *header = &java->process->words[blob_word_of(blob)];

		put_blob(java, blob, NMETHOD, 4);
		header[layout.blob_code / 8] = 8ULL * CODE | 0xdeadULL << 32;
		header[layout.nmethod_deopt / 8] = (8ULL * CODE + 8) | 0xbeefULL << 32;
		header[layout.blob_frame_complete / 8] |= 0xdead0000ULL << 32;
	}
	put(java, STACK, 0, 0, 0, code_of(1) + 8);
	put(java, STACK + 4, 0, code_of(1) + 77, 0, in_function(OUTERMOST));
	output = walk(java, in_blob(0), 0);
	assert_int_equal(output->header.n_user_frames, 3);
	expect_java(output, 0, compiled(0), offset_in(0));
	expect_java(output, 1, compiled(1), 77); /* it was invalidated */
	expect_native(output, 2, in_function(OUTERMOST));
	/* An address in these fields is not used. */
	words[layout.nmethod_deopt / 8] = code_of(1) + 8;
	output = walk(java, in_blob(0), 0);
	expect_java(output, 1, compiled(1), 8);
}

static void interpreted_frames_of_jdk_8_are_a_word_smaller(void **state)
{
	const uint64_t pc = OTHER_START + 16;
	struct java *java = *state;

	java->jvm.layout.byte_code_below_fp = 56;
	put_interpreted(java, STACK + 12, 0, 0, 0, at_word(STACK + 30), in_function(WITH_FP));
	java->process->words[STACK + 12 - 7] = byte_code_of(0) + 3;
	link_frame(java->process, STACK + 30, 0, in_function(OUTERMOST));
	expect_java(walk(java, pc, at_word(STACK + 12)), 0, method_of(0), 3);
}

static void code_that_cannot_be_found_is_counted(void **state)
{
	struct java *java = *state;
	uint8_t *segments = (uint8_t *)&java->process->words[SEGMENT_MAP];
	const struct host_unwind_output *output;

	/* a free segment */
	output = walk(java, at_word(HEAP + N_BLOBS * BLOB_WORDS + 4), 0);
	assert_int_equal(output->counters[ABI_COUNTER_JAVA_UNREADABLE], 1);
	assert_int_equal(output->frames[0].kind, FRAME_NATIVE);
	/* a chain without a beginning that is longer than the walk follows */
	memset(segments, 1, N_SEGMENTS);
	output = walk(java, at_word(HEAP + 20 * SEGMENT_WORDS), 0);
	assert_int_equal(output->counters[ABI_COUNTER_JAVA_UNREADABLE], 1);
	/* the map cannot be read */
	java->jvm.heaps[1].segment_map = 4096;
	output = walk(java, at_word(HEAP + 20 * SEGMENT_WORDS), 0);
	assert_int_equal(output->counters[ABI_COUNTER_JAVA_UNREADABLE], 1);
	assert_int_equal(output->counters[ABI_COUNTER_JAVA_FRAMES], 0);
}

static void impossible_frames_end_the_stack_with_a_reason(void **state)
{
	static const uint32_t sizes[] = { 0, 1, (1U << 17) + 1 };
	struct java *java = *state;
	const struct host_unwind_output *output;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		put_blob(java, 0, NMETHOD, sizes[i]);
		output = walk(java, in_blob(0), 0);
		assert_int_equal(output->header.cut, STACK_CUT_BAD_FRAME);
	}
	/* The frame pointer of a stub is below the stack pointer. */
	put_blob(java, 1, STUB, 0);
	put(java, STACK, 0, 0, 0, 0);
	output = walk(java, in_blob(1), at_word(STACK - 8));
	assert_int_equal(output->header.cut, STACK_CUT_BAD_FRAME);
	/* no return address */
	put_blob(java, 0, NMETHOD, 4);
	output = walk(java, in_blob(0), 0);
	assert_int_equal(output->header.cut, STACK_CUT_BAD_FRAME);
	/* the caller's frame is in memory that cannot be read */
	put_blob(java, 0, NMETHOD, 1U << 16);
	output = walk(java, in_blob(0), 0);
	assert_int_equal(output->header.cut, STACK_CUT_READ_FAULT);
	assert_int_equal(output->header.n_user_frames, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		java_test(compiled_methods_lead_to_the_native_callers_of_the_jvm),
		java_test(code_of_another_image_of_the_process_is_not_java),
		java_test(the_innermost_frame_may_be_made_or_removed_in_part),
		java_test(interpreted_methods_have_positions_in_their_byte_code),
		java_test(an_interpreted_frame_that_is_not_made_is_left_out),
		java_test(stubs_have_a_size_or_a_return_address_into_java),
		java_test(an_invalidated_frame_has_its_true_position),
		java_test(places_may_be_relative_to_the_code),
		java_test(interpreted_frames_of_jdk_8_are_a_word_smaller),
		java_test(code_that_cannot_be_found_is_counted),
		java_test(impossible_frames_end_the_stack_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
