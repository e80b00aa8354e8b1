/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that is gone before anybody could look at it twice: 200 ms of CPU time in one function.
 *
 *   short [MILLISECONDS]
 */
#include <stdlib.h>

#include "spin.h"

VISIBLE uint64_t short_lived_work(uint64_t milliseconds);

uint64_t short_lived_work(uint64_t milliseconds)
{
	uint64_t end_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) + milliseconds * 1000000u;
	uint64_t seed = milliseconds;

	while (clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns)
		seed = spin(seed, 100);
	return seed;
}

int main(int argc, char **argv)
{
	uint64_t milliseconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 200;

	/* The result must be used, or the work may be left out. */
	return short_lived_work(milliseconds) == 1;
}
