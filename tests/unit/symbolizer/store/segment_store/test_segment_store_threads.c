/* SPDX-License-Identifier: Apache-2.0 */
/*
 * While a thread writes batches and another one flushes and merges, each query must see every
 * acknowledged batch once.
 */

#include "tests/unit/symbolizer/store/segment_store/segment_store_fixture.h"

#include <pthread.h>

#define N_BATCHES 300

struct shared {
	struct test_clock clock;
	struct store *store;
	/* Acknowledged batches, and those that were begun. */
	_Atomic uint64_t n_stored, n_begun;
	_Atomic bool has_ended;
	_Atomic uint64_t n_failed;
};

/* Of one batch of batch_at(). */
#define N_ROWS 3
#define SUM    7

static void *write_batches(void *arg)
{
	struct shared *shared = arg;

	for (uint64_t i = 1; i <= N_BATCHES; i++) {
		shared->n_begun = i;
		if (write_batch(shared->store, batch_at(i, NOON + i * NSEC_PER_SEC, i == 1)) !=
		    STORE_STORED)
			shared->n_failed++;
		shared->n_stored = i;
	}
	shared->has_ended = true;
	return NULL;
}

static void *settle(void *arg)
{
	struct shared *shared = arg;

	while (!shared->has_ended)
		if (segment_store_settle(shared->store) < 0)
			shared->n_failed++;
	return NULL;
}

static void each_query_sees_every_batch_once(void **state)
{
	struct shared shared = { .clock = test_clock_at(NOON + 4 * 3600 * NSEC_PER_SEC) };
	pthread_t writer, settler;
	uint64_t n_queries = 0;

	shared.store = open_segment_store(*state, &shared.clock.clock, 0);
	assert_int_equal(pthread_create(&writer, NULL, write_batches, &shared), 0);
	assert_int_equal(pthread_create(&settler, NULL, settle, &shared), 0);
	while (!shared.has_ended) {
		const uint64_t before = shared.n_stored;
		const struct totals totals = total_of(shared.store, 0, 0);
		const uint64_t after = shared.n_begun;

		assert_int_equal(totals.n_rows % N_ROWS, 0);
		assert_int_equal(totals.sum, totals.n_rows / N_ROWS * SUM);
		assert_in_range(totals.n_rows / N_ROWS, before, after);
		n_queries++;
	}
	assert_int_equal(pthread_join(writer, NULL), 0);
	assert_int_equal(pthread_join(settler, NULL), 0);
	assert_int_equal(shared.n_failed, 0);
	assert_true(n_queries > 0);
	assert_int_equal(total_of(shared.store, 0, 0).n_rows, N_BATCHES * N_ROWS);
	(void)store_free(shared.store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(each_query_sees_every_batch_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
