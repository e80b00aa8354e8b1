/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The source of time. Functions take a struct clock as parameter, so that tests can set the time.
 */

#include "common/base.h"

struct clock {
	uint64_t (*monotonic_ns)(const struct clock *clock); /* CLOCK_MONOTONIC */
	uint64_t (*wall_ns)(const struct clock *clock);      /* CLOCK_REALTIME, since 1970 */
};

/* The system's clocks. */
extern const struct clock system_clock;

static inline uint64_t clock_monotonic_ns(const struct clock *clock)
{
	return clock->monotonic_ns(clock);
}

static inline uint64_t clock_wall_ns(const struct clock *clock)
{
	return clock->wall_ns(clock);
}
