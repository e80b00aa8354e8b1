/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fair_lock.h"

void fair_lock_init(struct fair_lock *lock)
{
	*lock = (struct fair_lock){};
	(void)pthread_mutex_init(&lock->mutex, NULL);
	(void)pthread_cond_init(&lock->turn, NULL);
}

void fair_lock_release(struct fair_lock *lock)
{
	(void)pthread_cond_destroy(&lock->turn);
	(void)pthread_mutex_destroy(&lock->mutex);
}

void fair_lock_take(struct fair_lock *lock)
{
	uint64_t ticket;

	(void)pthread_mutex_lock(&lock->mutex);
	ticket = lock->next_ticket++;
	while (ticket != lock->serving)
		(void)pthread_cond_wait(&lock->turn, &lock->mutex);
	(void)pthread_mutex_unlock(&lock->mutex);
}

void fair_lock_give(struct fair_lock *lock)
{
	(void)pthread_mutex_lock(&lock->mutex);
	assert(lock->serving < lock->next_ticket);
	lock->serving++;
	(void)pthread_cond_broadcast(&lock->turn);
	(void)pthread_mutex_unlock(&lock->mutex);
}

size_t fair_lock_waiting(struct fair_lock *lock)
{
	size_t n;

	(void)pthread_mutex_lock(&lock->mutex);
	n = lock->next_ticket - lock->serving;
	(void)pthread_mutex_unlock(&lock->mutex);
	return n > 0 ? n - 1 : 0;
}
