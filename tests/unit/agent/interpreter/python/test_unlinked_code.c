/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executes the functions in linked.c instruction by instruction. At each of them the frame of the
 * call is linked exactly if the instruction is not in the code that was found.
 */
#include "agent/interpreter/python/unlinked_code.h"

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "agent/interpreter/python/loop_parts.h"
#include "common/elf/elf_symbol.h"
#include "tests/support/unit.h"

#if defined(FIXTURES)

#define VERSION_3_8 0x0308
#define VERSION_3_9 0x0309

static const char *const programs[] = {
	FIXTURES "/linked_O1", FIXTURES "/linked_O2",        FIXTURES "/linked_O3",
	FIXTURES "/linked_Os", FIXTURES "/linked_protected",
};

struct loop {
	struct abi_code_range parts[ABI_LOOP_PARTS];
	struct abi_code_piece unlinked[ABI_UNLINKED_PIECES];
	uint64_t thread; /* address of the_thread */
};

/* As unlinked_code_find(). */
static int find(const char *path, const char *function, uint32_t version, struct loop *ret_loop)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	struct elf_symbol symbols[] = { { .name = function }, { .name = "the_thread" } };
	struct loop loop = {};
	int r;

	assert_true(fd >= 0);
	assert_ok(elf_file_open(fd, &elf));
	assert_ok(elf_symbols_find(elf, symbols, ARRAY_SIZE(symbols)));
	loop.parts[0] =
		(struct abi_code_range){ symbols[0].vaddr, symbols[0].vaddr + symbols[0].size };
	loop.thread = symbols[1].vaddr;
	assert_ok(loop_parts_find(elf, &loop.parts[0], &loop.parts[1]));
	r = unlinked_code_find(elf, version, loop.parts, loop.unlinked);
	*ret_loop = loop;
	return r;
}

static bool is_in_loop(const struct loop *loop, uint64_t pc)
{
	bool is_in = false;

	for (size_t i = 0; i < ABI_LOOP_PARTS; i++)
		is_in |= pc >= loop->parts[i].start && pc < loop->parts[i].end;
	return is_in;
}

static bool is_unlinked(const struct loop *loop, uint64_t pc)
{
	for (size_t i = 0; i < ABI_UNLINKED_PIECES; i++) {
		uint64_t start = loop->parts[0].start + (uint64_t)(int64_t)loop->unlinked[i].start;

		if (pc >= start && pc - start < loop->unlinked[i].bytes)
			return true;
	}
	return false;
}

/* A call of the loop: its frame, and the stack pointer at its first instruction. */
struct call {
	uint64_t frame, sp;
};

struct trace {
	const struct loop *loop;
	uint32_t version;
	pid_t pid;
	struct call calls[16];
	size_t n_calls;
	uint64_t n_linked, n_unlinked, n_entered;
};

/* Checks the instruction that is executed next. */
static void check_instruction(struct trace *trace, const struct user_regs_struct *registers)
{
	uint64_t linked;

	if (registers->rip == trace->loop->parts[0].start) {
		assert_true(trace->n_calls < ARRAY_SIZE(trace->calls));
		trace->calls[trace->n_calls++] = (struct call){
			.frame = trace->version == VERSION_3_8 ? registers->rdi : registers->rsi,
			.sp = registers->rsp,
		};
		trace->n_entered++;
	}
	assert_true(trace->n_calls > 0);
	linked = (uint64_t)ptrace(PTRACE_PEEKDATA, trace->pid, trace->loop->thread + 24, 0);
	if (linked == trace->calls[trace->n_calls - 1].frame)
		trace->n_linked++;
	else
		trace->n_unlinked++;
	if (is_unlinked(trace->loop, registers->rip) ==
	    (linked == trace->calls[trace->n_calls - 1].frame))
		fail_msg("wrong at %#llx", registers->rip);
}

/* Removes the calls that have returned, or have ended with a jump to another function. */
static void note_return(struct trace *trace, const struct user_regs_struct *registers)
{
	while (trace->n_calls > 0) {
		uint64_t sp = trace->calls[trace->n_calls - 1].sp;

		if (registers->rsp < sp ||
		    (registers->rsp == sp && is_in_loop(trace->loop, registers->rip)))
			return;
		trace->n_calls--;
	}
}

static void trace_program(struct trace *trace, const char *path)
{
	struct user_regs_struct registers;
	bool has_begun = false;
	int status;

	trace->pid = fork();
	if (trace->pid == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, 0, 0);
		(void)execl(path, path, NULL);
		_exit(EXIT_FAILURE);
	}
	while (waitpid(trace->pid, &status, 0) == trace->pid && WIFSTOPPED(status)) {
		assert_int_equal(ptrace(PTRACE_GETREGS, trace->pid, 0, &registers), 0);
		if (trace->n_calls > 0)
			note_return(trace, &registers);
		if (is_in_loop(trace->loop, registers.rip))
			check_instruction(trace, &registers);
		/* The first stop is that of execve(), the second one the breakpoint. */
		assert_int_equal(
			ptrace(has_begun ? PTRACE_SINGLESTEP : PTRACE_CONT, trace->pid, 0, 0), 0);
		has_begun = true;
		if (WSTOPSIG(status) != SIGTRAP)
			fail_msg("signal %d", WSTOPSIG(status));
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void check(const char *path, const char *function, uint32_t version)
{
	struct loop loop;
	struct trace trace = { .loop = &loop, .version = version };

	assert_int_equal(find(path, function, version, &loop), 1);
	trace_program(&trace, path);
	assert_int_equal(trace.n_calls, 0);
	if (trace.n_entered < 10 || trace.n_linked < 100 || trace.n_unlinked < 100)
		fail_msg("%s in %s: %zu calls, %zu linked, %zu unlinked", function, path,
			 trace.n_entered, trace.n_linked, trace.n_unlinked);
}

static void frames_are_linked_outside_the_code_that_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		check(programs[i], "loop_3_8", VERSION_3_8);
		check(programs[i], "loop_3_9", VERSION_3_9);
	}
}

static void a_function_that_is_not_understood_has_no_result(void **state)
{
	static const char *const functions[] = { "returns_while_linked", "never_links", "main",
						 "check_result", "no_such_function" };
	struct loop loop;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(functions); k++)
			if (find(programs[i], functions[k], VERSION_3_9, &loop) != 0)
				fail_msg("%s in %s", functions[k], programs[i]);
		/* The frame is another argument. */
		assert_int_equal(find(programs[i], "loop_3_8", VERSION_3_9, &loop), 0);
	}
}

#else
static void frames_are_linked_outside_the_code_that_is_found(void **state)
{
	(void)state;
	skip();
}

static void a_function_that_is_not_understood_has_no_result(void **state)
{
	(void)state;
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_linked_outside_the_code_that_is_found),
		cmocka_unit_test(a_function_that_is_not_understood_has_no_result),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
