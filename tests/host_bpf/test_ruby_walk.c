/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods of Ruby in an invented stack (made_up_stack.h): native functions 0 to 4, of which 1 and 3
 * are the loop, each called by the next one. The thread's ec, its control frames and the objects to
 * which they lead are in the same memory.
 */
#include "tests/host_bpf/made_up_stack.h"

#define N_NATIVE    5
#define FRAME_WORDS 7
#define CODE_WORDS  UINT64_C(100)
#define FINISH      0x20
#define IN_C        0x80
#define METHOD      0x11110001
#define DUMMY       0x79990001

/* Indexes of words. */
enum {
	THREAD = 200, /* pthread_self() */
	VECTOR = 210,
	BLOCK = 230,
	INDEX = 240, /* in the file of Ruby: number of the block, offset */
	EC = 250,
	GLOBAL_EC = 260,
	GLOBAL_VM = 261,
	VM = 270,      /* with the head of the list of threads */
	THREADS = 280, /* two of 16 words */
	FRAMES = 400,
	FLAGS = 600,
	ISEQS = 640,
	BODIES = 720,
	CODE = 800,
};

/* Of struct abi_ruby_layout. */
#define VM_THREADS 16
#define THREAD_ID  24
#define THREAD_EC  32
#define EC_THREAD  40

#define TLS_OFFSET   8
#define BLOCK_NUMBER 3

struct ruby {
	struct made_up *process;
	struct abi_interpreter interpreters[2];
	struct abi_process entry;
	size_t n_frames; /* control frames, from the innermost one on */
};

/* Each function has a frame of two words: a local variable, and the return address. */
static const struct abi_unwind_rule rule = {
	.cfa = UNWIND_CFA_SP,
	.cfa_offset = 16,
	.ra = UNWIND_SAVED_CFA,
	.ra_offset = -8,
};

static void put_frame(struct ruby *ruby, uint64_t flags, uint64_t position)
{
	uint64_t *words = ruby->process->words;
	const size_t n = ruby->n_frames++, at = FRAMES + n * FRAME_WORDS;

	words[at] = at_word(CODE + position + 1); /* behind the instruction */
	words[at + 2] = flags & IN_C ? 0 : at_word(ISEQS + 4 * n);
	words[at + 4] = at_word(FLAGS + n);
	words[FLAGS + n] = flags;
	words[ISEQS + 4 * n + 2] = at_word(BODIES + 4 * n);
	words[BODIES + 4 * n] = CODE_WORDS << 32;
	words[BODIES + 4 * n + 1] = at_word(CODE);
	/* The stack ends behind the last frame. */
	words[EC] = at_word(FRAMES);
	words[EC + 1] = ruby->n_frames * FRAME_WORDS;
}

static void map_ruby(struct ruby *ruby)
{
	const struct abi_mapping mappings[] = {
		{ .start = CODE_START,
		  .end = CODE_START + CODE_BYTES,
		  .bias = CODE_BIAS,
		  .executable = 1,
		  .kind = FRAME_NATIVE,
		  .interpreter = 1 },
	};
	const uint64_t start = CODE_START - CODE_BIAS;
	struct made_up *process = ruby->process;

	assert_ok(host_maps_set_mappings(&process->maps, mappings, ARRAY_SIZE(mappings)));
	host_maps_describe(&process->maps, &process->input);
	ruby->interpreters[1] = (struct abi_interpreter){
		.runtime = INTERPRETER_RUBY,
		.runtime_addr = at_word(INDEX) - CODE_BIAS,
		.loop = { { start + FUNCTION_BYTES, start + 2 * FUNCTION_BYTES },
			  { start + 3 * FUNCTION_BYTES, start + 4 * FUNCTION_BYTES } },
		.ruby = { .tls_offset = TLS_OFFSET, .frame_bytes = FRAME_WORDS * 8 },
	};
	process->input.interpreters = ruby->interpreters;
	process->input.n_interpreters = ARRAY_SIZE(ruby->interpreters);
	process->input.process.thread_pointer = at_word(THREAD);
}

static void set_up(struct ruby *ruby)
{
	const struct abi_unwind_rule rules[] = { rule, rule, rule, rule, rule };
	struct made_up *process = made_up_new(rules, ARRAY_SIZE(rules));
	uint64_t *words = process->words;

	*ruby = (struct ruby){ .process = process };
	map_ruby(ruby);
	for (unsigned int i = 1; i < N_NATIVE; i++)
		words[2 * i - 1] = in_function(i);
	process->input.registers.pc = in_function(0);
	process->input.registers.general[7] = at_word(0);
	words[THREAD + 1] = at_word(VECTOR);
	words[VECTOR + 2 * BLOCK_NUMBER] = at_word(BLOCK);
	words[INDEX] = BLOCK_NUMBER;
	words[INDEX + 1] = 16;
	words[BLOCK + (16 + TLS_OFFSET) / 8] = at_word(EC);
	words[EC + 2] = at_word(FRAMES);
}

static void tear_down(struct ruby *ruby)
{
	made_up_free(ruby->process);
}

/* The control frame with number @number, at a position, and whether it ends its call. */
struct expected {
	size_t number;
	uint64_t position;
	bool ends_call;
};

static void expect_walk(struct ruby *ruby, const struct expected *expected, size_t count)
{
	const struct host_unwind_output *output = &ruby->process->output;

	host_unwind_x86(&ruby->process->input, &ruby->process->output);
	assert_int_equal(output->header.cut, STACK_CUT_NONE);
	assert_int_equal(output->header.n_user_frames, N_NATIVE + count);
	for (size_t i = 0; i < N_NATIVE; i++) {
		const struct abi_frame *frame = &output->frames[i];
		const bool is_loop = i % 2 == 1;

		assert_int_equal(frame->kind, FRAME_NATIVE | (is_loop ? ABI_FRAME_IS_LOOP : 0));
		/* A call of the loop has the address of its beginning. */
		assert_int_equal(frame->address + CODE_BIAS - CODE_START,
				 is_loop ? FUNCTION_BYTES
					 : i * FUNCTION_BYTES + (i == 0 ? 20 : 19));
	}
	for (size_t i = 0; i < count; i++) {
		const struct abi_frame *frame = &output->frames[N_NATIVE + i];

		assert_int_equal(frame->kind,
				 FRAME_RUBY | (expected[i].ends_call ? ABI_FRAME_ENDS_CALL : 0));
		assert_int_equal(frame->address, at_word(BODIES + 4 * expected[i].number));
		assert_int_equal(frame->executable, expected[i].position);
	}
	assert_int_equal(output->counters[ABI_COUNTER_RUBY_FRAMES], count);
}

static void put_frames(struct ruby *ruby)
{
	put_frame(ruby, 0x55550001 | IN_C, 0);
	put_frame(ruby, METHOD, 7);
	put_frame(ruby, METHOD | FINISH, 0);
	put_frame(ruby, 0x55550001 | IN_C, 0);
	put_frame(ruby, METHOD | FINISH, 30);
	put_frame(ruby, DUMMY | FINISH, 0);
}

static const struct expected all_frames[] = { { 1, 7, false }, { 2, 0, true }, { 4, 30, true } };

static void frames_of_methods_follow_the_native_ones(void **state)
{
	struct ruby ruby;

	(void)state;
	set_up(&ruby);
	put_frames(&ruby);
	expect_walk(&ruby, all_frames, ARRAY_SIZE(all_frames));
	assert_int_equal(ruby.process->output.header.more_flags,
			 ABI_SAMPLE_LISTED | ABI_SAMPLE_BYTE_CODE);
	tear_down(&ruby);
}

static void the_variable_of_a_program_is_relative_to_the_thread(void **state)
{
	struct ruby ruby;

	(void)state;
	set_up(&ruby);
	put_frames(&ruby);
	ruby.interpreters[1].runtime_addr = 0;
	ruby.interpreters[1].ruby.tls_offset = (uint64_t)-8;
	ruby.process->words[THREAD - 1] = at_word(EC);
	expect_walk(&ruby, all_frames, ARRAY_SIZE(all_frames));
	tear_down(&ruby);
}

static void threads_without_ruby_have_native_frames(void **state)
{
	struct ruby ruby;

	(void)state;
	set_up(&ruby);
	put_frames(&ruby);
	ruby.process->words[BLOCK + (16 + TLS_OFFSET) / 8] = 0;
	expect_walk(&ruby, NULL, 0);
	assert_int_equal(ruby.process->output.counters[ABI_COUNTER_RUBY_NO_THREAD], 0);
	/* The block of this thread was not made yet: glibc marks it with -1. */
	ruby.process->words[VECTOR + 2 * BLOCK_NUMBER] = UINT64_MAX;
	expect_walk(&ruby, NULL, 0);
	assert_int_equal(ruby.process->output.counters[ABI_COUNTER_RUBY_NO_THREAD], 1);
	tear_down(&ruby);
}

/* Two threads; the second one is the sampled one. */
static void put_list(struct ruby *ruby)
{
	uint64_t *words = ruby->process->words;

	ruby->interpreters[1].runtime_addr = at_word(GLOBAL_EC) - CODE_BIAS;
	ruby->interpreters[1].ruby = (struct abi_ruby_layout){
		.vm_addr = at_word(GLOBAL_VM) - CODE_BIAS,
		.vm_threads = VM_THREADS,
		.thread_id = THREAD_ID,
		.thread_ec = THREAD_EC,
		.ec_thread = EC_THREAD,
		.frame_bytes = FRAME_WORDS * 8,
	};
	words[GLOBAL_EC] = at_word(EC);
	words[EC + EC_THREAD / 8] = at_word(THREADS + 16);
	words[GLOBAL_VM] = at_word(VM);
	words[VM + VM_THREADS / 8] = at_word(THREADS);
	words[THREADS] = at_word(THREADS + 16);
	words[THREADS + THREAD_ID / 8] = at_word(THREAD) + 4096;
	words[THREADS + 16] = at_word(VM) + VM_THREADS;
	words[THREADS + 16 + THREAD_ID / 8] = at_word(THREAD);
	words[THREADS + 16 + THREAD_EC / 8] = at_word(EC);
}

static void before_3_0_a_list_has_the_threads(void **state)
{
	struct ruby ruby;
	uint64_t *words;

	(void)state;
	set_up(&ruby);
	put_frames(&ruby);
	put_list(&ruby);
	words = ruby.process->words;
	expect_walk(&ruby, all_frames, ARRAY_SIZE(all_frames));
	/* Another thread holds the lock; then none. */
	words[GLOBAL_EC] = at_word(GLOBAL_VM + 1);
	words[GLOBAL_VM + 1 + EC_THREAD / 8] = at_word(THREADS);
	expect_walk(&ruby, all_frames, ARRAY_SIZE(all_frames));
	words[GLOBAL_EC] = 0;
	expect_walk(&ruby, all_frames, ARRAY_SIZE(all_frames));
	assert_int_equal(ruby.process->output.counters[ABI_COUNTER_RUBY_NO_THREAD], 0);
	/* The sampled thread is not in the list, which has an end, or none. */
	words[THREADS + 16 + THREAD_ID / 8]++;
	expect_walk(&ruby, NULL, 0);
	assert_int_equal(ruby.process->output.counters[ABI_COUNTER_RUBY_NO_THREAD], 1);
	words[THREADS + 16] = at_word(THREADS);
	expect_walk(&ruby, NULL, 0);
	assert_int_equal(ruby.process->output.counters[ABI_COUNTER_RUBY_NO_THREAD], 1);
	tear_down(&ruby);
}

static void unreadable_frames_end_the_walk(void **state)
{
	struct ruby ruby;

	(void)state;
	set_up(&ruby);
	put_frames(&ruby);
	ruby.process->words[FRAMES + 2 * FRAME_WORDS + 2] = 4096;
	expect_walk(&ruby, all_frames, 1);
	assert_int_equal(ruby.process->output.counters[ABI_COUNTER_RUBY_UNREADABLE], 1);
	assert_int_equal(ruby.process->output.header.more_flags,
			 ABI_SAMPLE_LISTED | ABI_SAMPLE_BYTE_CODE | ABI_SAMPLE_LIST_CUT);
	ruby.process->words[EC + 2] = 4096;
	ruby.process->words[EC] = 4096;
	expect_walk(&ruby, NULL, 0);
	assert_int_equal(ruby.process->output.counters[ABI_COUNTER_RUBY_UNREADABLE], 1);
	tear_down(&ruby);
}

/* All control frames are the same one: its size is 0. */
static void a_cycle_of_frames_fills_the_stack(void **state)
{
	const struct host_unwind_output *output;
	struct ruby ruby;

	(void)state;
	set_up(&ruby);
	put_frame(&ruby, METHOD, 7);
	ruby.interpreters[1].ruby.frame_bytes = 0;
	host_unwind_x86(&ruby.process->input, &ruby.process->output);
	output = &ruby.process->output;
	assert_int_equal(output->header.n_user_frames, ABI_MAX_USER_FRAMES);
	assert_int_equal(output->header.cut, STACK_CUT_DEPTH);
	/* Functions in C add no frame. */
	ruby.process->words[FLAGS] |= IN_C;
	host_unwind_x86(&ruby.process->input, &ruby.process->output);
	assert_int_equal(output->header.n_user_frames, N_NATIVE);
	assert_int_equal(output->header.cut, STACK_CUT_NONE);
	assert_true(output->header.more_flags & ABI_SAMPLE_LIST_CUT);
	tear_down(&ruby);
}

/*
 * Code of YJIT in no file, which function 1, a loop, or function 2 calls. Its call of a function in
 * C, if any, is function 0. The stack:
 *
 *   function 0   a local variable, the return address in the code
 *   the code     pushed words
 *   function 1   return address, a local variable, ...
 */
#define YJIT_PC      (OTHER_START + 100)
#define N_PUSHED     3
#define CALL_POINTER 0xd0ff
#define CALL_MEMORY  0x1850ff /* call *24(%rax) */

struct yjit {
	struct ruby ruby;
	uint64_t code; /* before the return address in CRuby */
};

static int read_yjit(void *argument, uint64_t address, void *buffer, size_t size)
{
	struct yjit *yjit = argument;

	if (address < CODE_START || address >= CODE_START + CODE_BYTES)
		return read_made_up(yjit->ruby.process, address, buffer, size);
	memset(buffer, 0x90, size); /* nop */
	if (size == sizeof(yjit->code))
		memcpy(buffer, &yjit->code, size);
	return 0;
}

/* The code was called by function @caller, the others call each other. */
static void set_up_yjit(struct yjit *yjit, unsigned int caller)
{
	struct made_up *process;

	*yjit = (struct yjit){ .code = (uint64_t)CALL_POINTER << 48 };
	set_up(&yjit->ruby);
	put_frames(&yjit->ruby);
	process = yjit->ruby.process;
	process->input.read = read_yjit;
	process->input.read_argument = yjit;
	yjit->ruby.entry = *process->input.process.entry;
	yjit->ruby.entry.flags |= 1U << ABI_PROCESS_RUBY_SHIFT;
	process->input.process.entry = &yjit->ruby.entry;
	process->input.registers.pc = YJIT_PC;
	memset(process->words, 0, 16 * sizeof(process->words[0]));
	for (unsigned int i = 0; i < N_PUSHED; i++)
		process->words[i] = at_word(500 + i);
	process->words[N_PUSHED] = in_function(caller);
	for (unsigned int i = caller + 1, at = N_PUSHED + 2; i < N_NATIVE; i++, at += 2)
		process->words[at] = in_function(i);
}

static const struct host_unwind_output *walk_yjit(struct yjit *yjit)
{
	host_unwind_x86(&yjit->ruby.process->input, &yjit->ruby.process->output);
	return &yjit->ruby.process->output;
}

static void code_of_yjit_is_the_call_of_its_methods(void **state)
{
	struct yjit yjit;

	(void)state;
	for (unsigned int caller = 1; caller <= 2; caller++) {
		const struct host_unwind_output *output;

		set_up_yjit(&yjit, caller);
		output = walk_yjit(&yjit);
		assert_int_equal(output->header.cut, STACK_CUT_NONE);
		assert_int_equal(output->header.n_user_frames, 1 + N_NATIVE - caller + 3);
		assert_int_equal(output->frames[0].address, YJIT_PC);
		assert_int_equal(output->frames[0].executable, 0);
		assert_int_equal(output->frames[0].kind, FRAME_NATIVE | ABI_FRAME_IS_LOOP);
		/* Not the loop that has called it, but the one above. */
		assert_int_equal(output->frames[1].address + CODE_BIAS, in_function(caller) - 1);
		assert_int_equal(output->frames[1].kind, FRAME_NATIVE);
		assert_int_equal(output->frames[4 - caller].kind, FRAME_NATIVE | ABI_FRAME_IS_LOOP);
		tear_down(&yjit.ruby);
	}
}

static void callers_are_found_at_each_depth_of_code_of_yjit(void **state)
{
	struct yjit yjit;

	(void)state;
	set_up_yjit(&yjit, 1);
	/* At the entry nothing is pushed yet. */
	for (unsigned int pushed = 0; pushed <= N_PUSHED; pushed++) {
		yjit.ruby.process->input.registers.general[7] = at_word(N_PUSHED - pushed);
		assert_int_equal(walk_yjit(&yjit)->header.cut, STACK_CUT_NONE);
		assert_int_equal(walk_yjit(&yjit)->frames[1].address + CODE_BIAS,
				 in_function(1) - 1);
	}
	yjit.code = (uint64_t)CALL_MEMORY << 40;
	assert_int_equal(walk_yjit(&yjit)->header.cut, STACK_CUT_NONE);
	/* --yjit-perf: the frame pointer was pushed first. */
	yjit.ruby.process->words[N_PUSHED - 1] = at_word(600);
	yjit.ruby.process->input.registers.general[6] = at_word(N_PUSHED - 1);
	assert_int_equal(walk_yjit(&yjit)->header.cut, STACK_CUT_NONE);
	tear_down(&yjit.ruby);
}

static void functions_in_c_return_to_code_of_yjit(void **state)
{
	const struct host_unwind_output *output;
	struct yjit yjit;
	uint64_t *words;

	(void)state;
	set_up_yjit(&yjit, 1);
	words = yjit.ruby.process->words;
	memmove(&words[2], words, 16 * sizeof(words[0]));
	words[0] = 0;
	words[1] = YJIT_PC;
	yjit.ruby.process->input.registers.pc = in_function(0);
	output = walk_yjit(&yjit);
	assert_int_equal(output->header.cut, STACK_CUT_NONE);
	assert_int_equal(output->frames[1].address, YJIT_PC - 1);
	assert_int_equal(output->frames[1].kind, FRAME_NATIVE | ABI_FRAME_IS_LOOP);
	assert_int_equal(output->frames[2].address + CODE_BIAS, in_function(1) - 1);
	tear_down(&yjit.ruby);
}

/* The first call instruction before a word decides. */
static void other_generated_code_is_not_taken_for_code_of_yjit(void **state)
{
	static const uint64_t codes[] = { 0, (uint64_t)0xe8 << 24 };
	struct yjit yjit;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		set_up_yjit(&yjit, 1);
		yjit.code = codes[i];
		assert_int_equal(walk_yjit(&yjit)->header.cut, STACK_CUT_NO_ROW);
		assert_int_equal(walk_yjit(&yjit)->frames[0].kind, FRAME_NATIVE);
		tear_down(&yjit.ruby);
	}
	set_up_yjit(&yjit, 1);
	yjit.ruby.entry.flags = 0;
	assert_int_equal(walk_yjit(&yjit)->header.cut, STACK_CUT_NO_ROW);
	tear_down(&yjit.ruby);
}

/* The position of control frame @number when code of YJIT runs itself. */
static uint32_t position_of(const struct host_unwind_output *output, size_t number)
{
	for (size_t i = 0; i < output->header.n_user_frames; i++)
		if ((output->frames[i].kind & ABI_FRAME_KIND) == FRAME_RUBY &&
		    output->frames[i].address == at_word(BODIES + 4 * number))
			return output->frames[i].executable;
	return 0;
}

static void methods_have_no_position_where_their_pc_may_be_old(void **state)
{
	struct yjit yjit;
	uint64_t *words;

	(void)state;
	set_up_yjit(&yjit, 1);
	words = yjit.ruby.process->words;
	/* The innermost control frame is a function in C: methods have stored their pc. */
	assert_int_equal(position_of(walk_yjit(&yjit), 1), 7);
	words[EC + 2] = at_word(FRAMES + FRAME_WORDS);
	assert_int_equal(position_of(walk_yjit(&yjit), 1), FRAME_CODE_UNKNOWN_OFFSET);
	assert_int_equal(position_of(walk_yjit(&yjit), 4), 30);
	/* The pc of a frame that was there before, of other code. */
	words[FRAMES + 4 * FRAME_WORDS] = at_word(CODE) + 8 * (CODE_WORDS + 1);
	assert_int_equal(position_of(walk_yjit(&yjit), 4), FRAME_CODE_UNKNOWN_OFFSET);
	words[FRAMES + 4 * FRAME_WORDS] = at_word(CODE) - 8;
	assert_int_equal(position_of(walk_yjit(&yjit), 4), FRAME_CODE_UNKNOWN_OFFSET);
	tear_down(&yjit.ruby);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_methods_follow_the_native_ones),
		cmocka_unit_test(the_variable_of_a_program_is_relative_to_the_thread),
		cmocka_unit_test(threads_without_ruby_have_native_frames),
		cmocka_unit_test(before_3_0_a_list_has_the_threads),
		cmocka_unit_test(unreadable_frames_end_the_walk),
		cmocka_unit_test(a_cycle_of_frames_fills_the_stack),
		cmocka_unit_test(code_of_yjit_is_the_call_of_its_methods),
		cmocka_unit_test(callers_are_found_at_each_depth_of_code_of_yjit),
		cmocka_unit_test(functions_in_c_return_to_code_of_yjit),
		cmocka_unit_test(other_generated_code_is_not_taken_for_code_of_yjit),
		cmocka_unit_test(methods_have_no_position_where_their_pc_may_be_old),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
