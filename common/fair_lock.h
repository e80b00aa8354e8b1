/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A mutex that threads get in the order in which they called fair_lock_take().
 *
 * With a pthread mutex, a thread that unlocks and locks again at once usually gets the mutex again,
 * because a waiting thread needs time to wake up. A thread that does long work in steps would then
 * keep all other threads waiting until its last step. With this lock, all threads that wait when a
 * step ends get the lock before the next step. Not recursive.
 */

#include <pthread.h>

#include "common/base.h"

struct fair_lock {
	pthread_mutex_t mutex; /* protects the fields below */
	pthread_cond_t turn;
	uint64_t next_ticket; /* for the next caller of fair_lock_take() */
	uint64_t serving;     /* the thread with this ticket has the lock */
};

void fair_lock_init(struct fair_lock *lock);

/* No thread may hold the lock or wait for it. */
void fair_lock_release(struct fair_lock *lock);

void fair_lock_take(struct fair_lock *lock);
void fair_lock_give(struct fair_lock *lock);

/* Returns the number of threads that wait now. */
size_t fair_lock_waiting(struct fair_lock *lock);
