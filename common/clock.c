/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock.h"

#include <time.h>

static uint64_t read_clock_ns(clockid_t id)
{
	struct timespec now;
	int r = clock_gettime(id, &now);

	/* Every supported kernel has both clocks. */
	assert(r == 0);
	(void)r;
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static uint64_t system_monotonic_ns(const struct clock *clock)
{
	(void)clock;
	return read_clock_ns(CLOCK_MONOTONIC);
}

static uint64_t system_wall_ns(const struct clock *clock)
{
	(void)clock;
	return read_clock_ns(CLOCK_REALTIME);
}

const struct clock system_clock = {
	.monotonic_ns = system_monotonic_ns,
	.wall_ns = system_wall_ns,
};
