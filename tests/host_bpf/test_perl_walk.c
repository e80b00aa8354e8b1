/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subs of Perl in an invented stack (made_up_stack.h). Native functions are LEAF, LOOP, a function
 * IN_C that calls the loop, that of an eval, and that of the main program. The interpreter, its
 * stacks with their contexts, and statements are in the same memory.
 */
#include "agent/interpreter/perl/perl_layout.h"
#include "tests/host_bpf/made_up_stack.h"

enum native_function { LEAF, LOOP, IN_C, IN_EVAL, RUN };

/* Indexes of words. */
enum {
	THREAD = 100, /* pthread_self() */
	VALUES = THREAD + 0x310 / 8,
	VALUE_ARRAYS = THREAD + 0x510 / 8,
	KEY = 290,
	FIRST = 291, /* the interpreter that was made first */
	OTHER_VALUES = 300,
	INTERPRETER = 370,
	GLOBALS = 410, /* of a build without threads */
	STACKS = 420,  /* of 8 words */
	CONTEXTS = 460,
	STATEMENTS = 900, /* of 8 words */
	CODE = 990,
};

#define CONTEXTS_OF_STACK 8
#define CONTEXT_WORDS     13
#define THREADS_KEY       3

/* The kinds of contexts and stacks. */
#define BLOCK      0x10
#define LOOP_BLOCK 8
#define SUB        9
#define CALLED     (SUB | 0x10) /* again and again, by C */
#define IN_REGEX   (SUB | 0x10 | 0x40)
#define EVAL_BLOCK (11 | 0x40)
#define EVAL       (11 | 345U << 23)
#define REQUIRE    (11 | 342U << 23)

#define STACK_MAIN 1
#define STACK_SORT 3

/* An instruction, and 0: it is the last one of a call from C. */
#define NEXT 0x7000
#define NONE 0

struct perl {
	struct made_up *process;
	struct abi_interpreter interpreters[2];
	size_t n_native;
	enum native_function native[8];
};

/* Each function has a frame of two words: a local variable, and the return address. */
static const struct abi_unwind_rule rule = {
	.cfa = UNWIND_CFA_SP,
	.cfa_offset = 16,
	.ra = UNWIND_SAVED_CFA,
	.ra_offset = -8,
};

static uint64_t cv(unsigned int number)
{
	return 0x600000 + 64 * (uint64_t)number;
}

static uint64_t file(unsigned int statement)
{
	return 0x700000 + 64 * (uint64_t)statement;
}

static uint32_t line(unsigned int statement)
{
	return 10 + statement;
}

static uint64_t at_statement(unsigned int number)
{
	return at_word(STATEMENTS + 8 * number);
}

static void set_native(struct perl *perl, const enum native_function *functions, size_t count)
{
	perl->n_native = count;
	for (size_t i = 0; i < count; i++) {
		perl->native[i] = functions[i];
		if (i > 0)
			perl->process->words[2 * i - 1] = in_function(functions[i]);
	}
	perl->process->words[2 * count - 1] = 0;
	perl->process->input.registers.pc = in_function(functions[0]);
	perl->process->input.registers.general[7] = at_word(0);
}

#define set_native_of(perl, ...)                                                                   \
	do {                                                                                       \
		const enum native_function functions_[] = { __VA_ARGS__ };                         \
		set_native((perl), functions_, ARRAY_SIZE(functions_));                            \
	} while (0)

/* Makes stack @number, which was entered from the one before, the current one. */
static void begin_stack(struct perl *perl, unsigned int number, uint32_t kind)
{
	uint64_t *words = &perl->process->words[STACKS + 8 * number];

	words[1] = at_word(CONTEXTS + number * CONTEXTS_OF_STACK * CONTEXT_WORDS);
	words[2] = number > 0 ? at_word(STACKS + 8 * (number - 1)) : 0;
	words[4] = 0x700000000 | UINT32_MAX; /* none of at most 7 */
	words[5] = (uint64_t)kind << 32 | 99;
	perl->process->words[INTERPRETER + 28] = at_word(STACKS + 8 * number);
}

/* Adds a context that was entered from @statement. */
static void enter(struct perl *perl, unsigned int stack, uint32_t head, unsigned int statement,
		  uint64_t next, uint64_t code)
{
	uint64_t *words = &perl->process->words[STACKS + 8 * stack];
	const uint32_t index = (uint32_t)words[4] + 1;
	const size_t at = CONTEXTS + (stack * CONTEXTS_OF_STACK + index) * CONTEXT_WORDS;

	words[4] = 0x700000000 | index;
	words = &perl->process->words[at];
	words[0] = 0xabcd00000000 | head;
	words[2] = at_statement(statement);
	words[6] = next;
	words[9] = code;
}

static void execute(struct perl *perl, unsigned int statement)
{
	perl->process->words[INTERPRETER + 26] = at_statement(statement);
}

static void map_perl(struct perl *perl)
{
	const struct abi_mapping mapping = {
		.start = CODE_START,
		.end = CODE_START + CODE_BYTES,
		.bias = CODE_BIAS,
		.executable = 1,
		.kind = FRAME_NATIVE,
		.interpreter = 1,
	};
	const uint64_t start = CODE_START - CODE_BIAS;
	struct made_up *process = perl->process;
	struct abi_perl_layout *layout = &perl->interpreters[1].perl;

	assert_ok(host_maps_set_mappings(&process->maps, &mapping, 1));
	host_maps_describe(&process->maps, &process->input);
	perl->interpreters[1] = (struct abi_interpreter){
		.runtime = INTERPRETER_PERL,
		.runtime_addr = at_word(FIRST) - CODE_BIAS,
		.loop = { { start + LOOP * FUNCTION_BYTES, start + (LOOP + 1) * FUNCTION_BYTES } },
		.perl = perl_layout_of(0x0524)->walk,
	};
	layout->threads_key = at_word(KEY) - CODE_BIAS;
	layout->main_run = (struct abi_code_piece){ (RUN - LOOP) * FUNCTION_BYTES, FUNCTION_BYTES };
	layout->again_run =
		(struct abi_code_piece){ (IN_EVAL - LOOP) * FUNCTION_BYTES, FUNCTION_BYTES };
	process->input.interpreters = perl->interpreters;
	process->input.n_interpreters = ARRAY_SIZE(perl->interpreters);
	process->input.process.thread_pointer = at_word(THREAD);
}

static void set_up(struct perl *perl)
{
	const struct abi_unwind_rule rules[] = { rule, rule, rule, rule, rule };
	struct made_up *process = made_up_new(rules, ARRAY_SIZE(rules));
	uint64_t *words = process->words;

	*perl = (struct perl){ .process = process };
	map_perl(perl);
	words[KEY] = 0xabcd00000000 | THREADS_KEY;
	words[VALUES + 2 * THREADS_KEY] = 5;
	words[VALUES + 2 * THREADS_KEY + 1] = at_word(INTERPRETER);
	words[INTERPRETER + 1] = NEXT;
	for (unsigned int i = 0; i < 10; i++) {
		words[STATEMENTS + 8 * i + 4] = (uint64_t)line(i) << 32 | 195;
		words[STATEMENTS + 8 * i + 6] = file(i);
	}
	begin_stack(perl, 0, STACK_MAIN);
	set_native_of(perl, LEAF, LOOP, RUN);
}

static void tear_down(struct perl *perl)
{
	made_up_free(perl->process);
}

struct expected {
	uint64_t address;
	uint32_t line;
	bool ends_call;
};

/* Calls of the loop are marked, except that at @skipped (0: none). */
static void expect_native_frames(const struct perl *perl, size_t skipped)
{
	const struct host_unwind_output *output = &perl->process->output;

	for (size_t i = 0; i < perl->n_native; i++) {
		const bool is_marked = perl->native[i] == LOOP && (skipped == 0 || i != skipped);

		assert_int_equal(output->frames[i].kind,
				 FRAME_NATIVE | (is_marked ? ABI_FRAME_IS_LOOP : 0));
		assert_int_equal((output->frames[i].address + CODE_BIAS - CODE_START) /
					 FUNCTION_BYTES,
				 perl->native[i]);
	}
}

static void expect_walk(struct perl *perl, const struct expected *expected, size_t count)
{
	const struct host_unwind_output *output = &perl->process->output;

	host_unwind_x86(&perl->process->input, &perl->process->output);
	assert_int_equal(output->header.n_user_frames, perl->n_native + count);
	for (size_t i = 0; i < count; i++) {
		const struct abi_frame *frame = &output->frames[perl->n_native + i];

		assert_int_equal(frame->kind,
				 FRAME_PERL | (expected[i].ends_call ? ABI_FRAME_ENDS_CALL : 0));
		assert_int_equal(frame->address, expected[i].address);
		assert_int_equal(frame->executable, expected[i].line);
	}
	assert_int_equal(output->counters[ABI_COUNTER_PERL_FRAMES], count);
}

#define expect_frames_of(perl, ...)                                                                \
	do {                                                                                       \
		const struct expected frames_[] = { __VA_ARGS__ };                                 \
		expect_walk((perl), frames_, ARRAY_SIZE(frames_));                                 \
	} while (0)

static void expect_flags(const struct perl *perl, unsigned int flags)
{
	assert_int_equal(perl->process->output.header.more_flags, flags);
}

#define WHOLE (ABI_SAMPLE_LISTED | ABI_SAMPLE_BYTE_CODE)
#define CUT   (WHOLE | ABI_SAMPLE_LIST_CUT)

#define MAIN(statement) (file(statement) | ABI_PERL_MAIN)

/* main -> cv(1) -> cv(2), with contexts of a loop and an eval block. */
static void call_two_subs(struct perl *perl)
{
	enter(perl, 0, SUB, 1, NEXT, cv(1));
	enter(perl, 0, LOOP_BLOCK, 2, NONE, 0);
	enter(perl, 0, EVAL_BLOCK, 2, NEXT, 0);
	enter(perl, 0, SUB, 3, NEXT, cv(2));
	execute(perl, 4);
}

static void subs_of_a_call_follow_the_native_frames(void **state)
{
	struct perl perl;

	(void)state;
	set_up(&perl);
	call_two_subs(&perl);
	expect_frames_of(&perl, { cv(2), line(4), false }, { cv(1), line(3), false },
			 { MAIN(1), line(1), true });
	expect_native_frames(&perl, 0);
	expect_flags(&perl, WHOLE);
	tear_down(&perl);
}

static void a_call_from_c_ends_with_its_sub(void **state)
{
	struct perl perl;

	(void)state;
	set_up(&perl);
	set_native_of(&perl, LEAF, LOOP, IN_C, LOOP, RUN);
	call_two_subs(&perl);
	begin_stack(&perl, 1, STACK_SORT);
	enter(&perl, 1, CALLED, 4, NONE, cv(3));
	enter(&perl, 1, SUB, 5, NEXT, cv(4));
	execute(&perl, 6);
	expect_frames_of(&perl, { cv(4), line(6), false }, { cv(3), line(5), true },
			 { cv(2), line(4), false }, { cv(1), line(3), false },
			 { MAIN(1), line(1), true });
	expect_native_frames(&perl, 0);
	tear_down(&perl);
}

static void an_eval_in_a_call_from_c_is_no_call_of_its_own(void **state)
{
	struct perl perl;

	(void)state;
	set_up(&perl);
	set_native_of(&perl, LEAF, LOOP, IN_EVAL, LOOP, IN_C, LOOP, RUN);
	begin_stack(&perl, 1, STACK_SORT);
	enter(&perl, 1, CALLED, 4, NONE, cv(3));
	enter(&perl, 1, EVAL_BLOCK, 5, NEXT, 0);
	execute(&perl, 6);
	expect_frames_of(&perl, { cv(3), line(6), true }, { MAIN(4), line(4), true });
	expect_native_frames(&perl, 3);
	tear_down(&perl);
}

static void a_sub_that_a_block_calls_last_does_not_end_its_call(void **state)
{
	static const uint32_t blocks[] = { BLOCK, IN_REGEX };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		struct perl perl;

		set_up(&perl);
		begin_stack(&perl, 1, STACK_SORT);
		enter(&perl, 1, blocks[i], 1, NONE, cv(9));
		enter(&perl, 1, SUB, 2, NONE, cv(1));
		enter(&perl, 1, SUB, 3, NONE, cv(2));
		execute(&perl, 4);
		expect_frames_of(&perl, { cv(2), line(4), true }, { cv(1), line(3), false },
				 { file(2) | ABI_PERL_BLOCK, line(2), true },
				 { MAIN(1), line(1), true });
		tear_down(&perl);
	}
}

static void a_sub_that_c_has_not_called_again_is_left_out(void **state)
{
	struct perl perl;

	(void)state;
	set_up(&perl);
	enter(&perl, 0, SUB, 1, NEXT, cv(1));
	begin_stack(&perl, 1, STACK_SORT);
	enter(&perl, 1, CALLED, 2, NONE, cv(3));
	execute(&perl, 3);
	perl.process->words[INTERPRETER + 1] = 0;
	expect_frames_of(&perl, { cv(1), line(2), false }, { MAIN(1), line(1), true });
	/* A sub that Perl code has called. */
	begin_stack(&perl, 1, STACK_SORT);
	enter(&perl, 1, SUB, 2, NONE, cv(3));
	expect_frames_of(&perl, { cv(3), line(3), true }, { cv(1), line(2), false },
			 { MAIN(1), line(1), true });
	tear_down(&perl);
}

static void a_sub_without_a_statement_yet_has_no_line(void **state)
{
	struct perl perl;

	(void)state;
	set_up(&perl);
	enter(&perl, 0, SUB, 1, NEXT, cv(1));
	enter(&perl, 0, SUB, 2, NEXT, cv(2));
	execute(&perl, 2);
	expect_frames_of(&perl, { cv(2), 0, false }, { cv(1), line(2), false },
			 { MAIN(1), line(1), true });
	/* The statement of a sub that has called itself. */
	enter(&perl, 0, SUB, 3, NEXT, cv(2));
	execute(&perl, 3);
	expect_frames_of(&perl, { cv(2), line(3), false }, { cv(2), line(3), false },
			 { cv(1), line(2), false }, { MAIN(1), line(1), true });
	tear_down(&perl);
}

static void code_without_a_sub_has_its_file(void **state)
{
	struct perl perl;

	(void)state;
	set_up(&perl);
	execute(&perl, 0);
	expect_frames_of(&perl, { MAIN(0), line(0), true });
	enter(&perl, 0, EVAL, 1, NEXT, cv(1));
	enter(&perl, 0, REQUIRE, 2, NEXT, cv(2));
	execute(&perl, 3);
	expect_frames_of(&perl, { MAIN(3), line(3), false }, { ABI_PERL_EVAL, line(2), false },
			 { MAIN(1), line(1), true });
	/* No statement, and one whose line is not known. */
	perl.process->words[INTERPRETER + 26] = 0;
	perl.process->words[STATEMENTS + 8 * 2 + 4] = (uint64_t)UINT32_MAX << 32;
	expect_frames_of(&perl, { ABI_PERL_MAIN, 0, false }, { ABI_PERL_EVAL, 0, false },
			 { MAIN(1), line(1), true });
	tear_down(&perl);
}

/* A copy of a sub, of which no name is read. */
static void a_closure_is_known_by_its_first_statement(void **state)
{
	static const struct {
		uint64_t flags;
		bool is_closure;
	} cases[] = { { 0xc0, true }, { 0x80, false }, { 0x40, false } };
	struct perl perl;
	uint64_t *sub;

	(void)state;
	set_up(&perl);
	sub = &perl.process->words[CODE];
	sub[0] = at_word(CODE + 2);
	sub[2 + 5] = at_statement(7);
	enter(&perl, 0, SUB, 1, NEXT, at_word(CODE));
	execute(&perl, 8);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		sub[2 + 11] = cases[i].flags << 32;
		expect_frames_of(
			&perl,
			{ cases[i].is_closure ? at_statement(7) | ABI_PERL_CLOSURE : at_word(CODE),
			  line(8), false },
			{ MAIN(1), line(1), true });
	}
	tear_down(&perl);
}

/* A thread begins with a sub, and so does a module of a server. */
static void the_main_program_needs_its_call_of_the_loop(void **state)
{
	struct perl perl;

	(void)state;
	set_up(&perl);
	set_native_of(&perl, LEAF, LOOP, IN_C);
	enter(&perl, 0, SUB, 1, NONE, cv(1));
	execute(&perl, 2);
	expect_frames_of(&perl, { cv(1), line(2), true });
	expect_flags(&perl, WHOLE);
	tear_down(&perl);
}

static void the_interpreter_is_that_of_the_thread(void **state)
{
	struct perl perl;
	uint64_t *words;

	(void)state;
	set_up(&perl);
	execute(&perl, 0);
	words = perl.process->words;
	/* Keys from 32 on are in other arrays. */
	words[KEY] = 35;
	words[VALUE_ARRAYS + 1] = at_word(OTHER_VALUES);
	words[OTHER_VALUES + 6] = 7;
	words[OTHER_VALUES + 7] = at_word(INTERPRETER);
	expect_frames_of(&perl, { MAIN(0), line(0), true });
	/* A value of an earlier use of the key. */
	words[OTHER_VALUES + 6] = 8;
	expect_walk(&perl, NULL, 0);
	assert_int_equal(perl.process->output.counters[ABI_COUNTER_PERL_NO_THREAD], 1);
	/* The first thread has the first interpreter, if the other one is not found. */
	words[FIRST] = at_word(INTERPRETER);
	expect_frames_of(&perl, { MAIN(0), line(0), true });
	words[KEY] = 5000;
	expect_frames_of(&perl, { MAIN(0), line(0), true });
	tear_down(&perl);
}

static void a_build_without_threads_has_global_variables(void **state)
{
	struct perl perl;
	struct abi_perl_layout *layout;

	(void)state;
	set_up(&perl);
	call_two_subs(&perl);
	layout = &perl.interpreters[1].perl;
	layout->threads_key = 0;
	layout->statement = at_word(GLOBALS) - CODE_BIAS;
	layout->stack = at_word(GLOBALS + 1) - CODE_BIAS;
	layout->instruction = at_word(GLOBALS + 2) - CODE_BIAS;
	perl.process->words[GLOBALS] = at_statement(5);
	perl.process->words[GLOBALS + 1] = at_word(STACKS);
	perl.process->words[GLOBALS + 2] = NEXT;
	expect_frames_of(&perl, { cv(2), line(5), false }, { cv(1), line(3), false },
			 { MAIN(1), line(1), true });
	tear_down(&perl);
}

static void native_frames_remain_if_the_memory_cannot_be_read(void **state)
{
	const struct host_unwind_output *output;
	struct perl perl;

	(void)state;
	set_up(&perl);
	output = &perl.process->output;
	call_two_subs(&perl);
	/* The statement from which cv(2) was called. */
	perl.process->words[CONTEXTS + 3 * CONTEXT_WORDS + 2] = 4096;
	expect_frames_of(&perl, { cv(2), line(4), false });
	expect_flags(&perl, CUT);
	assert_int_equal(output->counters[ABI_COUNTER_PERL_UNREADABLE], 1);
	perl.process->words[STACKS + 1] = 4096;
	expect_walk(&perl, NULL, 0);
	assert_int_equal(output->counters[ABI_COUNTER_PERL_UNREADABLE], 1);
	perl.process->words[INTERPRETER + 28] = 4096;
	expect_walk(&perl, NULL, 0);
	assert_int_equal(output->counters[ABI_COUNTER_PERL_UNREADABLE], 1);
	tear_down(&perl);
}

static void hostile_lists_end_with_a_counted_cut(void **state)
{
	struct perl perl;

	(void)state;
	set_up(&perl);
	/* A stack that was entered from itself. */
	begin_stack(&perl, 1, STACK_SORT);
	enter(&perl, 1, SUB, 1, NEXT, cv(1));
	execute(&perl, 2);
	perl.process->words[STACKS + 8 + 2] = at_word(STACKS + 8);
	host_unwind_x86(&perl.process->input, &perl.process->output);
	assert_int_equal(perl.process->output.header.cut, STACK_CUT_DEPTH);
	assert_int_equal(perl.process->output.header.n_user_frames, ABI_MAX_USER_FRAMES);
	expect_flags(&perl, CUT);
	/* Contexts without frames, and more of them than there is memory. */
	perl.process->words[STACKS + 8 + 4] = INT32_MAX;
	expect_walk(&perl, NULL, 0);
	assert_int_equal(perl.process->output.counters[ABI_COUNTER_PERL_UNREADABLE], 1);
	perl.process->words[STACKS + 8 + 4] = UINT32_MAX;
	expect_walk(&perl, NULL, 0);
	tear_down(&perl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(subs_of_a_call_follow_the_native_frames),
		cmocka_unit_test(a_call_from_c_ends_with_its_sub),
		cmocka_unit_test(an_eval_in_a_call_from_c_is_no_call_of_its_own),
		cmocka_unit_test(a_sub_that_a_block_calls_last_does_not_end_its_call),
		cmocka_unit_test(a_sub_that_c_has_not_called_again_is_left_out),
		cmocka_unit_test(a_sub_without_a_statement_yet_has_no_line),
		cmocka_unit_test(code_without_a_sub_has_its_file),
		cmocka_unit_test(a_closure_is_known_by_its_first_statement),
		cmocka_unit_test(the_main_program_needs_its_call_of_the_loop),
		cmocka_unit_test(the_interpreter_is_that_of_the_thread),
		cmocka_unit_test(a_build_without_threads_has_global_variables),
		cmocka_unit_test(native_frames_remain_if_the_memory_cannot_be_read),
		cmocka_unit_test(hostile_lists_end_with_a_counted_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
