/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention with a right and with a wrong clock, and by the size of the files.
 */

#include "tests/unit/symbolizer/store/contract/contract_fixture.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)
#define DAY_NS  (24 * HOUR_NS)

enum { N_DAYS = 8 };

/* Writes one batch of each of the N_DAYS days until today. */
static void write_days(struct contract *contract)
{
	store_set_retention(contract->store, 7 * DAY_NS);
	for (uint64_t i = 0; i < N_DAYS; i++)
		assert_int_equal(
			contract_write(contract,
				       batch_at(i + 1, NOON - (N_DAYS - 1 - i) * DAY_NS, i == 0)),
			STORE_STORED);
	contract_settle(contract);
}

static void assert_removes(struct contract *contract, size_t n_days)
{
	size_t removed = 0;

	assert_ok(store_retain(contract->store, &removed));
	assert_int_equal(removed, n_days);
}

static void days_beyond_the_retention_are_removed(void **state)
{
	struct contract *contract = *state;

	write_days(contract);
	assert_removes(contract, 0);
	contract->clock.wall_ns += 13 * HOUR_NS;
	assert_removes(contract, 1);
	assert_int_equal(contract_write(contract, batch_at(20, NOON - 8 * DAY_NS, false)),
			 STORE_TOO_OLD);
	assert_totals(contract->store, 0, 0, 3 * (N_DAYS - 1), 7 * (N_DAYS - 1));
}

static void a_clock_that_is_ten_days_ahead_removes_nothing(void **state)
{
	struct contract *contract = *state;

	write_days(contract);
	contract->clock.wall_ns += 10 * DAY_NS;
	assert_removes(contract, 0);
	/* Agents with a right clock are not refused for good. */
	assert_int_equal(contract_write(contract, batch_at(20, NOON, false)), STORE_STORED);
	/* An agent of the same machine has the same clock. */
	assert_int_equal(contract_write(contract, batch_at(21, contract->clock.wall_ns, false)),
			 STORE_STORED);
	assert_removes(contract, 0);

	contract_reopen(contract);
	store_set_retention(contract->store, 7 * DAY_NS);
	assert_removes(contract, 0);
	assert_totals(contract->store, 0, 0, 3 * (N_DAYS + 2), 7 * (N_DAYS + 2));
}

static void a_clock_that_is_ahead_is_noticed_without_a_stored_time(void **state)
{
	struct contract *contract = *state;
	scoped_free char *path = path_in(contract->folder, "retention-clock");

	write_days(contract);
	contract->store = store_free(contract->store);
	assert_ok(unlink(path));
	contract->clock.wall_ns += 10 * DAY_NS;
	contract_reopen(contract);
	store_set_retention(contract->store, 7 * DAY_NS);
	assert_removes(contract, 0);
}

static void a_clock_that_is_two_days_behind_removes_nothing(void **state)
{
	struct contract *contract = *state;

	write_days(contract);
	contract->clock.wall_ns -= 2 * DAY_NS;
	assert_removes(contract, 0);
	assert_int_equal(contract_write(contract, batch_at(20, NOON, false)), STORE_STORED);
	contract->clock.wall_ns += 2 * DAY_NS;
	assert_removes(contract, 0);
}

static void the_oldest_days_are_removed_while_the_files_exceed_the_limit(void **state)
{
	struct contract *contract = *state;
	enum store_removal reason;
	struct store_stats stats;
	uint64_t slot;

	write_days(contract);
	assert_int_equal(removed_until(contract->store, &slot, &reason), 0);
	assert_ok(store_stats(contract->store, &stats));
	store_set_max_bytes(contract->store, stats.disk_bytes);
	assert_removes(contract, 0);
	assert_int_equal(removed_until(contract->store, &slot, &reason), 1);
	assert_int_equal(reason, STORE_REMOVED_BY_AGE);
	store_set_max_bytes(contract->store, stats.disk_bytes - 1);
	assert_removes(contract, 1);
	assert_totals(contract->store, 0, 0, 3 * (N_DAYS - 1), 7 * (N_DAYS - 1));
	assert_int_equal(removed_until(contract->store, &slot, &reason), 1);
	assert_int_equal(reason, STORE_REMOVED_BY_SIZE);
	assert_int_equal(slot * SLOT_NS / DAY_NS, NOON / DAY_NS - (N_DAYS - 2));
	assert_int_equal(contract_write(contract, batch_at(20, NOON - 7 * DAY_NS, false)),
			 STORE_TOO_OLD);

	/* The newest day stays. */
	store_set_max_bytes(contract->store, 1);
	assert_removes(contract, N_DAYS - 2);
	assert_removes(contract, 0);
	assert_totals(contract->store, 0, 0, 3, 7);
	assert_int_equal(contract_write(contract, batch_at(21, NOON + 60 * NSEC_PER_SEC, false)),
			 STORE_STORED);
	assert_ok(store_stats(contract->store, &stats));
	assert_int_equal(stats.n_days_removed_by_size, N_DAYS - 1);
	assert_int_equal(stats.n_days_removed_by_age, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_each_engine(days_beyond_the_retention_are_removed),
		on_each_engine(a_clock_that_is_ten_days_ahead_removes_nothing),
		on_each_engine(a_clock_that_is_ahead_is_noticed_without_a_stored_time),
		on_each_engine(a_clock_that_is_two_days_behind_removes_nothing),
		on_each_engine(the_oldest_days_are_removed_while_the_files_exceed_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
