/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Stacks to be recorded: recorded_program CASE [NUMBER] runs into a breakpoint instruction at the
 * code that the case is about, or just before it. Compiled without frame pointers.
 */

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define STOP() __asm__ volatile("int3" ::: "memory")
#else
#define STOP() __asm__ volatile("brk #1" ::: "memory")
#endif

#define ALTERNATE_STACK_BYTES 65536

__attribute__((noinline)) static long recurse(long depth)
{
	long below;

	if (depth <= 1) {
		STOP();
		return 1;
	}
	below = recurse(depth - 1);
	__asm__ volatile("" : "+r"(below)); /* prevents a loop or a tail call */
	return below + depth;
}

/* A leaf without a frame. On arm64 its caller is in the link register only. */
__attribute__((noinline)) static int read_through(const volatile int *pointer)
{
	return *pointer + 1;
}

static void on_fault(int number)
{
	(void)number;
	STOP();
	_exit(0);
}

static int fault(void)
{
	void *memory = mmap(NULL, ALTERNATE_STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t alternate = { .ss_sp = memory, .ss_size = ALTERNATE_STACK_BYTES };
	struct sigaction action = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK };
	const volatile int *nowhere = NULL;

	__asm__ volatile("" : "+r"(nowhere));
	if (memory == MAP_FAILED || sigaltstack(&alternate, NULL) != 0 ||
	    sigaction(SIGSEGV, &action, NULL) != 0)
		return 1;
	return read_through(nowhere) + 1;
}

static int stop_and_compare(const void *left, const void *right)
{
	STOP();
	return *(const int *)left - *(const int *)right;
}

static int sort(void)
{
	int numbers[] = { 5, 3, 9, 1, 12, 7 };

	qsort(numbers, sizeof(numbers) / sizeof(numbers[0]), sizeof(numbers[0]), stop_and_compare);
	return numbers[0];
}

/*
 * Its frame is aligned to more than 16 bytes and has a size known at run time: the CFA is in
 * memory.
 */
__attribute__((noinline)) static int realigned(int a, int b, int c, int d, int e, int f,
					       size_t size)
{
	_Alignas(64) char block[64];
	char *copy = __builtin_alloca(size);

	(void)snprintf(block, sizeof(block), "%d", a + b + c + d + e + f);
	memset(copy, block[0], size);
	__asm__ volatile("" : : "r"(copy) : "memory");
	STOP();
	return copy[size - 1];
}

/* On arm64 the frame record is at the bottom of the frame, far from the CFA. */
__attribute__((noinline)) static int large(size_t size)
{
	char bytes[100000];

	memset(bytes, 'x', size);
	__asm__ volatile("" : : "r"(bytes) : "memory");
	STOP();
	return bytes[size / 2] + puts(bytes);
}

/* Calls a function of the C library that was not called before, so that it is bound now. */
static int bind(const char *text)
{
	STOP();
	return (int)strtoul(text, NULL, 10) + (int)strcspn(text, "xyz");
}

/*
 * Pushes the registers that it must preserve over calls of unknown functions first, and pops them
 * last.
 */
__attribute__((noinline)) static long many_registers(const int *a, const int *b, const int *c,
						     const int *d)
{
	int (*volatile reader)(const volatile int *pointer) = read_through;
	long sum = reader(a);

	sum = sum * 31 + reader(b);
	sum = sum * 31 + reader(c);
	return sum * 31 + reader(d);
}

static long call_many_registers(void)
{
	const int numbers[] = { 1, 2, 3, 4 };

	STOP();
	return many_registers(numbers, numbers + 1, numbers + 2, numbers + 3) + 1;
}

__attribute__((noinline)) static int called_back(int n)
{
	STOP();
	return read_through(&n) + 1;
}

/* Code like that of a just-in-time compiler: a frame pointer, and no call frame information. */
static int call_generated_code(void)
{
#if defined(__x86_64__)
	static const uint8_t code[] = {
		0x55,                         /* push %rbp */
		0x48, 0x89, 0xe5,             /* mov %rsp, %rbp */
		0x48, 0x83, 0xec, 0x40,       /* sub $64, %rsp */
		0x48, 0x89, 0xf8,             /* mov %rdi, %rax */
		0xbf, 0x07, 0x00, 0x00, 0x00, /* mov $7, %edi */
		0xff, 0xd0,                   /* call *%rax */
		0xc9,                         /* leave */
		0xc3,                         /* ret */
	};
#else
	static const uint32_t code[] = {
		0xa9bb7bfd, /* stp x29, x30, [sp, #-80]! */
		0x910003fd, /* mov x29, sp */
		0xaa0003e8, /* mov x8, x0 */
		0x528000e0, /* mov w0, #7 */
		0xd63f0100, /* blr x8 */
		0xa8c57bfd, /* ldp x29, x30, [sp], #80 */
		0xd65f03c0, /* ret */
	};
#endif
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*generated)(int (*callback)(int));

	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory, code, sizeof(code));
	if (mprotect(memory, 4096, PROT_READ | PROT_EXEC) != 0)
		return 1;
	__builtin___clear_cache((char *)memory, (char *)memory + sizeof(code));
	memcpy(&generated, &memory, sizeof(generated));
	return generated(called_back) + 1;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	long number = argc > 2 ? strtol(argv[2], NULL, 10) : 10;

	if (strcmp(name, "recursion") == 0)
		return (int)recurse(number) & 1;
	if (strcmp(name, "fault") == 0)
		return fault();
	if (strcmp(name, "qsort") == 0)
		return sort();
	if (strcmp(name, "realigned") == 0)
		return realigned(1, 2, 3, 4, 5, 6, (size_t)number) + 1;
	if (strcmp(name, "large") == 0)
		return large((size_t)number) + 1;
	if (strcmp(name, "bind") == 0)
		return bind(argv[1]);
	if (strcmp(name, "registers") == 0)
		return (int)call_many_registers();
	if (strcmp(name, "generated") == 0)
		return call_generated_code();
	fprintf(stderr, "unknown case '%s'\n", name);
	return 2;
}
