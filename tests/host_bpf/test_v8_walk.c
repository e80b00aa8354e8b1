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
 * Functions 0 to 2 are in the file of V8, which has no rows for them, except in some tests.
 */
#include "tests/host_bpf/made_up_stack.h"

#define FUNCTION_SHARED 24
#define FUNCTION_CODE   48

/* Indexes of words of the stack: records of frame pointers, two words after the function. */
enum {
	COMPILED_RECORD = 10,
	INTERPRETED_RECORD = 20,
	BUILTIN_RECORD = 30,
	CALLER_RECORD = 40,
	NATIVE_RECORD = 50,
};

/* Indexes of words of the JSFunctions, which are not in the stack, and of Code objects. */
enum {
	COMPILED = 100,
	INTERPRETED = 120,
	CALLER = 140,
	CODE = 160,
	OTHER_CODE = 180,
};

/* Offsets in a Code, and a kind of code. */
enum {
	CODE_START_AT = 40,
	CODE_FLAGS = 48,
	CODE_BYTES_AT = 52,
	FIRST_OPTIMIZED = 11,
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

/* The JSFunction has a Code with @bytes instructions at @start, of the kind @kind. */
static void put_code(struct v8 *v8, size_t function, size_t code, uint64_t start, uint32_t bytes,
		     uint32_t kind)
{
	uint64_t *words = v8->process->words;

	words[function + FUNCTION_CODE / 8] = at_word(code) + 1;
	words[code + CODE_START_AT / 8] = start;
	words[code + CODE_FLAGS / 8] = (uint64_t)bytes << 32 | 0x7f0U | kind;
}

static void set_up_code(struct v8 *v8)
{
	set_up(v8, NULL, 0);
	v8->interpreters[1].v8.function_code = FUNCTION_CODE;
	v8->interpreters[1].v8.code_start = CODE_START_AT;
	v8->interpreters[1].v8.code_flags = CODE_FLAGS;
	v8->interpreters[1].v8.code_bytes = CODE_BYTES_AT;
	v8->interpreters[1].v8.first_optimized = FIRST_OPTIMIZED;
	put_code(v8, COMPILED, CODE, OTHER_START, 2, FIRST_OPTIMIZED);
	put_code(v8, CALLER, OTHER_CODE, OTHER_START + 0x20, 0x21, 15);
}

static void expect_function(const struct v8 *v8, size_t index, size_t code, uint32_t offset)
{
	const struct abi_frame *frame = &v8->process->output.frames[index];

	assert_int_equal(frame->kind, FRAME_V8);
	assert_int_equal(frame->address, (at_word(code) + 1) | ABI_V8_OPTIMIZED);
	assert_int_equal(frame->executable, offset);
}

static void expect_interpreted(const struct v8 *v8, size_t index, size_t function)
{
	const struct abi_frame *frame = &v8->process->output.frames[index];

	assert_int_equal(frame->kind, FRAME_V8);
	assert_int_equal(frame->address, shared_of(function));
	assert_int_equal(frame->executable, 0);
}

/* Return addresses are in the call before them. */
static void frames_of_optimized_code_have_the_code_and_the_offset(void **state)
{
	struct v8 v8;

	(void)state;
	set_up_code(&v8);
	host_unwind_x86(&v8.process->input, &v8.process->output);
	assert_int_equal(v8.process->output.header.n_user_frames, 5);
	expect_function(&v8, 0, CODE, 1);
	expect_interpreted(&v8, 1, INTERPRETED);
	expect_function(&v8, 3, OTHER_CODE, 0x20);
	assert_int_equal(v8.process->output.counters[ABI_COUNTER_V8_FRAMES], 3);
	tear_down(&v8);
}

/* In V8 10, the instructions are in the object. */
static void code_may_have_its_instructions_in_the_object(void **state)
{
	struct v8 v8;

	(void)state;
	set_up_code(&v8);
	v8.interpreters[1].v8.code_start = 0;
	v8.interpreters[1].v8.code_header = 128;
	put_code(&v8, COMPILED, CODE, 0, 2, FIRST_OPTIMIZED);
	v8.process->input.registers.pc = at_word(CODE) + 128 + 1;
	host_unwind_x86(&v8.process->input, &v8.process->output);
	expect_function(&v8, 0, CODE, 1);
	tear_down(&v8);
}

static void other_code_is_that_of_the_outer_function(void **state)
{
	const struct {
		uint64_t start;
		uint32_t bytes, kind;
	} cases[] = {
		{ OTHER_START, 1, FIRST_OPTIMIZED },     /* ends before the pc */
		{ OTHER_START + 2, 1, FIRST_OPTIMIZED }, /* begins after it */
		{ OTHER_START, 2, FIRST_OPTIMIZED - 1 },
		{ OTHER_START, ABI_V8_MAX_CODE_BYTES + 1, FIRST_OPTIMIZED },
	};
	struct v8 v8;

	(void)state;
	set_up_code(&v8);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		put_code(&v8, COMPILED, CODE, cases[i].start, cases[i].bytes, cases[i].kind);
		host_unwind_x86(&v8.process->input, &v8.process->output);
		expect_interpreted(&v8, 0, COMPILED);
		expect_function(&v8, 3, OTHER_CODE, 0x20);
	}
	/* The Code cannot be read, or is a number. */
	put_code(&v8, COMPILED, CODE, OTHER_START, 2, FIRST_OPTIMIZED);
	v8.process->words[COMPILED + FUNCTION_CODE / 8] = 4096 + 1;
	host_unwind_x86(&v8.process->input, &v8.process->output);
	expect_interpreted(&v8, 0, COMPILED);
	v8.process->words[COMPILED + FUNCTION_CODE / 8] = at_word(CODE);
	host_unwind_x86(&v8.process->input, &v8.process->output);
	expect_interpreted(&v8, 0, COMPILED);
	assert_int_equal(v8.process->output.counters[ABI_COUNTER_V8_UNREADABLE], 0);
	tear_down(&v8);
}

/* Function 0 was interrupted without a frame. Its caller is added once, with its own pc. */
static void builtins_without_a_frame_are_called_by_the_next_function(void **state)
{
	const struct abi_unwind_rule by_stack_pointer = {
		.cfa = UNWIND_CFA_SP,
		.cfa_offset = 8,
		.fp = UNWIND_SAVED_SAME,
		.ra = UNWIND_SAVED_CFA,
		.ra_offset = -8,
	};
	struct v8 v8;

	(void)state;
	set_up(&v8, &by_stack_pointer, 1);
	v8.interpreters[1].v8.builtins = v8.interpreters[1].v8.entry;
	v8.process->input.registers.pc = in_function(0);
	v8.process->words[COMPILED_RECORD - 4] = generated_pc(0);
	put_record(v8.process, COMPILED_RECORD, at_word(CALLER_RECORD), generated_pc(1));
	expect_frames_of(&v8, NATIVE(0), COMPILED, CALLER, NATIVE(2));
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
		cmocka_unit_test(frames_of_optimized_code_have_the_code_and_the_offset),
		cmocka_unit_test(code_may_have_its_instructions_in_the_object),
		cmocka_unit_test(other_code_is_that_of_the_outer_function),
		cmocka_unit_test(builtins_without_a_frame_are_called_by_the_next_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
