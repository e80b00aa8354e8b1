/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that ends before it could be inspected twice: 200 ms of CPU time in one function, below
 * DEPTH calls of short_lived_descent().
 *
 *   short [MILLISECONDS [DEPTH]]      also built as short_no_fp, without frame pointers
 */
#include <stdlib.h>

#include "spin.h"

VISIBLE uint64_t short_lived_work(uint64_t milliseconds);
VISIBLE uint64_t short_lived_descent(uint64_t depth, uint64_t milliseconds);

uint64_t short_lived_work(uint64_t milliseconds)
{
	uint64_t end_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) + milliseconds * 1000000u;
	uint64_t seed = milliseconds;

	while (clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns)
		seed = spin(seed, 100);
	return seed;
}

uint64_t short_lived_descent(uint64_t depth, uint64_t milliseconds)
{
	uint64_t result = depth > 1 ? short_lived_descent(depth - 1, milliseconds)
				    : short_lived_work(milliseconds);

	/* Work after the call keeps the compiler from turning the recursion into a loop. */
	__asm__ volatile("" : "+r"(result));
	return result + 1;
}

int main(int argc, char **argv)
{
	uint64_t milliseconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 200;
	uint64_t depth = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

	/* The result is used, so that the compiler cannot remove the work. */
	return (depth > 0 ? short_lived_descent(depth, milliseconds)
			  : short_lived_work(milliseconds)) == 1;
}
