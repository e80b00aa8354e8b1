/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function split() in test_loop_parts.c, which gcc divides into two parts, because error() is
 * cold.
 */
#include <stdio.h>

__attribute__((cold, noinline)) static void error(int n)
{
	(void)printf("%d", n);
}

int split(int n);

__attribute__((noinline)) int split(int n)
{
	for (int i = 0; i < n; i++) {
		if (i == 7) {
			error(i);
			n += i;
			error(n);
		}
		if (i == 9) {
			error(i * 2);
			n += 2;
			error(n);
		}
		__asm__ volatile("nop");
	}
	return n;
}

int main(int argc, char **argv)
{
	(void)argv;
	return split(argc);
}
