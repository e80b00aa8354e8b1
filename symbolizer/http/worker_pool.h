/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Threads that run jobs in the order in which they arrived. Jobs of one client run on at most half
 * of the threads at a time; meanwhile its other jobs wait and jobs of others overtake them. A job
 * is embedded in what it is for, so that submitting allocates nothing; it belongs to the pool until
 * its function is called.
 */

#include "common/base.h"

struct worker_job {
	struct worker_job *next; /* the pool's */
	uint64_t client;         /* a number that stands for it; 0: none, and no bound */
	void (*run)(struct worker_job *job);
};

struct worker_pool;

/* How many jobs of one client run at a time. */
unsigned int worker_pool_client_share(unsigned int n_threads);

enum worker_pool_result {
	WORKER_POOL_TAKEN,
	WORKER_POOL_FULL,   /* max_waiting jobs wait already; the job was not taken */
	WORKER_POOL_CLOSED, /* the job was not taken */
};

/* At most @max_waiting jobs wait besides those that run. */
int worker_pool_new(unsigned int n_threads, unsigned int max_waiting,
		    struct worker_pool **ret_pool);

enum worker_pool_result worker_pool_submit(struct worker_pool *pool, struct worker_job *job);

/* Takes no more jobs and returns when all that were taken have run. */
void worker_pool_close(struct worker_pool *pool);

struct worker_pool *worker_pool_free(struct worker_pool *pool);

#include "common/scoped.h"
DEFINE_SCOPED(struct worker_pool *, worker_pool_free);
