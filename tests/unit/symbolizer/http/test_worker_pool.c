/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/worker_pool.h"

#include <pthread.h>
#include <stdatomic.h>

#include "tests/support/unit.h"

struct counted_job {
	struct worker_job job;
	atomic_uint *runs;
	unsigned int order; /* position in the order of execution, from 1 */
};

static void count_run(struct worker_job *job)
{
	struct counted_job *counted = container_of(job, struct counted_job, job);

	counted->order = atomic_fetch_add(counted->runs, 1) + 1;
}

static void every_job_runs_once_before_close_returns(void **state)
{
	static struct counted_job jobs[1000];
	scoped(worker_pool_freep) struct worker_pool *pool = NULL;
	atomic_uint runs = 0;

	(void)state;
	assert_ok(worker_pool_new(3, 1000, &pool));
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		jobs[i] = (struct counted_job){ .job.run = count_run, .runs = &runs };
		assert_int_equal(worker_pool_submit(pool, &jobs[i].job), WORKER_POOL_TAKEN);
	}
	worker_pool_close(pool);
	assert_int_equal(runs, ARRAY_SIZE(jobs));
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		assert_int_not_equal(jobs[i].order, 0);
}

static void one_thread_keeps_the_order(void **state)
{
	scoped(worker_pool_freep) struct worker_pool *pool = NULL;
	struct counted_job jobs[100];
	atomic_uint runs = 0;

	(void)state;
	assert_ok(worker_pool_new(1, 100, &pool));
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		jobs[i] = (struct counted_job){ .job.run = count_run, .runs = &runs };
		assert_int_equal(worker_pool_submit(pool, &jobs[i].job), WORKER_POOL_TAKEN);
	}
	worker_pool_close(pool);
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		assert_int_equal(jobs[i].order, i + 1);
}

struct meeting_job {
	struct worker_job job;
	pthread_barrier_t *barrier;
};

static void meet(struct worker_job *job)
{
	(void)pthread_barrier_wait(container_of(job, struct meeting_job, job)->barrier);
}

static void meet_twice(struct worker_job *job)
{
	meet(job);
	meet(job);
}

static void jobs_run_at_the_same_time(void **state)
{
	scoped(worker_pool_freep) struct worker_pool *pool = NULL;
	struct meeting_job jobs[2];
	pthread_barrier_t barrier;

	(void)state;
	/* Each of the two jobs waits for the other, so one thread could never finish them. */
	assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
	assert_ok(worker_pool_new(2, 2, &pool));
	for (size_t i = 0; i < 2; i++) {
		jobs[i] = (struct meeting_job){ .job.run = meet, .barrier = &barrier };
		assert_int_equal(worker_pool_submit(pool, &jobs[i].job), WORKER_POOL_TAKEN);
	}
	worker_pool_close(pool);
	(void)pthread_barrier_destroy(&barrier);
}

static void a_closed_pool_takes_no_job(void **state)
{
	scoped(worker_pool_freep) struct worker_pool *pool = NULL;
	atomic_uint runs = 0;
	struct counted_job job = { .job.run = count_run, .runs = &runs };

	(void)state;
	assert_ok(worker_pool_new(2, 2, &pool));
	worker_pool_close(pool);
	assert_int_equal(worker_pool_submit(pool, &job.job), WORKER_POOL_CLOSED);
	assert_int_equal(runs, 0);
}

static void a_full_queue_takes_no_job_until_one_is_started(void **state)
{
	scoped(worker_pool_freep) struct worker_pool *pool = NULL;
	struct counted_job counted[3];
	struct meeting_job busy;
	pthread_barrier_t barrier;
	atomic_uint runs = 0;

	(void)state;
	assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
	assert_ok(worker_pool_new(1, 2, &pool));
	/* The first job waits twice at the barrier: when it begins and before it ends. */
	busy = (struct meeting_job){ .job.run = meet_twice, .barrier = &barrier };
	assert_int_equal(worker_pool_submit(pool, &busy.job), WORKER_POOL_TAKEN);
	(void)pthread_barrier_wait(&barrier);
	for (size_t i = 0; i < ARRAY_SIZE(counted); i++) {
		counted[i] = (struct counted_job){ .job.run = count_run, .runs = &runs };
		assert_int_equal(worker_pool_submit(pool, &counted[i].job),
				 i < 2 ? WORKER_POOL_TAKEN : WORKER_POOL_FULL);
	}
	(void)pthread_barrier_wait(&barrier);
	worker_pool_close(pool);
	assert_int_equal(runs, 2);
	(void)pthread_barrier_destroy(&barrier);
}

/* The first job of client 1 occupies its half of the threads until the job of client 2 has run. */
static void jobs_of_others_overtake_a_client_at_its_limit(void **state)
{
	enum { N_THREADS = 2 };
	scoped(worker_pool_freep) struct worker_pool *pool = NULL;
	struct meeting_job busy = { .job = { .run = meet_twice, .client = 1 } };
	struct meeting_job other = { .job = { .run = meet, .client = 2 } };
	struct counted_job waiting[10];
	pthread_barrier_t of_busy, of_other;
	atomic_uint runs = 0;

	(void)state;
	busy.barrier = &of_busy;
	other.barrier = &of_other;
	assert_int_equal(pthread_barrier_init(&of_busy, NULL, 2), 0);
	assert_int_equal(pthread_barrier_init(&of_other, NULL, 2), 0);
	assert_ok(worker_pool_new(N_THREADS, 100, &pool));
	assert_int_equal(worker_pool_submit(pool, &busy.job), WORKER_POOL_TAKEN);
	(void)pthread_barrier_wait(&of_busy);
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++) {
		waiting[i] = (struct counted_job){ .job = { .run = count_run, .client = 1 },
						   .runs = &runs };
		assert_int_equal(worker_pool_submit(pool, &waiting[i].job), WORKER_POOL_TAKEN);
	}
	assert_int_equal(worker_pool_submit(pool, &other.job), WORKER_POOL_TAKEN);
	(void)pthread_barrier_wait(&of_other);
	assert_int_equal(runs, 0);
	(void)pthread_barrier_wait(&of_busy);
	worker_pool_close(pool);
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++)
		assert_int_equal(waiting[i].order, i + 1);
	(void)pthread_barrier_destroy(&of_busy);
	(void)pthread_barrier_destroy(&of_other);
}

static void a_limit_delays_jobs_and_loses_none(void **state)
{
	static struct counted_job jobs[1000];
	scoped(worker_pool_freep) struct worker_pool *pool = NULL;
	atomic_uint runs = 0;

	(void)state;
	assert_ok(worker_pool_new(4, 1000, &pool));
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		jobs[i] = (struct counted_job){ .job = { .run = count_run, .client = i % 7 },
						.runs = &runs };
		assert_int_equal(worker_pool_submit(pool, &jobs[i].job), WORKER_POOL_TAKEN);
	}
	worker_pool_close(pool);
	assert_int_equal(runs, ARRAY_SIZE(jobs));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_job_runs_once_before_close_returns),
		cmocka_unit_test(one_thread_keeps_the_order),
		cmocka_unit_test(jobs_run_at_the_same_time),
		cmocka_unit_test(a_closed_pool_takes_no_job),
		cmocka_unit_test(jobs_of_others_overtake_a_client_at_its_limit),
		cmocka_unit_test(a_limit_delays_jobs_and_loses_none),
		cmocka_unit_test(a_full_queue_takes_no_job_until_one_is_started),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
