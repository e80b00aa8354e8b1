/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The unit of work of all workloads: a chain of dependent multiplications. Its time does not depend
 * on its address, it calls nothing, and the compiler cannot fold it. It is inlined, so that the
 * time belongs to the calling function.
 */

#include <stdint.h>
#include <time.h>

/* About 10 microseconds on a current CPU: 4 cycles of latency for each step. */
#define SPIN_STEPS_PER_UNIT 8000

static inline __attribute__((always_inline)) uint64_t spin(uint64_t seed, uint64_t units)
{
	/*
	 * gcc omits the frame of a leaf function that does not use the stack, even with
	 * -fno-omit-frame-pointer.
	 */
	volatile uint64_t on_the_stack = units;

	(void)on_the_stack;
	for (uint64_t step = 0; step < units * SPIN_STEPS_PER_UNIT; step++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		/* Keeps the compiler from combining several steps of the recurrence. */
		__asm__ volatile("" : "+r"(seed));
	}
	return seed;
}

/* For a function that must have a frame with its name in the stacks. */
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
