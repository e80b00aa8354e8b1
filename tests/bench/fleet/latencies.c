/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/latencies.h"

#include <math.h>

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

double latencies_percentile_ms(struct latencies *latencies, double percent)
{
	double rank;

	if (latencies->count == 0)
		return 0;
	qsort(latencies->items, latencies->count, sizeof(*latencies->items), compare);
	rank = ceil(percent / 100 * (double)latencies->count);
	return (double)latencies->items[rank < 1 ? 0 : (size_t)rank - 1] / (double)NSEC_PER_MSEC;
}
