/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that live for some milliseconds, one after the other. The agent's BPF programs do not
 * know any of them at its first tick.
 *
 *   newborn MODE MILLISECONDS COUNT     runs itself COUNT times
 *
 * MODE selects the work of each process, which lasts MILLISECONDS:
 *
 *   returning   loops just before a return: rbp has been popped, but according to the call frame
 *               information its value is still below the stack pointer, as in code that gcc
 *               generates (x86-64)
 *   deep        works below 90 KiB of stack
 *   hole        works below an array of 40 KiB that is mostly untouched
 *   execs       releases 64 MiB of memory in execve(); MILLISECONDS is not used
 *
 * Built without frame pointers.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

#define DEEP_BYTES  (90 * 1024)
#define FRAME_BYTES 1000
#define HOLE_BYTES  (40 * 1024)
#define EXEC_BYTES  ((size_t)64 << 20)

extern char **environ;

VISIBLE uint64_t work(uint64_t milliseconds);
VISIBLE uint64_t descend(uint64_t bytes, uint64_t milliseconds);
VISIBLE uint64_t work_below_hole(uint64_t milliseconds);

uint64_t work(uint64_t milliseconds)
{
	uint64_t end_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) + milliseconds * 1000000u;
	uint64_t seed = milliseconds;

	while (clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns)
		seed = spin(seed, 10);
	return seed;
}

uint64_t descend(uint64_t bytes, uint64_t milliseconds)
{
	volatile char frame[FRAME_BYTES];
	uint64_t result;

	frame[0] = (char)bytes;
	result = bytes > FRAME_BYTES ? descend(bytes - FRAME_BYTES, milliseconds)
				     : work(milliseconds);
	return result + (uint64_t)frame[0];
}

uint64_t work_below_hole(uint64_t milliseconds)
{
	volatile char array[HOLE_BYTES];

	array[0] = 1;
	return work(milliseconds) + (uint64_t)array[0];
}

#if defined(__x86_64__)
/* Approximate number of turns of the loop in a millisecond. */
#define TURNS_PER_MS 1000000

void return_slowly(uint64_t turns);
__asm__(".text\n"
	".globl return_slowly\n"
	".type return_slowly, @function\n"
	"return_slowly:\n"
	".cfi_startproc\n"
	"	push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"	xor %ebp, %ebp\n"
	"	pop %rbp\n"
	".cfi_def_cfa_offset 8\n"
	"1:	dec %rdi\n"
	"	jnz 1b\n"
	"	ret\n"
	".cfi_endproc\n"
	".size return_slowly, . - return_slowly\n");
#else
#define TURNS_PER_MS 1
static void return_slowly(uint64_t turns)
{
	(void)work(turns);
}
#endif

static int exec_with_memory(char *program)
{
	char *const arguments[] = { program, "nothing", "0", NULL };

	if (mmap(NULL, EXEC_BYTES, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
		return 1;
	(void)execv(program, arguments);
	return 1;
}

static int live(char **arguments, uint64_t milliseconds)
{
	const char *mode = arguments[1];

	if (strcmp(mode, "returning") == 0)
		return_slowly(milliseconds * TURNS_PER_MS);
	else if (strcmp(mode, "deep") == 0)
		(void)descend(DEEP_BYTES, milliseconds);
	else if (strcmp(mode, "hole") == 0)
		(void)work_below_hole(milliseconds);
	else if (strcmp(mode, "execs") == 0)
		return exec_with_memory(arguments[0]);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t milliseconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t count = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	char *const arguments[] = { argv[0], argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "",
				    NULL };

	if (argc < 3)
		return 2;
	if (argc == 3)
		return live(argv, milliseconds);
	for (uint64_t i = 0; i < count; i++) {
		int status;
		pid_t pid;

		if (posix_spawn(&pid, argv[0], NULL, NULL, arguments, environ) != 0 ||
		    waitpid(pid, &status, 0) != pid || status != 0)
			return 1;
	}
	return 0;
}
