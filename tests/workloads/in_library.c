/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spends its time in a library, called from call_library().
 *
 *   in_library [SECONDS]
 */
#include <stdlib.h>

#include "shares_lib.h"
#include "spin.h"

VISIBLE uint64_t call_library(uint64_t end_ns);

uint64_t call_library(uint64_t end_ns)
{
	uint64_t seed = end_ns;

	while (clock_read_ns(CLOCK_MONOTONIC) < end_ns)
		seed = library_work(seed, 100);
	return seed;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;

	return call_library(clock_read_ns(CLOCK_MONOTONIC) + seconds * 1000000000u) == 1;
}
