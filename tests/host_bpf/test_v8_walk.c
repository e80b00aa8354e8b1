/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of JavaScript in an invented stack (made_up_stack.h), innermost first:
 *
 *   COMPILED      code that V8 generated, in memory without a file
 *   INTERPRETED   its caller; the return address is in function 0, which enters the handlers of
 *                 byte code
 *   builtin       function 1, with a frame that has a type instead of a context
 *   CALLER        compiled; called function 1
 *   native        function 2, which has no frame of JavaScript
 *
 * Functions 0 to 2 are in the file of V8, which has no rows for them, except in the last test.
 */
#include "tests/host_bpf/made_up_stack.h"

#define FUNCTION_SHARED 24

/* Indexes of words of the stack: records of frame pointers, two words after the function. */
enum {
	COMPILED_RECORD = 10,
	INTERPRETED_RECORD = 20,
	BUILTIN_RECORD = 30,
	CALLER_RECORD = 40,
	NATIVE_RECORD = 50,
};

/* Indexes of words of the JSFunctions, which are not in the stack. */
enum {
	COMPILED = 100,
	INTERPRETED = 120,
	CALLER = 140,
};

/* Other expected frames: a native function, generated code without a name. */
#define NATIVE(number) (number)
#define GENERATED      99

struct v8 {
	struct made_up *process;
	struct abi_interpreter interpreters[2];
	struct abi_process entry;
};

static uint64_t shared_of(size_t function)
{
	return 0x200000 + function * 0x1000 + 1;
}

static uint64_t generated_pc(unsigned int number)
{
	return OTHER_START + number * 64 + 1;
}

static void put_function(struct made_up *process, size_t record, size_t function)
{
	process->words[record - 2] = at_word(function) + 1;
	process->words[record - 1] = at_word(200) + 1; /* the context */
	process->words[function + FUNCTION_SHARED / 8] = shared_of(function);
}

static void put_record(struct made_up *process, size_t record, uint64_t fp, uint64_t pc)
{
	process->words[record] = fp;
	process->words[record + 1] = pc;
}

static void map_v8(struct v8 *v8)
{
	const struct abi_mapping mappings[] = {
		{ .start = CODE_START,
		  .end = CODE_START + CODE_BYTES,
		  .bias = CODE_BIAS,
		  .executable = 1,
		  .kind = FRAME_NATIVE,
		  .interpreter = 1 },
		{ .start = OTHER_START, .end = OTHER_START + OTHER_BYTES, .kind = FRAME_NATIVE },
	};
	struct made_up *process = v8->process;

	assert_ok(host_maps_set_mappings(&process->maps, mappings, ARRAY_SIZE(mappings)));
	host_maps_describe(&process->maps, &process->input);
	v8->interpreters[1] = (struct abi_interpreter){
		.runtime = INTERPRETER_V8,
		.v8 = { .function_shared = FUNCTION_SHARED,
			.entry = { CODE_START - CODE_BIAS,
				   CODE_START - CODE_BIAS + FUNCTION_BYTES } },
	};
	v8->entry = *process->input.process.entry;
	v8->entry.flags |= 1U << ABI_PROCESS_V8_SHIFT;
	process->input.process.entry = &v8->entry;
	process->input.interpreters = v8->interpreters;
	process->input.n_interpreters = ARRAY_SIZE(v8->interpreters);
}

static void set_up(struct v8 *v8, const struct abi_unwind_rule *rules, unsigned int n_rules)
{
	struct made_up *process = made_up_new(rules, n_rules);

	*v8 = (struct v8){ .process = process };
	map_v8(v8);
	put_function(process, COMPILED_RECORD, COMPILED);
	put_function(process, INTERPRETED_RECORD, INTERPRETED);
	process->words[BUILTIN_RECORD - 1] = 28 << 1; /* the type of the frame */
	put_function(process, CALLER_RECORD, CALLER);
	put_record(process, COMPILED_RECORD, at_word(INTERPRETED_RECORD), in_function(0));
	put_record(process, INTERPRETED_RECORD, at_word(BUILTIN_RECORD), in_function(1));
	put_record(process, BUILTIN_RECORD, at_word(CALLER_RECORD), generated_pc(1));
	put_record(process, CALLER_RECORD, at_word(NATIVE_RECORD), in_function(2));
	process->input.registers.pc = generated_pc(0);
	process->input.registers.general[6] = at_word(COMPILED_RECORD);
	process->input.registers.general[7] = at_word(COMPILED_RECORD - 4);
}

static void tear_down(struct v8 *v8)
{
	made_up_free(v8->process);
}

static void expect_walk(struct v8 *v8, const uint64_t *expected, size_t count)
{
	const struct host_unwind_output *output = &v8->process->output;
	uint64_t n_functions = 0;

	host_unwind_x86(&v8->process->input, &v8->process->output);
	assert_int_equal(output->header.n_user_frames, count);
	for (size_t i = 0; i < count; i++) {
		const struct abi_frame *frame = &output->frames[i];

		if (expected[i] >= COMPILED) {
			assert_int_equal(frame->kind, FRAME_V8);
			assert_int_equal(frame->address, shared_of(expected[i]));
			n_functions++;
			continue;
		}
		assert_int_equal(frame->kind, FRAME_NATIVE);
		assert_int_equal(frame->executable, expected[i] == GENERATED ? 0 : 1);
		if (expected[i] != GENERATED)
			assert_int_equal((frame->address - (CODE_START - CODE_BIAS)) /
						 FUNCTION_BYTES,
					 expected[i]);
	}
	assert_int_equal(output->counters[ABI_COUNTER_V8_FRAMES], n_functions);
	assert_int_equal(output->header.more_flags, n_functions > 0 ? ABI_SAMPLE_BYTE_CODE : 0);
}

#define expect_frames_of(v8, ...)                                                                  \
	do {                                                                                       \
		const uint64_t frames_[] = { __VA_ARGS__ };                                        \
		expect_walk((v8), frames_, ARRAY_SIZE(frames_));                                   \
	} while (0)

static void frames_with_a_context_are_functions(void **state)
{
	struct v8 v8;

	(void)state;
	set_up(&v8, NULL, 0);
	expect_frames_of(&v8, COMPILED, INTERPRETED, NATIVE(1), CALLER, NATIVE(2));
	tear_down(&v8);
}

static void other_processes_have_native_frames(void **state)
{
	struct v8 v8;

	(void)state;
	set_up(&v8, NULL, 0);
	v8.entry.flags = 0;
	expect_frames_of(&v8, GENERATED, NATIVE(0), NATIVE(1), GENERATED, NATIVE(2));
	/* Another runtime has this index. */
	v8.entry.flags = 1U << ABI_PROCESS_V8_SHIFT;
	v8.interpreters[1].runtime = INTERPRETER_HOTSPOT;
	expect_frames_of(&v8, GENERATED, NATIVE(0), NATIVE(1), GENERATED, NATIVE(2));
	tear_down(&v8);
}

/* A handler of byte code has no frame; it says what the function does. */
static void the_innermost_builtin_remains_with_its_function(void **state)
{
	struct v8 v8;

	(void)state;
	set_up(&v8, NULL, 0);
	v8.process->input.registers.pc = in_function(0);
	expect_frames_of(&v8, NATIVE(0), COMPILED, INTERPRETED, NATIVE(1), CALLER, NATIVE(2));
	tear_down(&v8);
}

static void without_symbols_the_entry_remains(void **state)
{
	struct v8 v8;

	(void)state;
	set_up(&v8, NULL, 0);
	v8.interpreters[1].v8.entry = (struct abi_code_range){};
	expect_frames_of(&v8, COMPILED, NATIVE(0), INTERPRETED, NATIVE(1), CALLER, NATIVE(2));
	tear_down(&v8);
}

static void unreadable_functions_are_counted(void **state)
{
	struct v8 v8;

	(void)state;
	set_up(&v8, NULL, 0);
	v8.process->words[COMPILED_RECORD - 2] = 4096 + 1;
	v8.process->words[CALLER + FUNCTION_SHARED / 8] = 4096; /* no pointer */
	expect_frames_of(&v8, GENERATED, INTERPRETED, NATIVE(1), GENERATED, NATIVE(2));
	assert_int_equal(v8.process->output.counters[ABI_COUNTER_V8_UNREADABLE], 1);
	tear_down(&v8);
}

/* Function 0 has a row: the built-in functions are known by their range. */
static void builtins_with_rows_are_known_by_their_range(void **state)
{
	const struct abi_unwind_rule by_frame_pointer = {
		.cfa = UNWIND_CFA_FP,
		.cfa_offset = 16,
		.fp = UNWIND_SAVED_CFA,
		.fp_offset = -16,
		.ra = UNWIND_SAVED_CFA,
		.ra_offset = -8,
	};
	struct v8 v8;

	(void)state;
	set_up(&v8, &by_frame_pointer, 1);
	expect_frames_of(&v8, COMPILED, NATIVE(0), NATIVE(1), CALLER, NATIVE(2));
	v8.interpreters[1].v8.builtins = v8.interpreters[1].v8.entry;
	expect_frames_of(&v8, COMPILED, INTERPRETED, NATIVE(1), CALLER, NATIVE(2));
	tear_down(&v8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_with_a_context_are_functions),
		cmocka_unit_test(other_processes_have_native_frames),
		cmocka_unit_test(the_innermost_builtin_remains_with_its_function),
		cmocka_unit_test(without_symbols_the_entry_remains),
		cmocka_unit_test(unreadable_functions_are_counted),
		cmocka_unit_test(builtins_with_rows_are_known_by_their_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
