/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PHP functions in an invented stack (made_up_stack.h):
 *
 *   function 1, called by the loop A (function 0), called by function 2, called by the loop B
 *   (function 0), called by function 3
 *
 * The loop A executes INNER, a callback of the internal function SORT that MIDDLE called; the loop
 * B executes MIDDLE, which OUTER called. INNER calls the internal function LEAF. The frames of PHP
 * are after the native ones.
 */
#include "agent/interpreter/php/php_layout.h"
#include "tests/host_bpf/made_up_stack.h"

/* Indexes of words of the stack: records of frame pointers. */
enum {
	LEAF_RECORD = 10,
	A_RECORD = 30,
	SECOND_RECORD = 40,
	B_RECORD = 60,
};

/* Indexes of words of frames, which are not in the stack, and of the globals. */
enum {
	GLOBALS = 100,
	LEAF = 200,
	INNER = 300,
	SORT = 400,
	MIDDLE = 500,
	OUTER = 600,
	FIBER = 700,
	RESUMER = 800,
};

/* Words from the beginning of a frame to its function, and to its instructions. */
#define FUNCTION 10
#define OPLINES  40
#define N_LINES  8

#define TOP      (1U << 17)
#define INTERNAL 1
#define USER     2
#define EVAL     4

struct php {
	struct made_up *process;
	const struct abi_php_layout *layout;
	struct abi_interpreter interpreters[2];
};

static uint64_t function_of(size_t frame)
{
	return at_word(frame + FUNCTION);
}

/* The instruction @number of the frame's function; its line is number + 1 more than the frame. */
static uint64_t opline_of(size_t frame, unsigned int number)
{
	return at_word(frame + OPLINES) + 32 * (uint64_t)number;
}

static uint32_t line_of(size_t frame, unsigned int number)
{
	return (uint32_t)frame + number + 1;
}

static void put_frame(struct php *php, size_t frame, uint8_t type, uint64_t previous,
		      uint32_t call_info)
{
	uint64_t *words = &php->process->words[frame];
	uint64_t *function = words + FUNCTION;
	const uint32_t n_lines = N_LINES;

	words[0] = opline_of(frame, 2);
	words[3] = function_of(frame);
	words[5] = (uint64_t)7 << 32 | call_info;
	words[6] = previous;
	function[0] = 0xabcd00 | type;
	function[1] = at_word(900); /* its name */
	function[php->layout->function_oplines / 8] = opline_of(frame, 0);
	memcpy((uint8_t *)function + php->layout->function_n_oplines, &n_lines, sizeof(n_lines));
	for (unsigned int i = 0; i < N_LINES; i++)
		words[OPLINES + 4 * i + 3] = (uint64_t)99 << 32 | line_of(frame, i);
}

static void set_current(struct php *php, uint64_t frame)
{
	php->process->words[GLOBALS + php->layout->globals_current / 8] = frame;
}

/* The native stack: records {caller's frame pointer, caller's pc}. */
static void put_stack(struct made_up *process)
{
	const struct {
		size_t record;
		uint64_t fp, pc;
	} records[] = {
		{ LEAF_RECORD, at_word(A_RECORD), in_function(0) },
		{ A_RECORD, at_word(SECOND_RECORD), in_function(2) },
		{ SECOND_RECORD, at_word(B_RECORD), in_function(0) },
		{ B_RECORD, 0, in_function(3) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		process->words[records[i].record] = records[i].fp;
		process->words[records[i].record + 1] = records[i].pc;
	}
	process->input.registers.pc = in_function(1);
	process->input.registers.general[6] = at_word(LEAF_RECORD);
	process->input.registers.general[7] = at_word(LEAF_RECORD - 2);
}

static void map_interpreter(struct php *php)
{
	const struct abi_mapping mapping = {
		.start = CODE_START,
		.end = CODE_START + CODE_BYTES,
		.bias = CODE_BIAS,
		.executable = 1,
		.kind = FRAME_NATIVE,
		.interpreter = 1,
	};
	struct made_up *process = php->process;

	assert_ok(host_maps_set_mappings(&process->maps, &mapping, 1));
	host_maps_describe(&process->maps, &process->input);
	php->interpreters[1] = (struct abi_interpreter){
		.runtime = INTERPRETER_PHP,
		.runtime_addr = at_word(GLOBALS) - CODE_BIAS,
		.loop = { { CODE_START - CODE_BIAS, CODE_START - CODE_BIAS + FUNCTION_BYTES } },
		.php = *php->layout,
	};
	php->interpreters[1].php.frame_register = 14;
	php->interpreters[1].php.opline_register = 15;
	process->input.interpreters = php->interpreters;
	process->input.n_interpreters = ARRAY_SIZE(php->interpreters);
}

static void set_up(struct php *php, uint32_t version)
{
	const struct abi_unwind_rule by_frame_pointer = {
		.cfa = UNWIND_CFA_FP,
		.cfa_offset = 16,
		.fp = UNWIND_SAVED_CFA,
		.fp_offset = -16,
		.ra = UNWIND_SAVED_CFA,
		.ra_offset = -8,
	};
	const struct abi_unwind_rule rules[] = {
		by_frame_pointer, by_frame_pointer, by_frame_pointer, { .cfa = UNWIND_CFA_END }
	};

	*php = (struct php){ .process = made_up_new(rules, ARRAY_SIZE(rules)),
			     .layout = &php_layout_of(version)->walk };
	put_stack(php->process);
	map_interpreter(php);
	put_frame(php, LEAF, INTERNAL, at_word(INNER), 0);
	put_frame(php, INNER, USER, at_word(SORT), TOP);
	/* zend_call_function() marks internal functions too. */
	put_frame(php, SORT, INTERNAL, at_word(MIDDLE), TOP);
	put_frame(php, MIDDLE, USER, at_word(OUTER), 0);
	put_frame(php, OUTER, EVAL, 0, TOP);
	set_current(php, at_word(LEAF));
}

static void tear_down(struct php *php)
{
	made_up_free(php->process);
}

static const unsigned int native_functions[] = { 1, 0, 2, 0, 3 };

#define N_NATIVE ARRAY_SIZE(native_functions)

static void expect_native_frames(const struct host_unwind_output *output)
{
	for (size_t i = 0; i < N_NATIVE; i++) {
		const struct abi_frame *frame = &output->frames[i];
		const bool is_loop = native_functions[i] == 0;

		assert_int_equal(frame->kind, FRAME_NATIVE | (is_loop ? ABI_FRAME_IS_LOOP : 0));
		assert_int_equal((frame->address - (CODE_START - CODE_BIAS)) / FUNCTION_BYTES,
				 native_functions[i]);
	}
}

/* Index of a frame that is the outermost one of its call. */
#define ENDS(frame) ((frame) | 0x10000)

/* @expected: indexes of frames. */
static void expect_walk(struct php *php, const size_t *expected, size_t count)
{
	const struct host_unwind_output *output = &php->process->output;

	host_unwind_x86(&php->process->input, &php->process->output);
	assert_int_equal(output->header.n_user_frames, N_NATIVE + count);
	expect_native_frames(output);
	for (size_t i = 0; i < count; i++) {
		const struct abi_frame *frame = &output->frames[N_NATIVE + i];
		const bool ends = expected[i] & ENDS(0);

		assert_int_equal(frame->kind, FRAME_PHP | (ends ? ABI_FRAME_ENDS_CALL : 0));
		assert_int_equal(frame->address, function_of(expected[i] & 0xffff));
	}
	assert_int_equal(output->counters[ABI_COUNTER_PHP_FRAMES], count);
}

#define expect_frames_of(php, ...)                                                                 \
	do {                                                                                       \
		const size_t frames_[] = { __VA_ARGS__ };                                          \
		expect_walk((php), frames_, ARRAY_SIZE(frames_));                                  \
	} while (0)

static void expect_flags(const struct php *php, unsigned int flags)
{
	assert_int_equal(php->process->output.header.more_flags, flags);
}

#define WHOLE (ABI_SAMPLE_LISTED | ABI_SAMPLE_BYTE_CODE)
#define CUT   (WHOLE | ABI_SAMPLE_LIST_CUT)

/* The line of the frame at @index of those of PHP. */
static uint32_t line_at(const struct php *php, size_t index)
{
	return php->process->output.frames[N_NATIVE + index].executable;
}

static void frames_of_functions_follow_the_native_ones(void **state)
{
	static const uint32_t versions[] = { 0x0704, 0x0800, 0x0801, 0x0802, 0x0803, 0x0804 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct php php;

		set_up(&php, versions[i]);
		expect_frames_of(&php, ENDS(INNER), MIDDLE, ENDS(OUTER));
		assert_int_equal(line_at(&php, 0), line_of(INNER, 2));
		assert_int_equal(line_at(&php, 1), line_of(MIDDLE, 2));
		assert_int_equal(line_at(&php, 2), line_of(OUTER, 2));
		tear_down(&php);
	}
}

static void frames_without_a_function_are_left_out(void **state)
{
	struct php php;

	(void)state;
	set_up(&php, 0x0802);
	/* A copy of a frame without its function: the mark means nothing. */
	php.process->words[SORT + 3] = 0;
	expect_frames_of(&php, ENDS(INNER), MIDDLE, ENDS(OUTER));
	/* No script runs yet. */
	set_current(&php, 0);
	expect_walk(&php, NULL, 0);
	tear_down(&php);
}

static void the_register_has_the_line_that_is_executed(void **state)
{
	struct php php;
	uint64_t *general;

	(void)state;
	set_up(&php, 0x0802);
	general = php.process->input.registers.general;
	general[14] = at_word(INNER);
	general[15] = opline_of(INNER, 5);
	expect_frames_of(&php, ENDS(INNER), MIDDLE, ENDS(OUTER));
	assert_int_equal(line_at(&php, 0), line_of(INNER, 5));
	assert_int_equal(line_at(&php, 1), line_of(MIDDLE, 2));
	/* The called function has changed one of them. */
	general[15] = opline_of(INNER, 5) + 8;
	expect_frames_of(&php, ENDS(INNER), MIDDLE, ENDS(OUTER));
	assert_int_equal(line_at(&php, 0), line_of(INNER, 2));
	general[14] = 4711;
	general[15] = opline_of(INNER, 5);
	expect_frames_of(&php, ENDS(INNER), MIDDLE, ENDS(OUTER));
	assert_int_equal(line_at(&php, 0), line_of(INNER, 2));
	/* A build without such registers. */
	php.interpreters[1].php.frame_register = 0;
	general[14] = at_word(INNER);
	expect_frames_of(&php, ENDS(INNER), MIDDLE, ENDS(OUTER));
	assert_int_equal(line_at(&php, 0), line_of(INNER, 2));
	tear_down(&php);
}

/* A function that has begun has the instruction that was there before. */
static void an_instruction_of_another_function_has_no_line(void **state)
{
	struct php php;

	(void)state;
	set_up(&php, 0x0802);
	php.process->words[INNER] = opline_of(MIDDLE, 1);
	php.process->words[MIDDLE] = opline_of(MIDDLE, N_LINES);
	php.process->words[OUTER] = 0;
	expect_frames_of(&php, ENDS(INNER), MIDDLE, ENDS(OUTER));
	assert_int_equal(line_at(&php, 0), 0);
	assert_int_equal(line_at(&php, 1), 0);
	assert_int_equal(line_at(&php, 2), 0);
	tear_down(&php);
}

/* It is no longer in the list. */
static void a_function_that_returns_is_found_by_its_register(void **state)
{
	struct php php;
	uint64_t *general;

	(void)state;
	set_up(&php, 0x0804);
	general = php.process->input.registers.general;
	set_current(&php, at_word(SORT));
	general[14] = at_word(INNER);
	general[15] = opline_of(INNER, 7);
	expect_frames_of(&php, ENDS(INNER), MIDDLE, ENDS(OUTER));
	assert_int_equal(line_at(&php, 0), line_of(INNER, 7));
	/* Registers with other values: a frame that another one called, an internal function. */
	general[14] = at_word(MIDDLE);
	general[15] = opline_of(MIDDLE, 1);
	expect_frames_of(&php, MIDDLE, ENDS(OUTER));
	general[14] = at_word(LEAF);
	general[15] = opline_of(LEAF, 1);
	set_current(&php, at_word(INNER));
	expect_frames_of(&php, ENDS(INNER), MIDDLE, ENDS(OUTER));
	tear_down(&php);
}

/* A Fiber begins with an internal function without a name. */
static void a_stack_of_a_fiber_has_no_frames_of_its_resumer(void **state)
{
	struct php php;
	uint64_t *words;

	(void)state;
	set_up(&php, 0x0802);
	words = php.process->words;
	words[OUTER + 6] = at_word(FIBER);
	put_frame(&php, FIBER, INTERNAL, at_word(RESUMER), 0);
	put_frame(&php, RESUMER, USER, 0, TOP);
	expect_frames_of(&php, ENDS(INNER), MIDDLE, ENDS(OUTER), ENDS(RESUMER));
	words[FIBER + FUNCTION + 1] = 0;
	expect_frames_of(&php, ENDS(INNER), MIDDLE, ENDS(OUTER));
	expect_flags(&php, WHOLE);
	/* Other functions of PHP's own have no name either. */
	words[LEAF + FUNCTION + 1] = 0;
	expect_frames_of(&php, ENDS(INNER), MIDDLE, ENDS(OUTER));
	tear_down(&php);
}

static void native_frames_remain_if_the_memory_cannot_be_read(void **state)
{
	struct php php;

	(void)state;
	set_up(&php, 0x0802);
	php.process->words[SORT + 6] = 4096;
	expect_frames_of(&php, ENDS(INNER));
	expect_flags(&php, CUT);
	assert_int_equal(php.process->output.counters[ABI_COUNTER_PHP_UNREADABLE], 1);
	php.process->words[INNER + 3] = 4096;
	expect_walk(&php, NULL, 0);
	assert_int_equal(php.process->output.counters[ABI_COUNTER_PHP_UNREADABLE], 1);
	php.interpreters[1].runtime_addr = 4096;
	expect_walk(&php, NULL, 0);
	assert_int_equal(php.process->output.counters[ABI_COUNTER_PHP_UNREADABLE], 1);
	tear_down(&php);
}

static void cycles_end_with_a_counted_cut(void **state)
{
	struct php php;

	(void)state;
	set_up(&php, 0x0802);
	put_frame(&php, OUTER, USER, at_word(MIDDLE), 0);
	host_unwind_x86(&php.process->input, &php.process->output);
	assert_int_equal(php.process->output.header.cut, STACK_CUT_DEPTH);
	assert_int_equal(php.process->output.header.n_user_frames, ABI_MAX_USER_FRAMES);
	expect_flags(&php, CUT);
	/* A cycle without functions of scripts. */
	put_frame(&php, SORT, INTERNAL, at_word(SORT), 0);
	expect_frames_of(&php, ENDS(INNER));
	expect_flags(&php, CUT);
	tear_down(&php);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_functions_follow_the_native_ones),
		cmocka_unit_test(frames_without_a_function_are_left_out),
		cmocka_unit_test(the_register_has_the_line_that_is_executed),
		cmocka_unit_test(an_instruction_of_another_function_has_no_line),
		cmocka_unit_test(a_function_that_returns_is_found_by_its_register),
		cmocka_unit_test(a_stack_of_a_fiber_has_no_frames_of_its_resumer),
		cmocka_unit_test(native_frames_remain_if_the_memory_cannot_be_read),
		cmocka_unit_test(cycles_end_with_a_counted_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
