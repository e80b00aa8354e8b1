/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks with pages that are not resident: a thread runs on a stack that is mapped from a file and
 * calls itself DEPTH times (1 KiB a frame). At the bottom it drops all pages above from its page
 * tables, then spins or reads, and repeats. The file still has the content of the pages. The length
 * of each turn is random: turns of a constant length would stay synchronous with the ticks, which
 * would then always find the program spinning, or always reading.
 *
 *   absent_stack [SECONDS [EVERY_MS [LONG_READ_MIB]]]    default 10, 5, 0
 *
 * Prints how often pages were dropped. A turn lasts EVERY_MS on average.
 *
 * EVERY_MS 0: the pages are dropped once, above a few frames, and the thread sleeps for SECONDS.
 *
 * After these two turns, LONG_READ_MIB is read in one system call, which takes about 3 s a GiB.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "spin.h"

#define STACK_BYTES ((size_t)4 << 20)
#define DEPTH       200
#define SLEEP_DEPTH 12 /* less than the part of a stack that the agent copies */
#define FRAME_BYTES 1024
#define PAGE_BYTES  4096

/* Long enough for ticks to hit it: about 100 microseconds in the kernel. */
#define READ_BYTES ((size_t)1 << 20)

struct run {
	char *stack;
	char *buffer;
	int zero_fd, random_fd;
	uint64_t every_ns, end_ns;
	uint64_t long_read_mib;
	uint64_t n_dropped;
	uint64_t random;
};

VISIBLE uint64_t spin_above_absent_pages(uint64_t end_ns, uint64_t seed);
VISIBLE uint64_t read_above_absent_pages(const struct run *run, uint64_t end_ns);
VISIBLE uint64_t read_long_above_absent_pages(const struct run *run);
VISIBLE uint64_t sleep_above_absent_pages(const struct run *run);
VISIBLE uint64_t at_the_bottom(struct run *run);
VISIBLE uint64_t descend(struct run *run, uint64_t depth);
VISIBLE void *on_a_stack_in_a_file(void *arg);

/* Drops all pages except the caller's page and the next one. */
static void drop_pages(struct run *run)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	char *from = (char *)((here / PAGE_BYTES + 2) * PAGE_BYTES);

	if (madvise(from, (size_t)(run->stack + STACK_BYTES - from), MADV_DONTNEED) < 0)
		abort();
	run->n_dropped++;
}

/* Uniform between half and one and a half of every_ns from now (Knuth's MMIX generator). */
static uint64_t draw_end(struct run *run)
{
	run->random = run->random * 6364136223846793005u + 1442695040888963407u;
	return clock_read_ns(CLOCK_MONOTONIC) + run->every_ns / 2 +
	       (run->random >> 11) % (run->every_ns + 1);
}

uint64_t spin_above_absent_pages(uint64_t end_ns, uint64_t seed)
{
	while (clock_read_ns(CLOCK_MONOTONIC) < end_ns)
		seed = spin(seed, 10);
	return seed;
}

uint64_t read_above_absent_pages(const struct run *run, uint64_t end_ns)
{
	uint64_t sum = 0;

	while (clock_read_ns(CLOCK_MONOTONIC) < end_ns)
		sum += (uint64_t)read(run->zero_fd, run->buffer, READ_BYTES);
	return sum;
}

/* Reads everything into one buffer. The kernel generates these bytes one page at a time. */
uint64_t read_long_above_absent_pages(const struct run *run)
{
	struct iovec parts[1024];
	int n_parts = run->long_read_mib < 1024 ? (int)run->long_read_mib : 1024;

	for (int i = 0; i < n_parts; i++)
		parts[i] = (struct iovec){ .iov_base = run->buffer, .iov_len = READ_BYTES };
	return (uint64_t)readv(run->random_fd, parts, n_parts);
}

uint64_t sleep_above_absent_pages(const struct run *run)
{
	const struct timespec end = { .tv_sec = (time_t)(run->end_ns / 1000000000u) };

	return (uint64_t)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

uint64_t at_the_bottom(struct run *run)
{
	uint64_t seed = 1;

	if (run->every_ns == 0) {
		drop_pages(run);
		return sleep_above_absent_pages(run);
	}
	while (clock_read_ns(CLOCK_MONOTONIC) < run->end_ns) {
		drop_pages(run);
		seed = spin_above_absent_pages(draw_end(run), seed);
		drop_pages(run);
		seed += read_above_absent_pages(run, draw_end(run));
		if (run->long_read_mib) {
			drop_pages(run);
			seed += read_long_above_absent_pages(run);
		}
	}
	return seed;
}

uint64_t descend(struct run *run, uint64_t depth)
{
	volatile char frame[FRAME_BYTES];
	uint64_t result;

	frame[0] = (char)depth;
	result = depth == 0 ? at_the_bottom(run) : descend(run, depth - 1);
	return result + (uint64_t)frame[0];
}

void *on_a_stack_in_a_file(void *arg)
{
	struct run *run = arg;
	uint64_t result = descend(run, run->every_ns ? DEPTH : SLEEP_DEPTH);

	__asm__ volatile("" : "+r"(result));
	return NULL;
}

/*
 * The agent does not read stacks of waiting threads from a file on disk, because the read may
 * block.
 */
static char *map_file(bool in_memory)
{
	FILE *file = in_memory ? fdopen(memfd_create("stack", 0), "r+") : tmpfile();
	char *memory;

	if (!file || ftruncate(fileno(file), (off_t)STACK_BYTES) < 0)
		abort();
	memory = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	if (memory == MAP_FAILED)
		abort();
	return memory;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
	uint64_t every_ms = argc > 2 ? strtoull(argv[2], NULL, 10) : 5;
	struct run run = {
		.stack = map_file(every_ms == 0),
		.buffer = malloc(READ_BYTES),
		.every_ns = every_ms * 1000000u,
		.long_read_mib = argc > 3 ? strtoull(argv[3], NULL, 10) : 0,
		.end_ns = clock_read_ns(CLOCK_MONOTONIC) + seconds * 1000000000u,
	};
	FILE *zero = fopen("/dev/zero", "r");
	FILE *random = fopen("/dev/urandom", "r");
	pthread_attr_t attributes;
	pthread_t thread;

	if (!zero || !random || !run.buffer)
		return 1;
	run.zero_fd = fileno(zero);
	run.random_fd = fileno(random);
	pthread_attr_init(&attributes);
	if (pthread_attr_setstack(&attributes, run.stack, STACK_BYTES) != 0 ||
	    pthread_create(&thread, &attributes, on_a_stack_in_a_file, &run) != 0)
		return 1;
	pthread_join(thread, NULL);
	printf("%llu\n", (unsigned long long)run.n_dropped);
	return 0;
}
