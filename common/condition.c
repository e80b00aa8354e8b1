/* SPDX-License-Identifier: Apache-2.0 */
#include "common/condition.h"

#include <time.h>

void condition_init(pthread_cond_t *ret_condition)
{
	pthread_condattr_t attributes;

	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(ret_condition, &attributes);
	(void)pthread_condattr_destroy(&attributes);
}

bool condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t deadline_ns)
{
	const struct timespec deadline = {
		.tv_sec = (time_t)(deadline_ns / NSEC_PER_SEC),
		.tv_nsec = (long)(deadline_ns % NSEC_PER_SEC),
	};

	if (deadline_ns == UINT64_MAX)
		return pthread_cond_wait(condition, lock) == 0;
	return pthread_cond_timedwait(condition, lock, &deadline) == 0;
}
