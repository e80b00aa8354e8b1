/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python functions in an invented stack (made_up_stack.h):
 *
 *   function 1, called by the loop A (function 0), called by function 2, called by the loop B
 *   (function 0), called by function 3
 *
 * The loop A executes the Python function INNER; the loop B executes MIDDLE, which OUTER called.
 */
#include "agent/interpreter/python/python_layout.h"
#include "tests/host_bpf/made_up_stack.h"

#define TID     4711
#define PTHREAD UINT64_C(0x7f1234567740)

/* Indexes of words of the stack: records of frame pointers, objects in the two loops' frames. */
enum {
	LEAF_RECORD = 10,
	A_LOCAL = 20, /* the cframe or the shim of the loop A; its stack frame is words 12 to 31 */
	A_RECORD = 30,
	SECOND_RECORD = 40,
	B_LOCAL = 50, /* words 42 to 61 */
	B_RECORD = 60,
};

/* Indexes of words of objects that are not in the stack. */
enum {
	RUNTIME = 100, /* its fields are up to 808 bytes behind */
	VM = 210,
	THREAD = 400,
	OTHER_THREAD = 430,
	INNER = 500,
	MIDDLE = 520,
	OUTER = 540,
};

struct python {
	struct made_up *process;
	const struct abi_python_layout *layout;
	struct abi_interpreter interpreters[2];
};

static void put(struct python *python, size_t object, size_t offset, uint64_t value)
{
	python->process->words[object + offset / 8] = value;
}

static uint64_t code_of(size_t frame)
{
	return 0x100000 + frame * 0x1000;
}

static void put_frame(struct python *python, size_t frame, uint64_t previous, bool is_entry)
{
	const struct abi_python_layout *layout = python->layout;
	uint8_t *bytes = (uint8_t *)&python->process->words[frame];

	put(python, frame, layout->frame_code, code_of(frame));
	put(python, frame, layout->frame_previous, previous);
	put(python, frame, layout->frame_instruction,
	    code_of(frame) + layout->code_bytecode + 2 * frame);
	bytes[layout->frame_entry] = is_entry ? (uint8_t)layout->frame_entry_value : 0;
}

static void put_cframe(struct python *python, size_t cframe, uint64_t frame, uint64_t previous)
{
	put(python, cframe, python->layout->cframe_frame, frame);
	put(python, cframe, python->layout->cframe_previous, previous);
}

static void put_thread(struct python *python, size_t thread, uint64_t tid, uint64_t cframe,
		       uint64_t next)
{
	put(python, thread, python->layout->thread_native_id, tid);
	put(python, thread, python->layout->thread_cframe, cframe);
	put(python, thread, python->layout->thread_next, next);
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

static void map_interpreter(struct python *python)
{
	const struct abi_mapping mapping = {
		.start = CODE_START,
		.end = CODE_START + CODE_BYTES,
		.bias = CODE_BIAS,
		.executable = 1,
		.kind = FRAME_NATIVE,
		.interpreter = 1,
	};
	struct made_up *process = python->process;

	assert_ok(host_maps_set_mappings(&process->maps, &mapping, 1));
	host_maps_describe(&process->maps, &process->input);
	python->interpreters[1] = (struct abi_interpreter){
		.runtime = INTERPRETER_PYTHON,
		.runtime_addr = at_word(RUNTIME) - CODE_BIAS,
		.loop = { { CODE_START - CODE_BIAS, CODE_START - CODE_BIAS + FUNCTION_BYTES } },
		.python = *python->layout,
	};
	process->input.interpreters = python->interpreters;
	process->input.n_interpreters = ARRAY_SIZE(python->interpreters);
	process->input.process.tid = TID;
}

/* A process with the native stack, and the one thread that was sampled. */
static void set_up(struct python *python, uint32_t version)
{
	*python = (struct python){ .process = made_up_new(NULL, 0),
				   .layout = &python_layout_of(version)->walk };
	put_stack(python->process);
	map_interpreter(python);
	put(python, RUNTIME, python->layout->runtime_interpreters, at_word(VM));
	python->interpreters[1].python.interpreter_threads = 16;
	python->interpreters[1].python.interpreter_next = 0;
	put(python, VM, 16, at_word(THREAD));
	put_thread(python, THREAD, TID, at_word(A_LOCAL), 0);
}

/* Frames as in 3.11: each loop has a cframe. */
static void set_up_3_11(struct python *python)
{
	set_up(python, 0x030b);
	put_frame(python, INNER, at_word(MIDDLE), true);
	put_frame(python, MIDDLE, at_word(OUTER), false);
	put_frame(python, OUTER, 0, true);
	put_cframe(python, A_LOCAL, at_word(INNER), at_word(B_LOCAL));
	put_cframe(python, B_LOCAL, at_word(MIDDLE), 0);
}

/* Frames as in 3.13 and later: each loop has a shim, and there are no cframes. */
static void set_up_shims(struct python *python, uint32_t version)
{
	set_up(python, version);
	put_frame(python, INNER, at_word(A_LOCAL), false);
	put_frame(python, A_LOCAL, at_word(MIDDLE), true);
	put_frame(python, MIDDLE, at_word(OUTER), false);
	put_frame(python, OUTER, at_word(B_LOCAL), false);
	put_frame(python, B_LOCAL, 0, true);
	put_thread(python, THREAD, TID, at_word(INNER), 0);
}

static void put_old_frame(struct python *python, size_t frame, uint64_t previous)
{
	const struct abi_python_layout *layout = python->layout;

	put(python, frame, layout->frame_code, code_of(frame));
	put(python, frame, layout->frame_previous, previous);
	put(python, frame, layout->frame_instruction, 2 * frame / layout->index_bytes);
}

/* Frames as before 3.11: each loop executes one function; OUTER is not there. */
static void set_up_old(struct python *python, uint32_t version)
{
	set_up(python, version);
	python->process->input.process.thread_pointer = PTHREAD;
	put_old_frame(python, INNER, at_word(MIDDLE));
	put_old_frame(python, MIDDLE, 0);
	put_thread(python, THREAD, PTHREAD, at_word(INNER), 0);
}

static void tear_down(struct python *python)
{
	host_maps_release(&python->process->maps);
	free(python->process);
}

/* @expected: numbers of native functions, or indexes of Python frames. */
static void expect_walk(struct python *python, const uint64_t *expected, size_t count)
{
	const struct host_unwind_output *output = &python->process->output;

	host_unwind_x86(&python->process->input, &python->process->output);
	assert_int_equal(output->header.n_user_frames, count);
	for (size_t i = 0; i < count; i++) {
		const struct abi_frame *frame = &output->frames[i];

		if (expected[i] < INNER) {
			assert_int_equal(frame->kind, FRAME_NATIVE);
			assert_int_equal((frame->address - (CODE_START - CODE_BIAS)) /
						 FUNCTION_BYTES,
					 expected[i]);
			continue;
		}
		assert_int_equal(frame->kind, FRAME_PYTHON);
		assert_int_equal(frame->address, code_of(expected[i]));
		assert_int_equal(frame->executable, 2 * expected[i]);
	}
}

static const uint64_t all_frames[] = { 1, INNER, 0, 2, MIDDLE, OUTER, 0, 3 };
static const uint64_t without_inner[] = { 1, 0, 2, MIDDLE, OUTER, 0, 3 };
static const uint64_t native_frames[] = { 1, 0, 2, 0, 3 };

static void each_call_of_the_loop_has_its_functions(void **state)
{
	struct python python;

	(void)state;
	set_up_3_11(&python);
	expect_walk(&python, all_frames, ARRAY_SIZE(all_frames));
	assert_int_equal(python.process->output.counters[ABI_COUNTER_PYTHON_FRAMES], 3);
	assert_int_equal(python.process->output.header.more_flags, ABI_SAMPLE_BYTE_CODE);
	tear_down(&python);
	set_up_shims(&python, 0x030d);
	expect_walk(&python, all_frames, ARRAY_SIZE(all_frames));
	assert_int_equal(python.process->output.counters[ABI_COUNTER_PYTHON_FRAMES], 3);
	tear_down(&python);
}

/* In 3.14 the lowest bit of a frame's pointer to its code is a flag. */
static void flags_in_the_pointer_to_the_code_are_ignored(void **state)
{
	static const size_t frames[] = { INNER, MIDDLE, OUTER };
	struct python python;

	(void)state;
	set_up_shims(&python, 0x030e);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		put(&python, frames[i], python.layout->frame_code, code_of(frames[i]) | 1);
	expect_walk(&python, all_frames, ARRAY_SIZE(all_frames));
	assert_int_equal(python.process->output.counters[ABI_COUNTER_PYTHON_FRAMES], 3);
	tear_down(&python);
}

static void a_call_that_has_just_begun_has_no_functions(void **state)
{
	struct python python;

	(void)state;
	set_up_3_11(&python);
	put_thread(&python, THREAD, TID, at_word(B_LOCAL), 0);
	expect_walk(&python, without_inner, ARRAY_SIZE(without_inner));
	tear_down(&python);
	set_up_shims(&python, 0x030d);
	put_thread(&python, THREAD, TID, at_word(MIDDLE), 0);
	expect_walk(&python, without_inner, ARRAY_SIZE(without_inner));
	assert_int_equal(python.process->output.counters[ABI_COUNTER_PYTHON_FRAMES], 2);
	tear_down(&python);
}

static void the_thread_is_found_in_the_list(void **state)
{
	struct python python;

	(void)state;
	set_up_3_11(&python);
	put(&python, VM, 16, at_word(OTHER_THREAD));
	put_thread(&python, OTHER_THREAD, TID + 1, 0, at_word(THREAD));
	/* Another thread holds the lock. */
	put(&python, RUNTIME, python.layout->runtime_current_thread, at_word(OTHER_THREAD));
	expect_walk(&python, all_frames, ARRAY_SIZE(all_frames));
	put(&python, RUNTIME, python.layout->runtime_current_thread, at_word(THREAD));
	put(&python, RUNTIME, python.layout->runtime_interpreters, 0);
	expect_walk(&python, all_frames, ARRAY_SIZE(all_frames));
	tear_down(&python);
}

static void native_frames_remain_without_a_thread(void **state)
{
	struct python python;

	(void)state;
	set_up_3_11(&python);
	put_thread(&python, THREAD, TID + 1, at_word(A_LOCAL), 0);
	expect_walk(&python, native_frames, ARRAY_SIZE(native_frames));
	assert_int_equal(python.process->output.counters[ABI_COUNTER_PYTHON_NO_THREAD], 1);
	/* A cycle of threads. */
	put_thread(&python, THREAD, TID + 1, at_word(A_LOCAL), at_word(THREAD));
	expect_walk(&python, native_frames, ARRAY_SIZE(native_frames));
	assert_int_equal(python.process->output.counters[ABI_COUNTER_PYTHON_NO_THREAD], 1);
	tear_down(&python);
}

static void native_frames_remain_if_the_memory_cannot_be_read(void **state)
{
	static const uint64_t with_inner[] = { 1, INNER, 0, 2, 0, 3 };
	struct python python;

	(void)state;
	set_up_3_11(&python);
	put_cframe(&python, B_LOCAL, 4096, 0);
	expect_walk(&python, with_inner, ARRAY_SIZE(with_inner));
	assert_int_equal(python.process->output.counters[ABI_COUNTER_PYTHON_UNREADABLE], 1);
	put_cframe(&python, A_LOCAL, 4096, at_word(B_LOCAL));
	expect_walk(&python, native_frames, ARRAY_SIZE(native_frames));
	tear_down(&python);
}

static void expect_cut(struct python *python)
{
	const struct host_unwind_output *output = &python->process->output;

	host_unwind_x86(&python->process->input, &python->process->output);
	assert_int_equal(output->header.cut, STACK_CUT_DEPTH);
	assert_true(output->header.n_user_frames <= ABI_MAX_USER_FRAMES);
}

static void cycles_end_with_a_counted_cut(void **state)
{
	struct python python;

	(void)state;
	set_up_3_11(&python);
	put_frame(&python, OUTER, at_word(MIDDLE), false);
	expect_cut(&python);
	assert_int_equal(python.process->output.header.n_user_frames, ABI_MAX_USER_FRAMES);
	/* A cycle of cframes without functions. */
	put_cframe(&python, A_LOCAL, 0, at_word(A_LOCAL));
	expect_cut(&python);
	tear_down(&python);
	/* Shims that are not in the stack. */
	set_up_shims(&python, 0x030d);
	put_frame(&python, MIDDLE, at_word(MIDDLE), true);
	put_thread(&python, THREAD, TID, at_word(MIDDLE), 0);
	expect_walk(&python, native_frames, ARRAY_SIZE(native_frames));
	tear_down(&python);
}

static const uint64_t old_frames[] = { 1, INNER, 0, 2, MIDDLE, 0, 3 };

static void each_call_of_the_loop_has_one_function_before_3_11(void **state)
{
	static const uint32_t versions[] = { 0x0308, 0x0309, 0x030a };
	struct python python;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		set_up_old(&python, versions[i]);
		expect_walk(&python, old_frames, ARRAY_SIZE(old_frames));
		assert_int_equal(python.process->output.counters[ABI_COUNTER_PYTHON_FRAMES], 2);
		/* A function that has not begun is at its first instruction. */
		put(&python, INNER, python.layout->frame_instruction, UINT32_MAX);
		host_unwind_x86(&python.process->input, &python.process->output);
		assert_int_equal(python.process->output.frames[1].kind, FRAME_PYTHON);
		assert_int_equal(python.process->output.frames[1].executable, 0);
		tear_down(&python);
	}
}

/* The sampled function is the loop A, at @offset. */
static void put_leaf_in_loop(struct python *python, uint64_t offset)
{
	struct host_unwind_registers *registers = &python->process->input.registers;

	registers->pc = CODE_START + offset;
	registers->general[6] = at_word(A_RECORD);
	registers->general[7] = at_word(A_RECORD - 2);
}

static void a_call_that_has_not_linked_its_frame_has_no_function(void **state)
{
	static const uint64_t linked[] = { INNER, 0, 2, MIDDLE, 0, 3 };
	static const uint64_t unlinked[] = { 0, 2, MIDDLE, 0, 3 };
	static const struct {
		uint64_t offset;
		bool is_linked;
	} cases[] = { { 0, false },   { 5, false },  { 6, true },  { 39, true },
		      { 40, false },  { 49, false }, { 50, true }, { 99, true },
		      { 100, false }, { 101, true }, { 255, true } };
	struct python python;

	(void)state;
	set_up_old(&python, 0x0309);
	python.interpreters[1].unlinked[0] = (struct abi_code_piece){ .start = 0, .bytes = 6 };
	python.interpreters[1].unlinked[1] = (struct abi_code_piece){ .start = 40, .bytes = 10 };
	python.interpreters[1].unlinked[ABI_UNLINKED_PIECES - 1] =
		(struct abi_code_piece){ .start = 100, .bytes = 1 };
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		put_leaf_in_loop(&python, cases[i].offset);
		if (cases[i].is_linked) {
			put_thread(&python, THREAD, PTHREAD, at_word(INNER), 0);
			expect_walk(&python, linked, ARRAY_SIZE(linked));
		} else {
			put_thread(&python, THREAD, PTHREAD, at_word(MIDDLE), 0);
			expect_walk(&python, unlinked, ARRAY_SIZE(unlinked));
		}
	}
	tear_down(&python);
}

/* The part of the loop that the compiler moved away may be before the function. */
static void unlinked_code_may_be_before_the_loop(void **state)
{
	static const uint64_t frames[] = { 0, 2, MIDDLE, 8, 3 };
	struct abi_interpreter *interpreter;
	struct python python;

	(void)state;
	set_up_old(&python, 0x0309);
	interpreter = &python.interpreters[1];
	interpreter->loop[1] = interpreter->loop[0];
	interpreter->loop[0].start += UINT64_C(8) * FUNCTION_BYTES;
	interpreter->loop[0].end += UINT64_C(8) * FUNCTION_BYTES;
	interpreter->unlinked[0] =
		(struct abi_code_piece){ .start = -8 * FUNCTION_BYTES, .bytes = 6 };
	put_leaf_in_loop(&python, 5);
	put_thread(&python, THREAD, PTHREAD, at_word(MIDDLE), 0);
	expect_walk(&python, frames, ARRAY_SIZE(frames));
	tear_down(&python);
}

static void the_thread_is_found_by_its_pointer_before_3_11(void **state)
{
	struct python python;

	(void)state;
	set_up_old(&python, 0x0309);
	put(&python, VM, 16, at_word(OTHER_THREAD));
	put_thread(&python, OTHER_THREAD, PTHREAD + 0x1000, at_word(MIDDLE), at_word(THREAD));
	put(&python, RUNTIME, python.layout->runtime_current_thread, at_word(OTHER_THREAD));
	expect_walk(&python, old_frames, ARRAY_SIZE(old_frames));
	put_thread(&python, THREAD, TID, at_word(INNER), 0);
	expect_walk(&python, native_frames, ARRAY_SIZE(native_frames));
	assert_int_equal(python.process->output.counters[ABI_COUNTER_PYTHON_NO_THREAD], 1);
	tear_down(&python);
}

static void native_frames_remain_where_the_list_of_frames_ends(void **state)
{
	static const uint64_t with_inner[] = { 1, INNER, 0, 2, 0, 3 };
	struct python python;

	(void)state;
	set_up_old(&python, 0x030a);
	put_old_frame(&python, INNER, 0);
	expect_walk(&python, with_inner, ARRAY_SIZE(with_inner));
	put_old_frame(&python, INNER, 4096);
	expect_walk(&python, with_inner, ARRAY_SIZE(with_inner));
	assert_int_equal(python.process->output.counters[ABI_COUNTER_PYTHON_UNREADABLE], 1);
	/* A cycle: each call of the loop has one function nevertheless. */
	put_old_frame(&python, INNER, at_word(INNER));
	host_unwind_x86(&python.process->input, &python.process->output);
	assert_int_equal(python.process->output.header.n_user_frames, ARRAY_SIZE(old_frames));
	tear_down(&python);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_of_the_loop_has_its_functions),
		cmocka_unit_test(flags_in_the_pointer_to_the_code_are_ignored),
		cmocka_unit_test(a_call_that_has_just_begun_has_no_functions),
		cmocka_unit_test(the_thread_is_found_in_the_list),
		cmocka_unit_test(native_frames_remain_without_a_thread),
		cmocka_unit_test(native_frames_remain_if_the_memory_cannot_be_read),
		cmocka_unit_test(cycles_end_with_a_counted_cut),
		cmocka_unit_test(each_call_of_the_loop_has_one_function_before_3_11),
		cmocka_unit_test(a_call_that_has_not_linked_its_frame_has_no_function),
		cmocka_unit_test(unlinked_code_may_be_before_the_loop),
		cmocka_unit_test(the_thread_is_found_by_its_pointer_before_3_11),
		cmocka_unit_test(native_frames_remain_where_the_list_of_frames_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
