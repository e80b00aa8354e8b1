/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with all forms of call frame information that compilers and linkers write for C: frames
 * without a frame pointer, a realigned frame whose size is known only at run time (its CFA has to
 * be read from memory), cold parts, calls through the procedure linkage table.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t n_signals;

static void on_signal(int number)
{
	n_signals += number;
}

/*
 * Aligned to more than the stack's 16 bytes, with an argument on the stack, and with a variable
 * size.
 */
__attribute__((noinline)) static int realigned(int a, int b, int c, int d, int e, int f, int size,
					       const char *text)
{
	_Alignas(64) char block[64];
	char *copy = __builtin_alloca((size_t)size + 1);

	memset(block, a + b + c + d + e + f, sizeof(block));
	memcpy(copy, text, (size_t)size);
	copy[size] = block[a % 64];
	return (int)strlen(copy) + block[size % 64] +
	       printf("%p %p\n", (void *)block, (void *)copy);
}

__attribute__((noinline)) static int deep(int n)
{
	char name[200];

	if (n <= 0)
		abort();
	(void)snprintf(name, sizeof(name), "%d", n);
	return n == 1 ? realigned(1, 2, 3, 4, 5, 6, (int)strlen(name), name)
		      : deep(n - 1) + name[0];
}

int main(int argc, char **argv)
{
	(void)signal(SIGUSR1, on_signal);
	(void)raise(SIGUSR1);
	return deep(argc + (int)strlen(argv[0])) == 0;
}
