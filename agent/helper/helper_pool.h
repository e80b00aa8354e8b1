/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Gives jobs to helper processes and delivers their answers by callbacks. No function here blocks.
 *
 * A helper has one job at a time; further jobs wait in a queue, one for each kind of helper. A job
 * fails when it is not answered by its deadline, or when its helper dies. The helper is then
 * killed, and another one is forked after a short pause. A helper that not even SIGKILL ends (it
 * hangs in a file system) is not waited for. A helper that has had no job for 30 s ends.
 *
 * Used by one thread, which polls helper_pool_fd() and calls helper_pool_run().
 */

#include "agent/helper/message.h"
#include "agent/helper/nursery.h"

struct helper_pool;

/* Most helpers of one kind at a time. */
#define HELPER_POOL_MAX_WIDTH 4

struct helper_pool_options {
	struct nursery *nursery; /* borrowed */
	unsigned int width[HELPER_KINDS];
	/* each job has a new helper, so that no file affects the job of another one */
	bool single_use[HELPER_KINDS];
};

int helper_pool_new(const struct helper_pool_options *options, struct helper_pool **ret_pool);

/* For jobs that were not answered yet @forget is called, and @done is not. */
struct helper_pool *helper_pool_free(struct helper_pool *pool);

/*
 * @error: 0, -ETIMEDOUT, or -ECONNRESET: the helper died, or could not be forked. @answer (NULL on
 * error) is valid during the call. A descriptor in it is closed afterwards, unless the callback
 * keeps it and puts -1 in its place. The callback may submit jobs.
 */
typedef void (*helper_done)(void *arg, int error, struct helper_message *answer);

struct helper_job {
	enum helper_kind kind;
	/* from when a helper gets the job; the time in the queue does not count */
	uint64_t timeout_ns;
	helper_done done;
	/* frees @arg if the pool ends before the job; NULL: nothing to free */
	void (*forget)(void *arg);
	void *arg;
};

/*
 * Copies the bytes of @request and takes its descriptors, also on failure. 0, -ENOMEM, -EBUSY: the
 * queue is full.
 */
int helper_pool_submit(struct helper_pool *pool, const struct helper_job *job,
		       struct helper_message *request);

/*
 * helper_pool_run() must be called when this descriptor is readable, and at the time
 * helper_pool_wakeup_ns().
 */
int helper_pool_fd(const struct helper_pool *pool);
uint64_t helper_pool_wakeup_ns(const struct helper_pool *pool);

/*
 * Delivers answers, fails jobs past their deadline, starts jobs from the queues. @now_ns:
 * monotonic.
 */
void helper_pool_run(struct helper_pool *pool, uint64_t now_ns);

struct helper_pool_stats {
	uint64_t jobs, timeouts, deaths;
};

void helper_pool_stats(const struct helper_pool *pool, enum helper_kind kind,
		       struct helper_pool_stats *ret_stats);

DEFINE_SCOPED(struct helper_pool *, helper_pool_free);
