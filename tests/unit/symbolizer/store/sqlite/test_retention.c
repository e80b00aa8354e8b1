/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention with a right and with a wrong clock, and by the size of the files.
 */

#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)
#define DAY_NS  (24 * HOUR_NS)

enum { N_DAYS = 8 };

/* Opens a store with one batch of each of the N_DAYS days until today. */
static struct store *store_with_days(const char *folder, struct test_clock *clock)
{
	struct store *store;

	*clock = test_clock_at(NOON);
	store = open_store(folder, clock);
	store_set_retention(store, 7 * DAY_NS);
	for (uint64_t i = 0; i < N_DAYS; i++)
		assert_int_equal(
			write_batch(store,
				    batch_at(i + 1, NOON - (N_DAYS - 1 - i) * DAY_NS, i == 0)),
			STORE_STORED);
	return store;
}

static void assert_removes(struct store *store, size_t n_days)
{
	size_t removed = 0;

	assert_ok(sqlite_store_retain(store, &removed));
	assert_int_equal(removed, n_days);
}

static void days_beyond_the_retention_are_removed(void **state)
{
	struct test_clock clock;
	scoped(store_freep) struct store *store = store_with_days(*state, &clock);

	assert_removes(store, 0);
	clock.wall_ns += 13 * HOUR_NS;
	assert_removes(store, 1);
	assert_int_equal(write_batch(store, batch_at(20, NOON - 8 * DAY_NS, false)), STORE_TOO_OLD);
	assert_totals(store, 0, 0, 3 * (N_DAYS - 1), 7 * (N_DAYS - 1));
}

static void a_clock_that_is_ten_days_ahead_removes_nothing(void **state)
{
	struct test_clock clock;
	struct store *store = store_with_days(*state, &clock);

	clock.wall_ns += 10 * DAY_NS;
	assert_removes(store, 0);
	/* Agents with a right clock are not refused for good. */
	assert_int_equal(write_batch(store, batch_at(20, NOON, false)), STORE_STORED);
	/* An agent of the same machine has the same clock. */
	assert_int_equal(write_batch(store, batch_at(21, clock.wall_ns, false)), STORE_STORED);
	assert_removes(store, 0);
	(void)store_free(store);

	store = open_store(*state, &clock);
	store_set_retention(store, 7 * DAY_NS);
	assert_removes(store, 0);
	assert_totals(store, 0, 0, 3 * (N_DAYS + 2), 7 * (N_DAYS + 2));
	(void)store_free(store);
}

static void a_clock_that_is_ahead_is_noticed_without_a_stored_time(void **state)
{
	scoped_free char *path = path_in(*state, "retention-clock");
	struct test_clock clock;
	struct store *store = store_with_days(*state, &clock);

	(void)store_free(store);
	assert_ok(unlink(path));
	clock.wall_ns += 10 * DAY_NS;
	store = open_store(*state, &clock);
	store_set_retention(store, 7 * DAY_NS);
	assert_removes(store, 0);
	(void)store_free(store);
}

static void a_clock_that_is_two_days_behind_removes_nothing(void **state)
{
	struct test_clock clock;
	scoped(store_freep) struct store *store = store_with_days(*state, &clock);

	clock.wall_ns -= 2 * DAY_NS;
	assert_removes(store, 0);
	assert_int_equal(write_batch(store, batch_at(20, NOON, false)), STORE_STORED);
	clock.wall_ns += 2 * DAY_NS;
	assert_removes(store, 0);
}

static void the_oldest_days_are_removed_while_the_files_exceed_the_limit(void **state)
{
	struct test_clock clock;
	scoped(store_freep) struct store *store = store_with_days(*state, &clock);
	enum store_removal reason;
	struct store_stats stats;
	uint64_t slot;

	assert_int_equal(removed_until(store, &slot, &reason), 0);
	assert_ok(store_stats(store, &stats));
	store_set_max_bytes(store, stats.disk_bytes);
	assert_removes(store, 0);
	assert_int_equal(removed_until(store, &slot, &reason), 1);
	assert_int_equal(reason, STORE_REMOVED_BY_AGE);
	store_set_max_bytes(store, stats.disk_bytes - 1);
	assert_removes(store, 1);
	assert_totals(store, 0, 0, 3 * (N_DAYS - 1), 7 * (N_DAYS - 1));
	assert_int_equal(removed_until(store, &slot, &reason), 1);
	assert_int_equal(reason, STORE_REMOVED_BY_SIZE);
	assert_int_equal(slot * SLOT_NS / DAY_NS, NOON / DAY_NS - (N_DAYS - 2));
	assert_int_equal(write_batch(store, batch_at(20, NOON - 7 * DAY_NS, false)), STORE_TOO_OLD);

	/* The newest day stays. */
	store_set_max_bytes(store, 1);
	assert_removes(store, N_DAYS - 2);
	assert_removes(store, 0);
	assert_totals(store, 0, 0, 3, 7);
	assert_int_equal(write_batch(store, batch_at(21, NOON + 60 * NSEC_PER_SEC, false)),
			 STORE_STORED);
	assert_ok(store_stats(store, &stats));
	assert_int_equal(stats.n_days_removed_by_size, N_DAYS - 1);
	assert_int_equal(stats.n_days_removed_by_age, 0);
}

#define in_folder(test)                                                                            \
	cmocka_unit_test_setup_teardown(test, temp_folder_setup, temp_folder_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(days_beyond_the_retention_are_removed),
		in_folder(a_clock_that_is_ten_days_ahead_removes_nothing),
		in_folder(a_clock_that_is_ahead_is_noticed_without_a_stored_time),
		in_folder(a_clock_that_is_two_days_behind_removes_nothing),
		in_folder(the_oldest_days_are_removed_while_the_files_exceed_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
