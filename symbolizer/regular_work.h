/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * When the server's main thread has to do its regular work. The times are points of the clock, not
 * times without a signal: otherwise a configuration manager that sends SIGHUP every few seconds
 * would keep the server from removing old days until its disk is full.
 */

#include "common/base.h"

/* Interval of the check for a changed tokens file; documented in docs/security.md. */
#define TOKENS_INTERVAL_NS (10 * NSEC_PER_SEC)

/* Interval of symbolizer_prune(). */
#define PRUNE_INTERVAL_NS (60 * NSEC_PER_SEC)

enum regular_task {
	REGULAR_TOKENS = 1 << 0,
	REGULAR_PRUNE = 1 << 1,
};

/* Zeroed: all tasks are due at once. */
struct regular_work {
	uint64_t tokens_at_ns, prune_at_ns; /* monotonic */
};

/* Returns the mask of the tasks (enum regular_task) to do now. They are due again later. */
unsigned int regular_work_take(struct regular_work *work, uint64_t now_ns);

/* Returns the time until the next task is due; 0: now. */
uint64_t regular_work_wait_ns(const struct regular_work *work, uint64_t now_ns);
