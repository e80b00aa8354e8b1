/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The time that retention uses. A server whose clock is wrongly ahead would remove all samples.
 *
 * The last trusted time is kept in the file TRUSTED_CLOCK_FILE of the data folder. A clock that is
 * more than a day ahead of it is in doubt: it may be wrong, or the server was off for long. While
 * it is in doubt, the time is the trusted one. The clock is trusted again after it was in doubt
 * for a day in which the server ran and agents sent batches of that time.
 *
 * Used under the writer's lock.
 */

#include "common/clock.h"

#define TRUSTED_CLOCK_FILE "retention-clock"

struct trusted_clock {
	uint64_t wall_ns;    /* the trusted time; 0: none yet */
	uint64_t doubted_ns; /* time of doubt so far */
	uint64_t checked_ns; /* monotonic, of the last check */
	uint64_t batch_ns;   /* wall: the newest batch stored since the start */
	bool is_logged;
};

/* Without a file, or with an unusable one, wall_ns is 0. */
void trusted_clock_load(struct trusted_clock *trusted, const char *folder);

/* Returns the present time: that of @clock, or the trusted one if @clock is in doubt. */
uint64_t trusted_clock_now(const struct trusted_clock *trusted, const struct clock *clock);

/* Trusts the present time if it is not in doubt, and saves it. Logs a doubt once. */
void trusted_clock_check(struct trusted_clock *trusted, const struct clock *clock,
			 const char *folder);
