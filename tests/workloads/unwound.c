/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks that are hard to walk, without frame pointers, of known form and known shares (by number
 * of loop steps):
 *
 *   unwound MODE [SECONDS]    default 10
 *
 *   deep       400 levels, every third one with a frame of variable size; 70 % of the time in
 *              leaf_a(), 30 % in leaf_b()
 *   mutual     is_even() and is_odd() call each other 100 levels deep; then as in deep
 *   signal     raise(): 30 % leaf_b() in normal code, 70 % leaf_a() in the handler
 *   altstack   as signal, with the handler on an alternate stack
 *   interrupt  a timer signal every millisecond at any instruction (prologues, epilogues, PLT
 *              stubs); leaf_a() in the handler
 *   qsort      the C library calls back: 70 % leaf_a(), 30 % leaf_b(), both in compare()
 *   vfork      children on the stack of their parent: leaf_a()
 *   realigned  a frame that is aligned to 64 bytes and of variable size; then as in deep
 *   jit        machine code generated at run time, with a frame pointer and without call frame
 *              information, calls back
 *   mappings   as jit, with 4000 other executable mappings of a file
 *   zero       as jit, without a frame pointer: the register contains zero
 *   copied     as deep, after a copy in anonymous memory replaced the code, as for huge pages
 *   moved      as copied, but the memory was mapped elsewhere and moved to the address of the code
 *   context    below a function that makecontext(3) started on a separate stack, and that
 *              swapcontext(3) leaves
 *
 * Prints "ready" at the start.
 */
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "spin.h"

#define DEEP_LEVELS   400
#define MUTUAL_LEVELS 100
#define MANY_MAPPINGS 4000

/* Work after a call keeps the compiler from turning the call into a jump. */
#define AFTER_CALL(value) __asm__ volatile("" : "+r"(value) : : "memory")

VISIBLE uint64_t leaf_a(uint64_t seed, uint64_t units);
VISIBLE uint64_t leaf_b(uint64_t seed, uint64_t units);
VISIBLE uint64_t both_leaves(uint64_t seed);
VISIBLE uint64_t descend(uint64_t seed, unsigned int levels);
VISIBLE uint64_t descend_by_pointer(uint64_t seed, unsigned int levels);
VISIBLE uint64_t is_even(uint64_t seed, unsigned int levels);
VISIBLE uint64_t is_odd(uint64_t seed, unsigned int levels);
VISIBLE uint64_t small_step(uint64_t seed);
VISIBLE uint64_t realigned(uint64_t seed, size_t size);

__attribute__((aligned(64))) uint64_t leaf_a(uint64_t seed, uint64_t units)
{
	return spin(seed, units);
}

__attribute__((aligned(64))) uint64_t leaf_b(uint64_t seed, uint64_t units)
{
	return spin(seed, units);
}

/* Random, because rounds of constant length could stay synchronous with the profiler's timer. */
static uint64_t draw_scale(void)
{
	static uint64_t random;

	random = random * 6364136223846793005u + 1442695040888963407u;
	return 2 + (random >> 33) % 5;
}

uint64_t both_leaves(uint64_t seed)
{
	uint64_t scale = draw_scale();

	seed = leaf_a(seed, 7 * scale);
	seed = leaf_b(seed, 3 * scale);
	AFTER_CALL(seed);
	return seed;
}

/* Does not use the frame pointer, so that the register keeps the value of a caller. */
uint64_t descend(uint64_t seed, unsigned int levels)
{
	seed = levels % 3 == 1 ? descend_by_pointer(seed, levels - 1) : descend(seed, levels - 1);
	AFTER_CALL(seed);
	return seed + 1;
}

/*
 * Call frame information cannot describe the size of this frame, so only here the compiler uses a
 * frame pointer.
 */
uint64_t descend_by_pointer(uint64_t seed, unsigned int levels)
{
	volatile char large[16 * (levels % 7 + 1)];

	large[0] = 1;
	seed = levels == 0 ? both_leaves(seed) : descend(seed, levels - 1);
	AFTER_CALL(seed);
	return seed + (uint64_t)large[0];
}

uint64_t is_even(uint64_t seed, unsigned int levels)
{
	volatile uint64_t local[5] = { seed };

	seed = levels == 0 ? both_leaves(seed) : is_odd(seed, levels - 1);
	AFTER_CALL(seed);
	return seed + local[0] % 2;
}

uint64_t is_odd(uint64_t seed, unsigned int levels)
{
	seed = levels == 0 ? both_leaves(seed) : is_even(seed, levels - 1);
	AFTER_CALL(seed);
	return seed + 1;
}

static VISIBLE uint64_t run_deep(uint64_t seed)
{
	seed = descend(seed, DEEP_LEVELS);
	AFTER_CALL(seed);
	return seed;
}

static uint64_t run_mutual(uint64_t seed)
{
	seed = is_even(seed, MUTUAL_LEVELS);
	AFTER_CALL(seed);
	return seed;
}

/* ---- signals */

VISIBLE void handler(int number);

/* Scale of the time in the handler. The code that raises the signal sets a new random value. */
static volatile uint64_t handler_scale = 2;

void handler(int number)
{
	uint64_t seed = leaf_a((uint64_t)number, 7 * handler_scale);

	AFTER_CALL(seed);
}

static void handle(int number, int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	static char stack[1 << 16];
	const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };

	if (sigaltstack(&alternate, NULL) != 0 || sigaction(number, &action, NULL) != 0)
		abort();
}

static uint64_t run_signal(uint64_t seed)
{
	uint64_t scale = draw_scale();

	handler_scale = scale;
	seed = leaf_b(seed, 3 * scale);
	(void)raise(SIGUSR1);
	AFTER_CALL(seed);
	return seed;
}

uint64_t small_step(uint64_t seed)
{
	char text[32];

	/* Calls through the procedure linkage table, into functions with prologues. */
	(void)snprintf(text, sizeof(text), "%u", (unsigned int)seed % 1000);
	AFTER_CALL(seed);
	return seed * 6364136223846793005u + (uint64_t)strlen(text);
}

static uint64_t run_interrupt(uint64_t seed)
{
	for (int i = 0; i < 1000; i++)
		seed = small_step(seed);
	AFTER_CALL(seed);
	return seed;
}

static void interrupt_every_ms(void)
{
	const struct itimerval each_ms = { { 0, 1000 }, { 0, 1000 } };

	handle(SIGALRM, SA_RESTART);
	if (setitimer(ITIMER_REAL, &each_ms, NULL) != 0)
		abort();
}

/* ---- callbacks */

VISIBLE int compare(const void *left, const void *right);

int compare(const void *left, const void *right)
{
	uint64_t scale = draw_scale();
	uint64_t seed = leaf_a(*(const uint64_t *)left, 7 * scale);

	seed = leaf_b(seed, 3 * scale);
	AFTER_CALL(seed);
	return *(const uint64_t *)left < *(const uint64_t *)right ? -1 : 1;
}

static uint64_t run_qsort(uint64_t seed)
{
	uint64_t values[32];

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		values[i] = seed = seed * 6364136223846793005u + 1442695040888963407u;
	qsort(values, sizeof(values) / sizeof(values[0]), sizeof(values[0]), compare);
	AFTER_CALL(seed);
	return seed;
}

static uint64_t run_vfork(uint64_t seed)
{
	pid_t child = vfork();

	if (child < 0)
		abort();
	if (child == 0) {
		/* About 300 ms. */
		seed = leaf_a(seed, 30000);
		AFTER_CALL(seed);
		_exit(0);
	}
	(void)waitpid(child, NULL, 0);
	return seed + 1;
}

/* ---- frames and code of other kinds */

uint64_t realigned(uint64_t seed, size_t size)
{
	_Alignas(64) volatile char wide[256];
	volatile char variable[size];

	wide[seed % sizeof(wide)] = 1;
	variable[seed % size] = 1;
	seed = both_leaves(seed);
	AFTER_CALL(seed);
	return seed + (uint64_t)wide[0] + (uint64_t)variable[0];
}

static uint64_t run_realigned(uint64_t seed)
{
	seed = realigned(seed, 64 + seed % 64);
	AFTER_CALL(seed);
	return seed;
}

typedef uint64_t (*made_code)(uint64_t seed);

/* Two nested functions, so that a generated frame has a generated caller. */
static made_code make_code(void)
{
	static const unsigned char outer[] = {
		0x55,                      /* push %rbp */
		0x48, 0x89, 0xe5,          /* mov %rsp, %rbp */
		0xe8, 7,    0,    0,    0, /* call inner */
		0x5d,                      /* pop %rbp */
		0xc3,                      /* ret */
		0x90, 0x90, 0x90, 0x90, 0x90,
	};
	static const unsigned char inner[] = {
		0x55, 0x48, 0x89, 0xe5, 0x53, /* ...; push %rbx */
		0x48, 0x83, 0xec, 0x28,       /* sub $40, %rsp */
		0x48, 0xb8,                   /* movabs $both_leaves, %rax */
	};
	static const unsigned char end[] = {
		0xff, 0xd0,             /* call *%rax */
		0x48, 0x83, 0xc4, 0x28, /* add $40, %rsp */
		0x5b, 0x5d, 0xc3,       /* pop %rbx; pop %rbp; ret */
	};
	uint64_t (*target)(uint64_t) = both_leaves;
	unsigned char *code =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *next = code;

	if (code == MAP_FAILED)
		abort();
	next = mempcpy(next, outer, sizeof(outer));
	next = mempcpy(next, inner, sizeof(inner));
	next = mempcpy(next, &target, sizeof(target));
	(void)memcpy(next, end, sizeof(end));
	if (mprotect(code, 4096, PROT_READ | PROT_EXEC) != 0)
		abort();
	return (made_code)(void *)code;
}

/* A walk must find the caller of this code, although its rbp is zero. */
static made_code make_code_with_zero(void)
{
	static const unsigned char begin[] = {
		0x55,       /* push %rbp */
		0x31, 0xed, /* xor %ebp, %ebp */
		0x48, 0xb8, /* movabs $both_leaves, %rax */
	};
	static const unsigned char end[] = { 0xff, 0xd0, 0x5d,
					     0xc3 }; /* call *%rax; pop %rbp; ret */
	uint64_t (*target)(uint64_t) = both_leaves;
	unsigned char *code =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *next = code;

	if (code == MAP_FAILED)
		abort();
	next = mempcpy(next, begin, sizeof(begin));
	next = mempcpy(next, &target, sizeof(target));
	(void)memcpy(next, end, sizeof(end));
	if (mprotect(code, 4096, PROT_READ | PROT_EXEC) != 0)
		abort();
	return (made_code)(void *)code;
}

static uint64_t run_zero(uint64_t seed)
{
	static made_code code;

	if (!code)
		code = make_code_with_zero();
	seed = code(seed);
	AFTER_CALL(seed);
	return seed;
}

static ucontext_t main_context, coroutine_context;
static uint64_t coroutine_seed;

static void coroutine(void)
{
	for (;;) {
		coroutine_seed = both_leaves(coroutine_seed);
		(void)swapcontext(&coroutine_context, &main_context);
	}
}

static uint64_t run_context(uint64_t seed)
{
	static unsigned char stack[256 * 1024];

	if (!coroutine_context.uc_stack.ss_sp) {
		if (getcontext(&coroutine_context) != 0)
			abort();
		coroutine_context.uc_stack.ss_sp = stack;
		coroutine_context.uc_stack.ss_size = sizeof(stack);
		coroutine_context.uc_link = &main_context;
		makecontext(&coroutine_context, coroutine, 0);
	}
	coroutine_seed = seed;
	(void)swapcontext(&main_context, &coroutine_context);
	return coroutine_seed;
}

static uint64_t run_jit(uint64_t seed)
{
	static made_code code;

	if (!code)
		code = make_code();
	seed = code(seed);
	AFTER_CALL(seed);
	return seed;
}

static void map_many_times(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	for (int i = 0; i < MANY_MAPPINGS; i++) {
		/*
		 * Neighbouring mappings of the same page cannot be merged. Nothing executes them.
		 */
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			abort();
	}
	close(fd);
}

static uint64_t run_with_mappings(uint64_t seed)
{
	static bool mapped;

	if (!mapped)
		map_many_times();
	mapped = true;
	return run_jit(seed);
}

struct code_range {
	uint8_t *start;
	size_t bytes;
};

#define CODE_PAGE 4096

/*
 * Replaces the code of its caller. Therefore it has a separate page, after the rest of the code,
 * and calls the C library by pointers.
 */
__attribute__((section(".code_copier"), aligned(CODE_PAGE), noinline)) static bool
copy_in_place(const struct code_range *code, const uint8_t *bytes, __typeof__(mmap) *map_memory,
	      __typeof__(mprotect) *protect, __typeof__(memcpy) *copy)
{
	if (map_memory(code->start, code->bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return false;
	copy(code->start, bytes, code->bytes);
	return protect(code->start, code->bytes, PROT_READ | PROT_EXEC) == 0;
}

/* Finds the code of this program, up to copy_in_place(). */
static int find_code(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct code_range *code = arg;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		code->start = (uint8_t *)info->dlpi_addr + segment->p_vaddr / CODE_PAGE * CODE_PAGE;
		code->bytes = (size_t)((uint8_t *)copy_in_place - code->start);
	}
	return 1; /* the program is the first entry */
}

static void copy_code(bool in_place)
{
	struct code_range code = {};
	uint8_t *copy;

	(void)dl_iterate_phdr(find_code, &code);
	copy = mmap(NULL, code.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		exit(1);
	memcpy(copy, code.start, code.bytes);
	if (in_place && !copy_in_place(&code, copy, mmap, mprotect, memcpy))
		exit(1);
	if (in_place)
		return;
	if (mprotect(copy, code.bytes, PROT_READ | PROT_EXEC) < 0 ||
	    mremap(copy, code.bytes, code.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, code.start) ==
		    MAP_FAILED)
		exit(1);
}

static uint64_t run_copied(uint64_t seed)
{
	static bool copied;

	if (!copied)
		copy_code(true);
	copied = true;
	return run_deep(seed);
}

static uint64_t run_moved(uint64_t seed)
{
	static bool moved;

	if (!moved)
		copy_code(false);
	moved = true;
	return run_deep(seed);
}

static const struct {
	const char *name;
	uint64_t (*run)(uint64_t seed);
} modes[] = {
	{ "deep", run_deep },
	{ "mutual", run_mutual },
	{ "signal", run_signal },
	{ "altstack", run_signal },
	{ "interrupt", run_interrupt },
	{ "qsort", run_qsort },
	{ "vfork", run_vfork },
	{ "realigned", run_realigned },
	{ "jit", run_jit },
	{ "mappings", run_with_mappings },
	{ "zero", run_zero },
	{ "context", run_context },
	{ "copied", run_copied },
	{ "moved", run_moved },
};

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 10;
	uint64_t end_ns = clock_read_ns(CLOCK_MONOTONIC) + seconds * 1000000000u;
	uint64_t seed = end_ns;
	size_t mode = 0;

	while (mode < sizeof(modes) / sizeof(modes[0]) &&
	       (argc < 2 || strcmp(argv[1], modes[mode].name) != 0))
		mode++;
	if (mode == sizeof(modes) / sizeof(modes[0]))
		return 2;
	handle(SIGUSR1, strcmp(argv[1], "altstack") == 0 ? SA_ONSTACK : 0);
	if (modes[mode].run == run_interrupt)
		interrupt_every_ms();
	puts("ready");
	(void)fflush(stdout);
	while (clock_read_ns(CLOCK_MONOTONIC) < end_ns)
		seed = modes[mode].run(seed);
	return 0;
}
