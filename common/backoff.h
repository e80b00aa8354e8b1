/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Exponential back-off with jitter. After n failures in succession, the longest wait is
 * first_ns * 2^(n - 1), but at most max_ns. The actual wait is random, between half of the longest
 * wait and all of it.
 */

#include "common/base.h"

struct backoff {
	uint64_t first_ns;
	uint64_t max_ns;
	uint64_t random_state; /* of the generator xorshift64*, never 0 */
	unsigned int failures; /* since the last success */
};

/* @seed should be random, so that the waits of several hosts differ. */
void backoff_init(struct backoff *backoff, uint64_t first_ns, uint64_t max_ns, uint64_t seed);
void backoff_succeeded(struct backoff *backoff);

/* Counts one more failure and returns how long to wait before the next attempt. */
uint64_t backoff_failed(struct backoff *backoff);
