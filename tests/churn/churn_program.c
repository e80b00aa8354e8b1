/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of many programs that differ in name, build-ID and the name of SPIN. Uses CPU time in SPIN.
 * With LIBRARY, half of the time is spent in the only function of that library.
 *
 *   churn_NUMBER MICROSECONDS [LIBRARY FUNCTION]
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "tests/workloads/spin.h"

VISIBLE uint64_t SPIN(uint64_t end_ns);

uint64_t SPIN(uint64_t end_ns)
{
	uint64_t seed = end_ns;

	while (clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns)
		seed = spin(seed, 5);
	return seed;
}

int main(int argc, char **argv)
{
	uint64_t us = argc > 1 ? strtoull(argv[1], NULL, 10) : 50000;
	uint64_t (*in_library)(uint64_t end_ns) = NULL;
	uint64_t began_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);

	if (argc > 3) {
		void *library = dlopen(argv[2], RTLD_NOW);

		if (library)
			in_library = (uint64_t(*)(uint64_t))dlsym(library, argv[3]);
		if (!in_library || in_library(began_ns + us * 500) == 1)
			return 2;
	}
	/* The result is used, so that the compiler cannot remove the work. */
	return SPIN(began_ns + us * 1000) == 1;
}
