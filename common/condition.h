/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Condition variables with deadlines in nanoseconds of CLOCK_MONOTONIC. */

#include <pthread.h>

#include "common/base.h"

/* Initialises a condition for condition_wait_until(). */
void condition_init(pthread_cond_t *ret_condition);

/*
 * Waits until the condition is signalled or @deadline_ns is reached. UINT64_MAX: no deadline. The
 * caller holds @lock. Returns false if the deadline was reached. As with pthread_cond_wait(), the
 * caller checks in a loop what it waits for.
 */
bool condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t deadline_ns);
