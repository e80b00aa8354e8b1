/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One list, one lock: a job is a query or a batch, milliseconds each, so that the lock is never the
 * bottleneck.
 */

#include "symbolizer/http/worker_pool.h"

#include <pthread.h>
#include <stdlib.h>

struct worker_pool {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct worker_job *first, *last;
	bool closed;
	unsigned int n_waiting, max_waiting;
	unsigned int n_threads;
	pthread_t threads[];
};

static struct worker_job *next_job(struct worker_pool *pool)
{
	struct worker_job *job;

	(void)pthread_mutex_lock(&pool->lock);
	while (!pool->first && !pool->closed)
		(void)pthread_cond_wait(&pool->changed, &pool->lock);
	job = pool->first;
	if (job) {
		pool->first = job->next;
		pool->n_waiting--;
		if (!pool->first)
			pool->last = NULL;
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return job;
}

static void *work(void *arg)
{
	struct worker_pool *pool = arg;
	struct worker_job *job;

	while ((job = next_job(pool)))
		job->run(job);
	return NULL;
}

int worker_pool_new(unsigned int n_threads, unsigned int max_waiting, struct worker_pool **ret_pool)
{
	scoped(worker_pool_freep) struct worker_pool *pool =
		calloc(1, sizeof(*pool) + n_threads * sizeof(pthread_t));

	if (!pool)
		return -ENOMEM;
	pool->max_waiting = max_waiting;
	(void)pthread_mutex_init(&pool->lock, NULL);
	(void)pthread_cond_init(&pool->changed, NULL);
	for (; pool->n_threads < n_threads; pool->n_threads++) {
		int r = pthread_create(&pool->threads[pool->n_threads], NULL, work, pool);

		if (r != 0)
			return -r;
	}
	*ret_pool = take_ptr(pool);
	return 0;
}

/* With the lock held. */
static void append_job(struct worker_pool *pool, struct worker_job *job)
{
	job->next = NULL;
	if (pool->last)
		pool->last->next = job;
	else
		pool->first = job;
	pool->last = job;
	pool->n_waiting++;
	(void)pthread_cond_signal(&pool->changed);
}

enum worker_pool_result worker_pool_submit(struct worker_pool *pool, struct worker_job *job)
{
	enum worker_pool_result result = WORKER_POOL_TAKEN;

	(void)pthread_mutex_lock(&pool->lock);
	if (pool->closed)
		result = WORKER_POOL_CLOSED;
	else if (pool->n_waiting >= pool->max_waiting)
		result = WORKER_POOL_FULL;
	else
		append_job(pool, job);
	(void)pthread_mutex_unlock(&pool->lock);
	return result;
}

void worker_pool_close(struct worker_pool *pool)
{
	(void)pthread_mutex_lock(&pool->lock);
	pool->closed = true;
	(void)pthread_cond_broadcast(&pool->changed);
	(void)pthread_mutex_unlock(&pool->lock);
	for (; pool->n_threads > 0; pool->n_threads--)
		(void)pthread_join(pool->threads[pool->n_threads - 1], NULL);
}

struct worker_pool *worker_pool_free(struct worker_pool *pool)
{
	if (!pool)
		return NULL;
	worker_pool_close(pool);
	(void)pthread_cond_destroy(&pool->changed);
	(void)pthread_mutex_destroy(&pool->lock);
	free(pool);
	return NULL;
}
