/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The unit of work of all workloads: a chain of dependent multiplications, which takes the same
 * time wherever it is placed, calls nothing, and cannot be folded. Inlined, so that the time
 * belongs to the function around it.
 */

#include <stdint.h>
#include <time.h>

/* About 10 microseconds on a current CPU: 4 cycles of latency for each step. */
#define SPIN_STEPS_PER_UNIT 8000

static inline __attribute__((always_inline)) uint64_t spin(uint64_t seed, uint64_t units)
{
	/* gcc drops the frame of a leaf that never touches the stack, whatever
	 * -fno-omit-frame-pointer says. */
	volatile uint64_t on_the_stack = units;

	(void)on_the_stack;
	for (uint64_t step = 0; step < units * SPIN_STEPS_PER_UNIT; step++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		/* Keeps the compiler from closing the recurrence over several steps. */
		__asm__ volatile("" : "+r"(seed));
	}
	return seed;
}

/* Of a function whose frame must appear in the stacks under its own name. */
#ifdef __clang__
#define VISIBLE __attribute__((noinline))
#else
#define VISIBLE __attribute__((noinline, noclone))
#endif

static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
