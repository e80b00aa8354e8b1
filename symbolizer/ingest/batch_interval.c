/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/ingest/batch_interval.h"

/* Intervals per time of one batch: then agents use a tenth of what they would use at most. */
#define INTERVAL_FACTOR 10

uint32_t batch_interval_ms(uint64_t waited_ns)
{
	uint64_t waited_ms = waited_ns / NSEC_PER_MSEC;

	if (waited_ns < BATCH_INTERVAL_SLOW_NS)
		return 0;
	if (waited_ms >= BATCH_INTERVAL_MAX_MS / INTERVAL_FACTOR)
		return BATCH_INTERVAL_MAX_MS;
	return (uint32_t)(waited_ms * INTERVAL_FACTOR);
}
