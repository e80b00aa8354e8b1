/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A pool of threads that run jobs in the order of submission. Jobs of one client run on at most
 * half of the threads at a time; meanwhile jobs of other clients overtake its waiting jobs. A job
 * is a member of the caller's struct, so submitting allocates nothing. It belongs to the pool until
 * its function is called.
 */

#include "common/base.h"

struct worker_job {
	struct worker_job *next; /* used by the pool */
	uint64_t client;         /* identifies the client; 0: none, and no limit */
	void (*run)(struct worker_job *job);
};

struct worker_pool;

/* Returns the number of jobs of one client that may run at a time. */
unsigned int worker_pool_client_share(unsigned int n_threads);

enum worker_pool_result {
	WORKER_POOL_TAKEN,
	WORKER_POOL_FULL,   /* max_waiting jobs wait; the job was not taken */
	WORKER_POOL_CLOSED, /* the job was not taken */
};

/*
 * At most @max_waiting jobs wait, in addition to the running ones. Returns 0 or a negative errno.
 */
int worker_pool_new(unsigned int n_threads, unsigned int max_waiting,
		    struct worker_pool **ret_pool);

enum worker_pool_result worker_pool_submit(struct worker_pool *pool, struct worker_job *job);

/* Refuses new jobs, and returns when all accepted jobs have run. */
void worker_pool_close(struct worker_pool *pool);

struct worker_pool *worker_pool_free(struct worker_pool *pool);

#include "common/scoped.h"
DEFINE_SCOPED(struct worker_pool *, worker_pool_free);
