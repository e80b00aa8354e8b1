/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The maximum is applied before the jitter. Otherwise, after an hour without a server, all hosts of
 * a fleet would wait for exactly the maximum, and connect at the same time.
 */

#include "common/backoff.h"

void backoff_init(struct backoff *backoff, uint64_t first_ns, uint64_t max_ns, uint64_t seed)
{
	*backoff = (struct backoff){
		.first_ns = first_ns,
		.max_ns = max_ns,
		.random_state = seed ? seed : UINT64_C(0x9e3779b97f4a7c15),
	};
}

void backoff_succeeded(struct backoff *backoff)
{
	backoff->failures = 0;
}

static uint64_t next_random(struct backoff *backoff)
{
	uint64_t x = backoff->random_state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	backoff->random_state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

uint64_t backoff_failed(struct backoff *backoff)
{
	uint64_t longest_ns = backoff->max_ns;
	unsigned int doublings = backoff->failures;

	if (doublings < 64 && backoff->first_ns <= backoff->max_ns >> doublings)
		longest_ns = backoff->first_ns << doublings;
	if (backoff->failures < UINT32_MAX)
		backoff->failures++;
	return longest_ns - next_random(backoff) % (longest_ns / 2 + 1);
}
