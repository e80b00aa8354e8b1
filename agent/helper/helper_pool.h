/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Helpers at work: jobs go in, answers come back by callbacks, and nobody waits.
 *
 * A helper has one job at a time; the others wait in a queue, one for each kind of helper. A job that is not answered
 * by its deadline, or whose helper dies, fails; the helper is killed, and another one forked after a short pause. A
 * helper that not even SIGKILL ends (it hangs in a file system) is forgotten. Helpers without work end after a while.
 *
 * Used by one thread, which polls helper_pool_fd() and calls helper_pool_run().
 */

#include "agent/helper/message.h"
#include "agent/helper/nursery.h"

struct helper_pool;

/* Helpers of one kind at a time. */
#define HELPER_POOL_MAX_WIDTH 4

struct helper_pool_options {
	struct nursery *nursery; /* borrowed */
	unsigned int width[HELPER_KINDS];
	bool single_use[HELPER_KINDS]; /* a helper has one job and ends: no file does anything to the next one */
};

int helper_pool_new(const struct helper_pool_options *options, struct helper_pool **ret_pool);

/* Of jobs that are left @done is not called, but @forget. */
struct helper_pool *helper_pool_free(struct helper_pool *pool);

/*
 * @error: 0; -ETIMEDOUT; -ECONNRESET, the helper died. @answer (NULL on error) is valid during the call; descriptors
 * that the callback takes it replaces by -1. The callback may submit jobs.
 */
typedef void (*helper_done)(void *arg, int error, struct helper_message *answer);

struct helper_job {
	enum helper_kind kind;
	uint64_t timeout_ns; /* from the moment a helper has it */
	helper_done done;
	void (*forget)(void *arg); /* frees @arg if the pool ends before the job; NULL: nothing to free */
	void *arg;
};

/* Takes the descriptors of @request, on failure too. 0, -ENOMEM, -EBUSY: too many wait. */
int helper_pool_submit(struct helper_pool *pool, const struct helper_job *job, struct helper_message *request);

/* Readable: there is something to run. Besides, it has to be run by helper_pool_wakeup_ns(). */
int helper_pool_fd(const struct helper_pool *pool);
uint64_t helper_pool_wakeup_ns(const struct helper_pool *pool);

/* Delivers answers, ends what is late, gives out what waits. @now_ns: monotonic. */
void helper_pool_run(struct helper_pool *pool, uint64_t now_ns);

struct helper_pool_stats {
	uint64_t jobs, timeouts, deaths;
};

void helper_pool_stats(const struct helper_pool *pool, enum helper_kind kind, struct helper_pool_stats *ret_stats);

DEFINE_SCOPED(struct helper_pool *, helper_pool_free);
