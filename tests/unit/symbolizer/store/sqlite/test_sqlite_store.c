/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of stored objects, and what happens to the days of a batch when one is removed. */

#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#define MIDNIGHT (NOON + 12 * 3600 * NSEC_PER_SEC)

static void equal_stacks_of_two_agents_have_one_id(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	struct store_stats one_host, two_hosts;
	struct batch_builder *builder;

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	assert_ok(store_stats(store, &one_host));
	assert_int_equal(one_host.n_stacks, 2);
	/* Another host has the same executable, with another number. */
	builder = batch_builder_new(2, EPOCH + 1, 1, NOON - NSEC_PER_SEC, NOON);
	{
		struct executable_id id = test_build_id(1);
		const struct batch_frame frames[] = { { FRAME_NATIVE, 8, 0x3000 },
						      { FRAME_NATIVE, 8, 0x2000 },
						      { FRAME_NATIVE, 8, 0x1000 } };

		batch_builder_executable(builder, 8, &id, "server", ROLE_USER);
		batch_builder_process(builder, 5, 1, 1, "server", 8);
		batch_builder_series(builder, 6, 5, 1, "server", EVENT_ON_CPU, 1);
		batch_builder_stack(builder, 7, STACK_CUT_NONE, frames, 3);
		batch_builder_row(builder, 6, 7, NOON - NSEC_PER_SEC, 1);
	}
	assert_int_equal(write_batch(store, builder), STORE_STORED);
	assert_ok(store_stats(store, &two_hosts));
	assert_int_equal(two_hosts.n_stacks, 2);
	assert_int_equal(two_hosts.n_processes, 2);
	assert_int_equal(two_hosts.n_series, 2);
	assert_int_equal(two_hosts.n_batches, 2);
	assert_int_equal(two_hosts.n_rows, 4);
	assert_true(two_hosts.disk_bytes > 0);
}

static void a_resent_batch_adds_the_missing_day(void **state)
{
	struct test_clock clock = test_clock_at(MIDNIGHT);
	struct store *store = open_store(*state, &clock);
	size_t removed;

	/* The state after a crash between the two days, except that the second day was stored. */
	assert_int_equal(write_batch(store, batch_at(1, MIDNIGHT + 2 * NSEC_PER_SEC, true)),
			 STORE_STORED);
	assert_ok(sqlite_store_prune(store, MIDNIGHT, &removed));
	assert_int_equal(removed, 1);
	assert_totals(store, 0, 0, 1, 4);
	assert_int_equal(write_batch(store, batch_at(1, MIDNIGHT + 2 * NSEC_PER_SEC, true)),
			 STORE_STORED);
	assert_totals(store, 0, 0, 3, 7);
	(void)store_free(store);
}

static void retention_removes_whole_days(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	const uint64_t day = 24 * 3600 * NSEC_PER_SEC;
	scoped_free char *path = path_in(*state, "samples-2026-01-01.db");
	size_t removed;

	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(write_batch(store, batch_at(1 + i, NOON + i * day, i == 0)),
				 STORE_STORED);
	assert_totals(store, 0, 0, 12, 28);
	assert_int_equal(access(path, F_OK), 0);
	/* A day is kept until all of it is older than the retention. */
	assert_ok(sqlite_store_prune(store, NOON + 2 * day, &removed));
	assert_int_equal(removed, 2);
	assert_totals(store, 0, 0, 6, 14);
	assert_int_equal(access(path, F_OK), -1);
	/* A late batch creates the day again, and readers that had it open find the new file. */
	assert_int_equal(write_batch(store, batch_at(9, NOON, false)), STORE_STORED);
	assert_totals(store, 0, 0, 9, 21);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(equal_stacks_of_two_agents_have_one_id),
		in_folder(a_resent_batch_adds_the_missing_day),
		in_folder(retention_removes_whole_days),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
