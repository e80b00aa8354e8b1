// SPDX-License-Identifier: Apache-2.0
/*
 * A 32-bit program without a C library: outer_32() calls inner_32() in a loop, which computes, and
 * sometimes makes a system call.
 */

static volatile unsigned int state = 1;

static void system_call(void)
{
#if defined(__i386__)
	int result;

	asm volatile("int $0x80" : "=a"(result) : "a"(64) : "memory"); /* getppid */
#else
	register int number asm("r7") = 64;
	register int result asm("r0");

	asm volatile("svc 0" : "=r"(result) : "r"(number) : "memory");
#endif
}

__attribute__((noinline)) void inner_32(void)
{
	for (int i = 0; i < 100000; i++)
		state = state * 1664525 + 1013904223;
	system_call();
}

__attribute__((noinline)) void outer_32(void)
{
	for (;;)
		inner_32();
}

void _start(void);
void _start(void)
{
	outer_32();
}
