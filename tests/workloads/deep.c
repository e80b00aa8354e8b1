/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deep stacks: descend() calls itself DEPTH times, then at_the_bottom() spins.
 *
 *   deep [DEPTH [SECONDS]]    default 200, 10
 */
#include <stdlib.h>

#include "spin.h"

VISIBLE uint64_t at_the_bottom(uint64_t end_ns);
VISIBLE uint64_t descend(uint64_t depth, uint64_t end_ns);

uint64_t at_the_bottom(uint64_t end_ns)
{
	uint64_t seed = end_ns;

	while (clock_read_ns(CLOCK_MONOTONIC) < end_ns)
		seed = spin(seed, 100);
	return seed;
}

uint64_t descend(uint64_t depth, uint64_t end_ns)
{
	uint64_t result = depth == 0 ? at_the_bottom(end_ns) : descend(depth - 1, end_ns);

	/* Work after the call keeps the compiler from turning the recursion into a loop. */
	__asm__ volatile("" : "+r"(result));
	return result + 1;
}

int main(int argc, char **argv)
{
	uint64_t depth = argc > 1 ? strtoull(argv[1], NULL, 10) : 200;
	uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 10;

	return descend(depth, clock_read_ns(CLOCK_MONOTONIC) + seconds * 1000000000u) == 1;
}
