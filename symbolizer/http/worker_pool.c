/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The pool has one list and one lock. Jobs are queries or batches and take milliseconds, so the
 * lock is no bottleneck. A worker skips the jobs of clients at their limit one by one: this takes
 * less than a millisecond in a queue of thousands.
 */

#include "symbolizer/http/worker_pool.h"

#include <pthread.h>
#include <stdlib.h>

/*
 * A thread uses 8 KiB before its first job, and at most 172 KiB: for JSON that is nested as deeply
 * as jansson allows. With the default of 8 MiB and transparent huge pages, the kernel would back
 * the stack of each thread with pages of 2 MiB.
 */
#define STACK_BYTES ((size_t)MIB)

struct worker {
	struct worker_pool *pool;
	pthread_t thread;
	uint64_t client; /* of the running job, or 0; protected by the pool's lock */
};

struct worker_pool {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct worker_job *first, *last;
	bool closed;
	unsigned int n_waiting, max_waiting;
	unsigned int max_running; /* jobs of one client */
	unsigned int n_threads;
	unsigned int n_joined; /* of n_threads */
	struct worker workers[];
};

/* The caller holds the lock. */
static bool is_at_bound(const struct worker_pool *pool, uint64_t client)
{
	unsigned int running = 0;

	for (unsigned int i = 0; client != 0 && i < pool->n_threads; i++)
		running += pool->workers[i].client == client;
	return running >= pool->max_running;
}

/* The caller holds the lock. Removes and returns the first job that may run, or NULL. */
static struct worker_job *take_job(struct worker_pool *pool)
{
	struct worker_job *previous = NULL, *job;

	for (job = pool->first; job; job = job->next) {
		bool is_same = previous && previous->client == job->client;

		if (!is_same && !is_at_bound(pool, job->client))
			break;
		previous = job;
	}
	if (!job)
		return NULL;
	if (previous)
		previous->next = job->next;
	else
		pool->first = job->next;
	if (pool->last == job)
		pool->last = previous;
	assert(pool->n_waiting > 0);
	pool->n_waiting--;
	return job;
}

/* The caller holds the lock. Returns NULL if the pool is closed and no job waits. */
static struct worker_job *wait_for_job(struct worker_pool *pool)
{
	struct worker_job *job;

	while (!(job = take_job(pool)) && (pool->first || !pool->closed))
		(void)pthread_cond_wait(&pool->changed, &pool->lock);
	/* Wakes the workers that wait for the last job to be taken. */
	if (pool->closed && !pool->first)
		(void)pthread_cond_broadcast(&pool->changed);
	return job;
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct worker_pool *pool = worker->pool;
	struct worker_job *job;

	(void)pthread_mutex_lock(&pool->lock);
	while ((job = wait_for_job(pool))) {
		worker->client = job->client;
		(void)pthread_mutex_unlock(&pool->lock);
		job->run(job);
		(void)pthread_mutex_lock(&pool->lock);
		worker->client = 0;
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return NULL;
}

unsigned int worker_pool_client_share(unsigned int n_threads)
{
	return MAX(n_threads / 2, 1u);
}

static int start_worker(struct worker_pool *pool, struct worker *worker)
{
	pthread_attr_t attributes;
	int r;

	worker->pool = pool;
	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
	(void)pthread_mutex_lock(&pool->lock);
	r = pthread_create(&worker->thread, &attributes, work, worker);
	if (r == 0)
		pool->n_threads++;
	(void)pthread_mutex_unlock(&pool->lock);
	(void)pthread_attr_destroy(&attributes);
	return -r;
}

int worker_pool_new(unsigned int n_threads, unsigned int max_waiting, struct worker_pool **ret_pool)
{
	scoped(worker_pool_freep) struct worker_pool *pool =
		calloc(1, sizeof(*pool) + n_threads * sizeof(struct worker));

	if (!pool)
		return -ENOMEM;
	pool->max_waiting = max_waiting;
	pool->max_running = worker_pool_client_share(n_threads);
	(void)pthread_mutex_init(&pool->lock, NULL);
	(void)pthread_cond_init(&pool->changed, NULL);
	for (unsigned int i = 0; i < n_threads; i++) {
		int r = start_worker(pool, &pool->workers[i]);

		if (r < 0)
			return r;
	}
	*ret_pool = take_ptr(pool);
	return 0;
}

/* The caller holds the lock. */
static void append_job(struct worker_pool *pool, struct worker_job *job)
{
	job->next = NULL;
	if (pool->last)
		pool->last->next = job;
	else
		pool->first = job;
	pool->last = job;
	pool->n_waiting++;
	/* If the client is at its limit, a worker takes the job when it has finished another one
	 * of this client. */
	if (!is_at_bound(pool, job->client))
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
	for (; pool->n_joined < pool->n_threads; pool->n_joined++)
		(void)pthread_join(pool->workers[pool->n_joined].thread, NULL);
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
