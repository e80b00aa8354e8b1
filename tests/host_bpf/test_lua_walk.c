/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of Lua 5.4 in an invented stack (made_up_stack.h). Native functions are LEAF, LOOP and
 * a function IN_C that calls the loop. SHORT_LOOP is the loop too, where its stack frame has the
 * return address and one more word. States, their stacks and calls are in the same memory.
 */
#include "agent/interpreter/lua/lua_layout.h"
#include "tests/host_bpf/made_up_stack.h"

enum native_function { LEAF, LOOP, IN_C, SHORT_LOOP };

#define FRAME_WORDS 8 /* of the stack frame of each native function, except SHORT_LOOP */
#define SHORT_WORDS 2

/* Indexes of words. */
enum {
	STATES = 200, /* of STATE_WORDS */
	CALLS = 320,  /* of 8 words */
	VALUES = 500, /* of 2 words */
	CLOSURES = 600,
	PROTOS = 700, /* of 16 words */
	CODE = 960,
};

#define STATE_WORDS    12
#define N_CALLS        20
#define N_INSTRUCTIONS 10
#define MAX_LOOPS      64 /* as in bpf/include/sample.bpf.h */
#define MAX_STATES     8
#define CIST_FRESH     4

struct lua {
	struct made_up *process;
	struct abi_interpreter interpreters[2];
	size_t n_native;
	unsigned int n_calls;
};

static struct abi_unwind_rule rule_of(unsigned int frame_words)
{
	return (struct abi_unwind_rule){
		.cfa = UNWIND_CFA_SP,
		.cfa_offset = (int16_t)(8 * frame_words),
		.ra = UNWIND_SAVED_CFA,
		.ra_offset = -8,
	};
}

static uint64_t state_at(unsigned int number)
{
	return at_word(STATES + STATE_WORDS * number);
}

static uint64_t proto_at(unsigned int number)
{
	return at_word(PROTOS + 16 * number);
}

/* Adds a native function, leaf first. @state: in a register that it has saved; 0: none. */
static void add_native(struct lua *lua, enum native_function function, uint64_t state)
{
	struct made_up *process = lua->process;
	uint64_t *frame = process->words + FRAME_WORDS * lua->n_native;

	if (lua->n_native == 0)
		process->input.registers.pc = in_function(function);
	else
		frame[-1] = in_function(function);
	frame[3] = state;
	frame[FRAME_WORDS - 1] = 0;
	lua->n_native++;
}

/* Makes a state without calls. @jump: the word of the stack with its error jump. */
static void add_state(struct lua *lua, unsigned int number, unsigned int jump)
{
	uint64_t *words = lua->process->words + STATES + STATE_WORDS * number;

	words[0] = at_word(STATES);
	words[1] = 8;
	words[4] = 0;
	words[5] = at_word(VALUES + 100);
	words[6] = at_word(VALUES);
	words[11] = at_word(jump);
}

/* Calls a function: the Proto @code; 0: a function in C. @next: index of the next instruction. */
static void call(struct lua *lua, unsigned int state, unsigned int code, uint64_t next, bool fresh)
{
	const unsigned int number = lua->n_calls++;
	uint64_t *words = lua->process->words, *of_call = words + CALLS + 8 * number;

	assert_true(number < N_CALLS);
	words[VALUES + 2 * number] = at_word(CLOSURES + 4 * number);
	words[VALUES + 2 * number + 1] = 0xab00 | (code ? 0x46 : 0x66);
	words[CLOSURES + 4 * number + 3] = code ? proto_at(code) : 1;
	of_call[0] = at_word(VALUES + 2 * number);
	of_call[2] = words[STATES + STATE_WORDS * state + 4];
	of_call[4] = at_word(CODE) + 4 * next;
	of_call[7] = fresh ? (uint64_t)CIST_FRESH << 48 : 0;
	words[STATES + STATE_WORDS * state + 4] = at_word(CALLS + 8 * number);
}

static void set_up(struct lua *lua)
{
	const struct abi_unwind_rule rule = rule_of(FRAME_WORDS);
	const struct abi_unwind_rule rules[] = { rule, rule, rule, rule_of(SHORT_WORDS) };
	const struct abi_mapping mapping = {
		.start = CODE_START,
		.end = CODE_START + CODE_BYTES,
		.bias = CODE_BIAS,
		.executable = 1,
		.kind = FRAME_NATIVE,
		.interpreter = 1,
	};
	const uint64_t start = CODE_START - CODE_BIAS;
	struct made_up *process = made_up_new(rules, ARRAY_SIZE(rules));

	*lua = (struct lua){ .process = process };
	assert_ok(host_maps_set_mappings(&process->maps, &mapping, 1));
	host_maps_describe(&process->maps, &process->input);
	lua->interpreters[1] = (struct abi_interpreter){
		.runtime = INTERPRETER_LUA,
		.loop = { { start + LOOP * FUNCTION_BYTES, start + (LOOP + 1) * FUNCTION_BYTES },
			  { start + SHORT_LOOP * FUNCTION_BYTES,
			    start + (SHORT_LOOP + 1) * FUNCTION_BYTES } },
		.lua = lua_layout_of(4U << LUA_RELEASE_SHIFT | 0x0504)->walk,
	};
	process->input.interpreters = lua->interpreters;
	process->input.n_interpreters = ARRAY_SIZE(lua->interpreters);
	process->input.registers.general[7] = at_word(0);
	for (unsigned int i = 0; i < 16; i++) {
		process->words[PROTOS + 16 * i + 8] = at_word(CODE);
		process->words[PROTOS + 16 * i + 3] = N_INSTRUCTIONS;
	}
	add_state(lua, 0, 150);
	call(lua, 0, 0, 0, false);
}

struct expected {
	unsigned int code;
	uint32_t index;
	uint32_t marks;
};

#define OUTERMOST (ABI_FRAME_FROM_C | ABI_FRAME_ENDS_CALL)

static void expect_walk(struct lua *lua, const struct expected *expected, size_t count,
			unsigned int flags)
{
	const struct host_unwind_output *output = &lua->process->output;

	host_unwind_x86(&lua->process->input, &lua->process->output);
	assert_int_equal(output->header.n_user_frames, lua->n_native + count);
	for (size_t i = 0; i < count; i++) {
		const struct abi_frame *frame = &output->frames[lua->n_native + i];

		assert_int_equal(frame->kind, FRAME_LUA | expected[i].marks);
		assert_int_equal(frame->address, proto_at(expected[i].code));
		assert_int_equal(frame->executable, expected[i].index);
	}
	assert_int_equal(output->counters[ABI_COUNTER_LUA_FRAMES], count);
	assert_int_equal(output->header.more_flags, flags);
	made_up_free(lua->process);
}

#define WHOLE (ABI_SAMPLE_LISTED | ABI_SAMPLE_BYTE_CODE)
#define CUT   (WHOLE | ABI_SAMPLE_LIST_CUT)

#define expect_functions(lua, flags, ...)                                                          \
	do {                                                                                       \
		const struct expected frames_[] = { __VA_ARGS__ };                                 \
		expect_walk((lua), frames_, ARRAY_SIZE(frames_), (flags));                         \
	} while (0)

static void functions_of_calls_follow_the_native_frames(void **state)
{
	struct lua lua;

	(void)state;
	set_up(&lua);
	add_native(&lua, LEAF, 0);
	add_native(&lua, LOOP, state_at(0));
	add_native(&lua, IN_C, 0);
	add_native(&lua, LOOP, state_at(0));
	add_native(&lua, IN_C, 0);
	call(&lua, 0, 1, 3, true);
	call(&lua, 0, 2, 4, false);
	call(&lua, 0, 0, 0, false);
	call(&lua, 0, 3, 5, true);
	expect_functions(&lua, WHOLE, { 3, 4, OUTERMOST }, { 2, 3, 0 }, { 1, 2, OUTERMOST });
}

/* The words of the loop have the state of the resumer too, which has the older error jump. */
static void coroutines_are_told_apart(void **state)
{
	struct lua lua;

	(void)state;
	set_up(&lua);
	add_state(&lua, 1, 120);
	add_native(&lua, LEAF, 0);
	add_native(&lua, LOOP, state_at(1));
	lua.process->words[FRAME_WORDS + 2] = state_at(0);
	lua.process->words[FRAME_WORDS + 4] = state_at(0);
	add_native(&lua, IN_C, 0);
	add_native(&lua, LOOP, state_at(0));
	add_native(&lua, IN_C, 0);
	call(&lua, 0, 1, 3, true);
	call(&lua, 0, 0, 0, false);
	call(&lua, 1, 0, 0, false);
	call(&lua, 1, 2, 4, true);
	expect_functions(&lua, WHOLE, { 2, 3, OUTERMOST }, { 1, 2, OUTERMOST });
}

static void groups_that_lost_their_call_are_added_to_the_last_one(void **state)
{
	struct lua lua;

	(void)state;
	set_up(&lua);
	add_native(&lua, LEAF, 0);
	add_native(&lua, LOOP, state_at(0));
	add_native(&lua, IN_C, 0);
	call(&lua, 0, 1, 3, true);
	call(&lua, 0, 0, 0, false);
	call(&lua, 0, 2, 4, true);
	expect_functions(&lua, WHOLE, { 2, 3, ABI_FRAME_FROM_C }, { 1, 2, OUTERMOST });
}

static void the_main_thread_has_a_call_for_each_group(void **state)
{
	struct lua lua;

	(void)state;
	set_up(&lua);
	lua.process->words[STATES] = 0;
	add_native(&lua, IN_C, 0);
	add_native(&lua, LOOP, state_at(0));
	add_native(&lua, IN_C, 0);
	call(&lua, 0, 1, 3, true);
	call(&lua, 0, 0, 0, false);
	call(&lua, 0, 2, 4, false);
	expect_functions(&lua, WHOLE, { 2, 3, OUTERMOST }, { 1, 2, OUTERMOST });
}

/* Its call of the loop has not begun. */
static void a_function_at_its_beginning_is_a_group_without_a_call(void **state)
{
	struct lua lua;

	(void)state;
	set_up(&lua);
	add_native(&lua, IN_C, 0);
	add_native(&lua, LOOP, state_at(0));
	add_native(&lua, IN_C, 0);
	call(&lua, 0, 1, 3, true);
	call(&lua, 0, 0, 0, false);
	call(&lua, 0, 2, 0, false);
	expect_functions(&lua, WHOLE, { 2, 0, OUTERMOST }, { 1, 2, OUTERMOST });
}

/* It has saved no register: below its stack pointer are words of an earlier call. */
static void words_below_the_stack_pointer_are_no_saved_registers(void **state)
{
	struct lua lua;

	(void)state;
	set_up(&lua);
	add_state(&lua, 1, 120);
	add_native(&lua, SHORT_LOOP, state_at(1));
	lua.process->input.registers.general[7] = at_word(FRAME_WORDS - SHORT_WORDS);
	add_native(&lua, IN_C, 0);
	add_native(&lua, LOOP, state_at(0));
	add_native(&lua, IN_C, 0);
	call(&lua, 0, 1, 3, true);
	call(&lua, 0, 0, 0, false);
	call(&lua, 0, 2, 4, true);
	call(&lua, 1, 0, 0, false);
	call(&lua, 1, 3, 5, true);
	expect_functions(&lua, WHOLE, { 2, 3, OUTERMOST }, { 1, 2, OUTERMOST });
}

/* Then the innermost functions belong to the innermost calls. */
static void functions_of_more_coroutines_than_fit_are_missing(void **state)
{
	enum { N_STATES = MAX_STATES + 1 };
	struct expected expected[MAX_STATES];
	struct lua lua;

	(void)state;
	set_up(&lua);
	add_native(&lua, LEAF, 0);
	for (unsigned int number = N_STATES; number-- > 0;) {
		if (number > 0) {
			add_state(&lua, number, 150 - number);
			call(&lua, number, 0, 0, false);
		}
		call(&lua, number, 1 + number, 3, true);
		add_native(&lua, LOOP, state_at(number));
		add_native(&lua, IN_C, 0);
	}
	for (unsigned int i = 0; i < MAX_STATES; i++)
		expected[i] = (struct expected){ N_STATES - i, 2, OUTERMOST };
	expect_walk(&lua, expected, ARRAY_SIZE(expected), CUT);
}

static void all_calls_of_the_loop_are_marked(void **state)
{
	enum { N_LOOPS = MAX_LOOPS + 2 };
	struct lua lua;

	(void)state;
	set_up(&lua);
	lua.process->words[STATES] = 0;
	lua.process->input.registers.pc = in_function(SHORT_LOOP);
	for (unsigned int i = 0; i < N_LOOPS; i++) {
		lua.process->words[SHORT_WORDS * i] = state_at(0);
		lua.process->words[SHORT_WORDS * i + 1] =
			in_function(i + 1 < N_LOOPS ? SHORT_LOOP : IN_C);
	}
	lua.n_native = N_LOOPS + 1;
	call(&lua, 0, 1, 3, true);
	call(&lua, 0, 0, 0, false);
	call(&lua, 0, 2, 4, true);
	host_unwind_x86(&lua.process->input, &lua.process->output);
	for (unsigned int i = 0; i < N_LOOPS; i++)
		assert_int_equal(lua.process->output.frames[i].kind,
				 FRAME_NATIVE | ABI_FRAME_IS_LOOP);
	expect_functions(&lua, CUT, { 2, 3, OUTERMOST }, { 1, 2, OUTERMOST });
}

static void hostile_memory_cuts_the_list(void **state)
{
	struct lua lua;

	(void)state;
	set_up(&lua);
	add_native(&lua, LEAF, 0);
	add_native(&lua, LOOP, state_at(0));
	add_native(&lua, IN_C, 0);
	call(&lua, 0, 1, 3, true);
	call(&lua, 0, 2, 4, false);
	/* The list of calls leads out of the memory. */
	lua.process->words[CALLS + 8 * 1 + 2] = 0x1000;
	expect_functions(&lua, CUT, { 2, 3, 0 }, { 1, 2, 0 });
	set_up(&lua);
	add_native(&lua, LEAF, 0);
	add_native(&lua, LOOP, at_word(STATES + 1));
	add_native(&lua, IN_C, 0);
	expect_walk(&lua, NULL, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_calls_follow_the_native_frames),
		cmocka_unit_test(coroutines_are_told_apart),
		cmocka_unit_test(groups_that_lost_their_call_are_added_to_the_last_one),
		cmocka_unit_test(the_main_thread_has_a_call_for_each_group),
		cmocka_unit_test(a_function_at_its_beginning_is_a_group_without_a_call),
		cmocka_unit_test(words_below_the_stack_pointer_are_no_saved_registers),
		cmocka_unit_test(functions_of_more_coroutines_than_fit_are_missing),
		cmocka_unit_test(all_calls_of_the_loop_are_marked),
		cmocka_unit_test(hostile_memory_cuts_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
