/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Exponential back-off with full jitter: the n-th wait is random in [first/2, first] * 2^n, at most
 * @max_ns.
 */

#include "common/base.h"

struct backoff {
	uint64_t first_ns;
	uint64_t max_ns;
	uint64_t random_state; /* xorshift64*, seeded by the caller, never 0 */
	unsigned int failures;
};

void backoff_init(struct backoff *backoff, uint64_t first_ns, uint64_t max_ns, uint64_t seed);
void backoff_succeeded(struct backoff *backoff);

/* Counts one more failure and returns how long to wait before the next attempt. */
uint64_t backoff_failed(struct backoff *backoff);
