/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log is read while batches are accepted, flushed and merged. Each scan must find the batches 1
 * to n of each agent once, with n at least the number that was acknowledged before the scan.
 */

#include "tests/unit/symbolizer/store/segment_db/segment_db_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#include "symbolizer/store/segment_db/batch_scan.h"
#include "symbolizer/store/segment_db/hints.h"

enum { N_AGENTS = 2, N_BATCHES = 150 };

struct shared {
	struct segment_db *db;
	atomic_uint_fast64_t acknowledged[N_AGENTS];
	atomic_bool is_done;
};

/* The batches of the first agent are in two hours, those of the second one on two days. */
static struct batch_builder *batch_number(uint8_t agent, uint64_t sequence)
{
	uint64_t closed = NOON + sequence % 2 * (agent == 0 ? HOUR : 24 * HOUR) + sequence * SECOND;
	struct batch_builder *builder =
		batch_of((uint8_t)(agent + 1), sequence, closed, sequence == 1);

	batch_builder_counter(builder, "sequences_total{}", sequence);
	return builder;
}

static void *write_all(void *arg)
{
	struct shared *shared = arg;

	for (uint64_t sequence = 1; sequence <= N_BATCHES; sequence++)
		for (uint8_t agent = 0; agent < N_AGENTS; agent++) {
			assert_int_equal(write_batch(shared->db, batch_number(agent, sequence)),
					 STORE_STORED);
			atomic_store(&shared->acknowledged[agent], sequence);
		}
	atomic_store(&shared->is_done, true);
	return NULL;
}

static void *maintain(void *arg)
{
	const struct segment_db_compaction compaction = { .closed_slot = UINT64_MAX,
							  .max_merge_bytes = 8 * MIB };
	struct shared *shared = arg;

	while (!atomic_load(&shared->is_done)) {
		size_t n_changed;

		assert_ok(segment_db_flush(shared->db, NOON));
		assert_ok(segment_db_compact(shared->db, &compaction, &n_changed));
	}
	return NULL;
}

struct found {
	uint64_t batches[N_AGENTS], sequences[N_AGENTS], counted[N_AGENTS];
};

static int add(void *arg, const struct segment_db_batch *batch)
{
	struct found *found = arg;
	size_t agent = batch->agent.bytes[0] - 1u;

	found->batches[agent]++;
	found->sequences[agent] += batch->sequence;
	found->counted[agent] += batch->values ? batch->values[0] : batch->sequence;
	return 0;
}

/* Reads all batches, and returns the number of batches of the first agent. */
static uint64_t scan(struct shared *shared, bool counters)
{
	static const char *const names[] = { "sequences_total{}" };
	const struct segment_db_batch_query query = { .tenant = "default",
						      .to_slot = UINT64_MAX,
						      .names = names,
						      .n_names = 1,
						      .max_batches = SIZE_MAX };
	uint64_t acknowledged[N_AGENTS];
	struct found found = {};

	for (size_t i = 0; i < N_AGENTS; i++)
		acknowledged[i] = atomic_load(&shared->acknowledged[i]);
	if (counters)
		assert_ok(segment_db_scan_counters(shared->db, &query, add, &found));
	else
		assert_ok(segment_db_scan_coverage(shared->db, &query, add, &found));
	for (size_t i = 0; i < N_AGENTS; i++) {
		uint64_t n = found.batches[i];

		assert_true(n >= acknowledged[i]);
		assert_int_equal(found.sequences[i], n * (n + 1) / 2);
		assert_int_equal(found.counted[i], n * (n + 1) / 2);
	}
	return found.batches[0];
}

static void assert_names(struct shared *shared)
{
	static const struct segment_db_names names = { .tenant = "default", .service = "web" };
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_service *services;
	uint64_t slot;
	size_t count;

	if (atomic_load(&shared->acknowledged[0]) == 0)
		return;
	assert_ok(arena_new(MIB, &arena));
	assert_ok(segment_db_list_services(shared->db, "default", 10, arena, &services, &count));
	assert_int_equal(count, 2);
	assert_int_equal(segment_db_last_slot(shared->db, &names, &slot), 1);
}

static void each_scan_finds_each_accepted_batch_once(void **state)
{
	struct shared shared = { .db = open_db(*state) };
	pthread_t writer, maintainer;
	uint64_t n_scans = 0;

	assert_int_equal(pthread_create(&writer, NULL, write_all, &shared), 0);
	assert_int_equal(pthread_create(&maintainer, NULL, maintain, &shared), 0);
	while (!atomic_load(&shared.is_done)) {
		(void)scan(&shared, n_scans++ % 2);
		assert_names(&shared);
	}
	(void)pthread_join(writer, NULL);
	(void)pthread_join(maintainer, NULL);
	assert_int_equal(scan(&shared, true), N_BATCHES);
	assert_int_equal(scan(&shared, false), N_BATCHES);
	print_message("%llu scans\n", (unsigned long long)n_scans);
	(void)segment_db_free(shared.db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(each_scan_finds_each_accepted_batch_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
