/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Gives jobs to helper processes and delivers their answers by callbacks. No function here blocks.
 *
 * A helper has one job at a time. Further jobs wait in a queue, one per kind of helper. A job fails
 * if it is not answered by its deadline, or if its helper dies. Then the helper is killed, and
 * another one is forked after a short pause. The pool does not wait for a helper that even SIGKILL
 * does not end (it hangs in a file system). A helper without a job for 30 s ends.
 *
 * Used by one thread, which polls helper_pool_fd() and calls helper_pool_run().
 */

#include "agent/helper/message.h"
#include "agent/helper/nursery.h"

struct helper_pool;

/* Maximum number of helpers of one kind at a time. */
#define HELPER_POOL_MAX_WIDTH 4

struct helper_pool_options {
	struct nursery *nursery; /* borrowed */
	unsigned int width[HELPER_KINDS];
	/* true: each job gets a new helper, so that one file cannot affect the job of another */
	bool single_use[HELPER_KINDS];
};

int helper_pool_new(const struct helper_pool_options *options, struct helper_pool **ret_pool);

/* For each job without an answer, calls @forget and not @done. */
struct helper_pool *helper_pool_free(struct helper_pool *pool);

/*
 * Called when a job ends. @error: 0; -ETIMEDOUT; -ECONNRESET: the helper died or could not be
 * forked. @answer (NULL on error) is valid during the call. Its descriptors are closed afterwards;
 * a callback that keeps one replaces it by -1. The callback may submit jobs.
 */
typedef void (*helper_done)(void *arg, int error, struct helper_message *answer);

struct helper_job {
	enum helper_kind kind;
	/* counted from when a helper gets the job, without the time in the queue */
	uint64_t timeout_ns;
	helper_done done;
	/* frees @arg if the pool ends before the job; NULL: nothing to free */
	void (*forget)(void *arg);
	void *arg;
};

/*
 * Copies the bytes of @request and takes its descriptors, also on failure. 0; -ENOMEM; -EBUSY: the
 * queue is full.
 */
int helper_pool_submit(struct helper_pool *pool, const struct helper_job *job,
		       struct helper_message *request);

/*
 * The caller must call helper_pool_run() when this descriptor is readable, and at the time
 * helper_pool_wakeup_ns() (monotonic).
 */
int helper_pool_fd(const struct helper_pool *pool);
uint64_t helper_pool_wakeup_ns(const struct helper_pool *pool);

/*
 * Delivers answers, fails jobs past their deadline, and starts queued jobs. @now_ns: monotonic.
 */
void helper_pool_run(struct helper_pool *pool, uint64_t now_ns);

struct helper_pool_stats {
	uint64_t jobs, timeouts, deaths;
};

void helper_pool_stats(const struct helper_pool *pool, enum helper_kind kind,
		       struct helper_pool_stats *ret_stats);

DEFINE_SCOPED(struct helper_pool *, helper_pool_free);
