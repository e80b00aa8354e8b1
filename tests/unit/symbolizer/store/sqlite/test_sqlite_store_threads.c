/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries run while batches are written. Each query sees whole batches only, and at least those of
 * the query before. The checks run after the threads have ended, because cmocka's assertions work
 * in the main thread only.
 */

#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum {
	N_READERS = 6, /* more than the store has sets of connections */
	N_SCANS = 4,   /* most that the store runs at the same time */
	N_WRITERS = 2,
	N_BATCHES = 40, /* of each writer */
};

#define SUM_OF_BATCH 7

struct shared {
	struct store *store;
	_Atomic bool done;
	_Atomic unsigned int n_wrong;
	_Atomic unsigned int n_queries;
};

struct writer_arg {
	struct shared *shared;
	uint8_t agent;
};

static int add_value(void *arg, uint32_t series_index, uint64_t stack_id, uint64_t slot,
		     uint64_t value)
{
	(void)series_index;
	(void)stack_id;
	(void)slot;
	*(uint64_t *)arg += value;
	return 0;
}

static int sum_all(struct store *store, struct arena *arena, uint64_t *ret_sum)
{
	const struct store_view_options options = { .tenant = "default" };
	scoped(store_view_closep) struct store_view *view = NULL;
	const struct store_series_query query = {};
	const uint64_t stacks[] = { 1, 2 };
	struct store_series *series;
	struct store_stack loaded[2];
	uint64_t *ids;
	size_t count;
	int r;

	*ret_sum = 0;
	r = store_view_open(store, &options, &view);
	if (r < 0)
		return r;
	r = store_find_series(view, &query, arena, &series, &count);
	if (r < 0)
		return r;
	ids = arena_alloc_array(arena, count, sizeof(*ids));
	for (size_t i = 0; ids && i < count; i++)
		ids[i] = series[i].id;
	r = store_scan(view,
		       &(struct store_range){
			       .series_ids = ids, .n_series = count, .to_slot = UINT64_MAX },
		       add_value, ret_sum);
	return r < 0 ? r : store_load_stacks(view, stacks, 2, arena, loaded);
}

static void *read_all_the_time(void *arg)
{
	struct shared *shared = arg;
	struct arena *arena = NULL;
	uint64_t last = 0;

	if (arena_new(64 * MIB, &arena) < 0)
		return NULL;
	do {
		uint64_t sum;

		arena_clear(arena);
		if (sum_all(shared->store, arena, &sum) < 0 || sum % SUM_OF_BATCH != 0 ||
		    sum < last)
			shared->n_wrong++;
		last = sum;
		shared->n_queries++;
	} while (!shared->done);
	(void)arena_free(arena);
	return NULL;
}

static void *write_batches(void *arg)
{
	const struct writer_arg *writer = arg;

	for (uint64_t i = 1; i <= N_BATCHES; i++) {
		uint64_t closed = NOON + i * 5 * NSEC_PER_SEC;
		struct batch_builder *builder = batch_builder_new(
			writer->agent, EPOCH, i, closed - 5 * NSEC_PER_SEC, closed);

		define_all(builder);
		batch_builder_row(builder, 1, 1, closed - NSEC_PER_SEC, 3);
		batch_builder_row(builder, 1, 2, closed - NSEC_PER_SEC, 4);
		if (write_batch(writer->shared->store, builder) != STORE_STORED)
			writer->shared->n_wrong++;
	}
	return NULL;
}

static void queries_see_whole_batches_only(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	struct shared shared = { .store = store };
	struct writer_arg arguments[N_WRITERS];
	pthread_t readers[N_READERS];
	pthread_t writers[N_WRITERS];

	for (size_t i = 0; i < N_READERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, read_all_the_time, &shared), 0);
	for (size_t i = 0; i < N_WRITERS; i++) {
		arguments[i] = (struct writer_arg){ .shared = &shared, .agent = (uint8_t)(i + 1) };
		assert_int_equal(pthread_create(&writers[i], NULL, write_batches, &arguments[i]),
				 0);
	}
	for (size_t i = 0; i < N_WRITERS; i++)
		(void)pthread_join(writers[i], NULL);
	shared.done = true;
	for (size_t i = 0; i < N_READERS; i++)
		(void)pthread_join(readers[i], NULL);
	assert_int_equal(shared.n_wrong, 0);
	assert_true(shared.n_queries >= N_READERS);
	assert_totals(store, 0, 0, 2 * N_WRITERS * N_BATCHES, SUM_OF_BATCH * N_WRITERS * N_BATCHES);
}

struct held {
	struct store *store;
	sem_t began, goes_on;
};

static int hold(void *arg, uint32_t host, uint64_t first_slot, uint64_t last_slot)
{
	struct held *held = arg;

	(void)host;
	(void)first_slot;
	(void)last_slot;
	(void)sem_post(&held->began);
	(void)sem_wait(&held->goes_on);
	return 0;
}

static void *scan_and_hold(void *arg)
{
	static const struct store_view_options options = { .tenant = "default" };
	static const uint32_t host = 1;
	scoped(store_view_closep) struct store_view *view = NULL;
	struct held *held = arg;

	if (store_view_open(held->store, &options, &view) == 0)
		(void)store_scan_coverage(view, &host, 1, 0, UINT64_MAX / SLOT_NS, hold, held);
	return NULL;
}

/* More scans than may run at the same time. */
static void a_lookup_does_not_wait_for_scans(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	scoped(arena_freep) struct arena *arena = NULL;
	const struct hash128 agent = { { 1 } };
	struct store_executable *executables;
	struct held held = { .store = store };
	pthread_t scans[N_READERS];
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	assert_int_equal(sem_init(&held.began, 0, 0), 0);
	assert_int_equal(sem_init(&held.goes_on, 0, 0), 0);
	for (size_t i = 0; i < N_READERS; i++)
		assert_int_equal(pthread_create(&scans[i], NULL, scan_and_hold, &held), 0);
	for (size_t i = 0; i < N_SCANS; i++)
		(void)sem_wait(&held.began);
	assert_ok(store_agent_executables(store, "default", &agent, EPOCH, 1, arena, &executables,
					  &count));
	for (size_t i = 0; i < N_READERS; i++)
		(void)sem_post(&held.goes_on);
	for (size_t i = 0; i < N_READERS; i++)
		(void)pthread_join(scans[i], NULL);
	(void)sem_destroy(&held.began);
	(void)sem_destroy(&held.goes_on);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_lookup_does_not_wait_for_scans),
		in_folder(queries_see_whole_batches_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
