/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a library after the agent has published this program, and works in the library from then
 * on. Half of MILLISECONDS of CPU time is spent before the load, half after it.
 *
 *   late_library LIBRARY MILLISECONDS
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "spin.h"

VISIBLE uint64_t work_before(uint64_t end_ns);
VISIBLE uint64_t work_in_library(unsigned long (*turn)(unsigned long rounds), uint64_t end_ns);

uint64_t work_before(uint64_t end_ns)
{
	uint64_t seed = end_ns;

	while (clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns)
		seed = spin(seed, 100);
	return seed;
}

uint64_t work_in_library(unsigned long (*turn)(unsigned long rounds), uint64_t end_ns)
{
	uint64_t sum = 0;

	while (clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns)
		sum += turn(100000);
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t half_ns = argc > 2 ? strtoull(argv[2], NULL, 10) * 500000 : 0;
	uint64_t seed = work_before(half_ns);
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	unsigned long (*turn)(unsigned long rounds) =
		library ? (unsigned long (*)(unsigned long))dlsym(library, "turn") : NULL;

	if (!turn) {
		fprintf(stderr, "late_library: %s\n", dlerror());
		return 1;
	}
	seed += work_in_library(turn, 2 * half_ns);
	return seed == 1;
}
