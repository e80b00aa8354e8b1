/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The program that test_stepped_program runs instruction by instruction, from the first breakpoint
 * instruction (int3) to the second. In between it executes code that is difficult to unwind:
 * prologues and epilogues, lazy binding of library functions, callbacks, a function whose CFA is
 * stored in memory, the vDSO, and a signal handler on a separate stack. It is compiled for x86-64
 * without frame pointers.
 */

#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define STACK_BYTES 65536

static volatile int handled;

static void on_signal(int number)
{
	char text[32];

	handled += snprintf(text, sizeof(text), "signal %d", number);
}

static int compare_numbers(const void *left, const void *right)
{
	int a = *(const int *)left, b = *(const int *)right;

	return a < b ? -1 : a > b;
}

__attribute__((noinline)) static long sum_of_divisors(long n)
{
	long sum = 0;

	if (n <= 1)
		return n;
	for (long i = 1; i * i <= n; i++)
		if (n % i == 0)
			sum += i;
	return sum + sum_of_divisors(n / 2) + sum_of_divisors(n / 3);
}

/*
 * The frame of this function is aligned to more than 16 bytes, and its size is known only at run
 * time. The compiler therefore stores the CFA in memory.
 */
__attribute__((noinline)) static size_t realigned(int a, int b, int c, int d, int e, int f,
						  size_t size)
{
	_Alignas(64) char block[64];
	char *copy = __builtin_alloca(size);

	(void)snprintf(block, sizeof(block), "%d", a + b + c + d + e + f);
	memset(copy, block[0], size);
	__asm__ volatile("" : : "r"(copy) : "memory");
	return strnlen(copy, size);
}

__attribute__((noinline)) static int match(const char *text)
{
	regex_t expression;
	int found = 0;

	if (regcomp(&expression, "t*x", REG_NOSUB) != 0)
		return -1;
	found = regexec(&expression, text, 0, NULL, 0) == 0;
	regfree(&expression);
	return found;
}

__attribute__((noinline)) static int work(void)
{
	int numbers[] = { 5, 3, 9, 1, 12, 7, 2, 4, 8, 6, 11, 10 };
	struct timespec now;
	char text[128], copy[128];

	qsort(numbers, sizeof(numbers) / sizeof(numbers[0]), sizeof(numbers[0]), compare_numbers);
	(void)snprintf(text, sizeof(text), "%d %s %.3f %08lx", numbers[0], "text", 1.5,
		       sum_of_divisors(90));
	memcpy(copy, text, sizeof(copy));
	memmove(copy + 1, copy, (size_t)numbers[1] + 40);
	/*
	 * For this clock the vDSO calls the kernel. For other clocks it loops until the kernel does
	 * not update the time during a read. The kernel updates it at each tick, and a read that is
	 * run instruction by instruction may take longer than a tick, so the loop might never end.
	 */
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	numbers[1] += (int)realigned(1, 2, 3, 4, 5, 6, strlen(text));
	(void)raise(SIGUSR1);
	numbers[3] += match(text);
	numbers[2] += (int)strtol("12345", NULL, 10) + (int)labs(now.tv_nsec % 2) + ffs(numbers[1]);
	return numbers[0] + numbers[1] + numbers[2] + strncasecmp(copy, text, 3);
}

int main(void)
{
	static char stack[STACK_BYTES];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	int result;

	if (sigaltstack(&alternate, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
		return 1;
	__asm__ volatile("int3");
	result = work();
	__asm__ volatile("int3");
	return result > 12345 && handled > 0 ? 0 : 1;
}
