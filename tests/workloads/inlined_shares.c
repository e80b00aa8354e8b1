/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with a known profile of inlined functions: all of its time is in the code of one
 * function, work_round. The functions inlined there have 70, 20 and 10 % of it: step_a, step_b, and
 * step_c within wrap_c. Only debuginfo distinguishes them.
 *
 *   inlined_shares [SECONDS]    default 10; prints the expected shares first
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "spin.h"

#define INLINED static inline __attribute__((always_inline))

INLINED uint64_t step_a(uint64_t seed, uint64_t units)
{
	return spin(seed, units);
}

INLINED uint64_t step_b(uint64_t seed, uint64_t units)
{
	return spin(seed, units);
}

INLINED uint64_t step_c(uint64_t seed, uint64_t units)
{
	return spin(seed, units);
}

INLINED uint64_t wrap_c(uint64_t seed, uint64_t units)
{
	return step_c(seed + 1, units);
}

/* One round is 1 to 3 ms, as in shares.c. */
VISIBLE static uint64_t work_round(uint64_t seed)
{
	uint64_t scale = 10 + (seed >> 33) % 21;

	seed = step_a(seed, 7 * scale);
	seed = step_b(seed, 2 * scale);
	return wrap_c(seed, scale);
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
	uint64_t deadline_ns = clock_read_ns(CLOCK_MONOTONIC) + seconds * 1000000000u;
	uint64_t seed = 1;

	printf("truth step_a=70 step_b=20 step_c=10 seconds=%" PRIu64 "\n", seconds);
	fflush(stdout);
	while (clock_read_ns(CLOCK_MONOTONIC) < deadline_ns)
		seed = work_round(seed);
	printf("seed %" PRIu64 "\n", seed);
	return 0;
}
