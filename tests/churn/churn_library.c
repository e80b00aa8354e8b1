/* SPDX-License-Identifier: Apache-2.0 */
/* See churn_program.c. */
#include "tests/workloads/spin.h"

VISIBLE uint64_t SPIN(uint64_t end_ns);

uint64_t SPIN(uint64_t end_ns)
{
	uint64_t seed = end_ns;

	while (clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns)
		seed = spin(seed, 5);
	return seed;
}
