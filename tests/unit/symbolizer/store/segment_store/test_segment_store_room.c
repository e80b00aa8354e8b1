/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Space: retention before the databases are opened, full disks, and memory.
 */

#include "tests/unit/symbolizer/store/segment_store/segment_store_fixture.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include "symbolizer/store/segment_db/day_file.h"

#define DAY_NS (24 * 3600 * NSEC_PER_SEC)

enum { N_DAYS = 4 };

/* Opens the engine with limits, as a server does at its start. */
static struct store *open_limited(const char *folder, const struct test_clock *clock,
				  uint64_t retention_ns, uint64_t max_bytes)
{
	const struct segment_store_options options = { .folder = folder,
						       .clock = &clock->clock,
						       .decoder = segment_test_decoder(),
						       .retention_ns = retention_ns,
						       .max_bytes = max_bytes };
	struct store *store = NULL;

	assert_ok(segment_store_open(&options, &store));
	return store;
}

/* Makes a folder with one batch of each of the N_DAYS days until today, and closes it. */
static void make_days(const char *folder, const struct test_clock *clock)
{
	struct store *store = open_limited(folder, clock, 0, 0);

	for (uint64_t i = 0; i < N_DAYS; i++)
		assert_int_equal(
			write_batch(store,
				    batch_at(i + 1, NOON - (N_DAYS - 1 - i) * DAY_NS, i == 0)),
			STORE_STORED);
	assert_ok(segment_store_settle(store));
	(void)store_free(store);
}

static uint64_t folder_bytes(const char *folder, size_t *ret_days)
{
	scoped(segment_days_release) struct segment_days days = {};
	uint64_t bytes = segment_db_inbox_bytes(folder);

	assert_ok(day_files_list(folder, &days));
	for (size_t i = 0; i < days.count; i++)
		bytes += day_file_bytes(folder, days.items[i]);
	*ret_days = days.count;
	return bytes;
}

static void the_oldest_days_are_removed_at_the_start_until_the_rest_fits(void **state)
{
	const struct test_clock clock = test_clock_at(NOON);
	enum store_removal reason;
	struct store *store;
	uint64_t bytes, slot;
	size_t n_days;

	make_days(*state, &clock);
	bytes = folder_bytes(*state, &n_days);
	assert_int_equal(n_days, N_DAYS);
	store = open_limited(*state, &clock, 0, bytes - 1);
	(void)folder_bytes(*state, &n_days);
	assert_int_equal(n_days, N_DAYS - 1);
	assert_totals(store, 0, 0, 3 * (N_DAYS - 1), 7 * (N_DAYS - 1));
	assert_int_equal(removed_until(store, &slot, &reason), 1);
	assert_int_equal(reason, STORE_REMOVED_BY_SIZE);
	assert_int_equal(slot * SLOT_NS, NOON - NOON % DAY_NS - (N_DAYS - 2) * DAY_NS);
	/* A late batch does not create the file of a removed day again. */
	assert_int_equal(write_batch(store, batch_at(9, NOON - (N_DAYS - 1) * DAY_NS, false)),
			 STORE_TOO_OLD);
	assert_int_equal(write_batch(store, batch_at(9, NOON - (N_DAYS - 2) * DAY_NS, false)),
			 STORE_STORED);
	(void)store_free(store);

	store = open_limited(*state, &clock, 0, 1);
	(void)folder_bytes(*state, &n_days);
	assert_int_equal(n_days, 1);
	(void)store_free(store);
}

static void old_days_are_removed_at_the_start_unless_the_clock_is_ahead(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	struct store *store;
	size_t n_days, removed;

	make_days(*state, &clock);
	store = open_limited(*state, &clock, DAY_NS, 0);
	(void)folder_bytes(*state, &n_days);
	assert_int_equal(n_days, 2);
	(void)store_free(store);

	clock.wall_ns += 30 * DAY_NS;
	store = open_limited(*state, &clock, DAY_NS, 0);
	assert_ok(store_retain(store, &removed));
	(void)folder_bytes(*state, &n_days);
	assert_int_equal(n_days, 2);
	(void)store_free(store);
}

static void a_clean_stop_leaves_no_batch_in_the_inbox(void **state)
{
	const struct test_clock clock = test_clock_at(NOON);
	struct store *store = open_limited(*state, &clock, 0, 0);
	struct segment_db *db;
	const struct segment_db_options options = { .folder = *state,
						    .decoder = segment_test_decoder(),
						    .max_head_bytes = MIB,
						    .max_numbers_bytes = MIB,
						    .max_agents = 512 };

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	(void)store_free(store);
	assert_ok(segment_db_open(&options, &db));
	assert_int_equal(segment_db_head_bytes(db), 0);
	(void)segment_db_free(db);

	store = open_limited(*state, &clock, 0, 0);
	assert_totals(store, 0, 0, 3, 7);
	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_DUPLICATE);
	assert_int_equal(write_batch(store, batch_at(2, NOON, false)), STORE_STORED);
	assert_totals(store, 0, 0, 6, 14);
	(void)store_free(store);
}

/* Fills the file system with a file in @folder, up to the last byte. */
static void fill_disk(const char *folder)
{
	static const uint8_t zeros[4096];
	scoped_free char *path = path_in(folder, "filler");
	scoped_fd int fd = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
}

/* Writes batches until the disk is full, and returns how many were acknowledged. */
static uint64_t write_until_full(struct store *store, const char *folder, uint64_t sequence)
{
	uint64_t n_stored = 0;
	int r;

	do {
		fill_disk(folder);
		r = write_batch(store, batch_at(sequence, NOON + sequence * NSEC_PER_SEC, false));
		sequence++;
		n_stored += r == STORE_STORED;
	} while (r == STORE_STORED);
	assert_errno(r, -ENOSPC);
	return n_stored;
}

static void restart_on_a_full_disk(const char *folder, const struct test_clock *clock)
{
	scoped_free char *filler = path_in(folder, "filler");
	struct store *store = open_limited(folder, clock, 0, 0);
	const uint64_t n_today = write_until_full(store, folder, 100);
	size_t n_days;

	/* The ballast was released, but it is not for batches. */
	assert_errno(store_check(store), -ENOSPC);
	assert_errno(write_batch(store, batch_at(1000, NOON, false)), -ENOSPC);
	assert_totals(store, 0, 0, 3 * (N_DAYS + n_today), 7 * (N_DAYS + n_today));
	(void)store_free(store);

	/* Only the space of the ballast is free. */
	store = open_limited(folder, clock, 0, folder_bytes(folder, &n_days) - 1);
	(void)folder_bytes(folder, &n_days);
	assert_int_equal(n_days, N_DAYS - 1);
	assert_totals(store, 0, 0, 3 * (N_DAYS - 1 + n_today), 7 * (N_DAYS - 1 + n_today));

	/* The rest of the disk is still full: batches are accepted once the ballast has space. */
	assert_errno(store_check(store), -ENOSPC);
	assert_errno(write_batch(store, batch_at(1000, NOON, false)), -ENOSPC);
	assert_ok(unlink(filler));
	assert_ok(store_check(store));
	assert_int_equal(write_batch(store, batch_at(1000, NOON, false)), STORE_STORED);
	assert_totals(store, 0, 0, 3 * (N_DAYS + n_today), 7 * (N_DAYS + n_today));
	assert_ok(segment_store_settle(store));
	assert_totals(store, 0, 0, 3 * (N_DAYS + n_today), 7 * (N_DAYS + n_today));
	(void)store_free(store);
}

/* A file system of 24 MiB, which only root can mount. */
static void a_full_disk_allows_a_restart_and_loses_nothing(void **state)
{
	const struct test_clock clock = test_clock_at(NOON);

	if (geteuid() != 0 || mount("none", *state, "tmpfs", 0, "size=24m") < 0)
		skip();
	make_days(*state, &clock);
	restart_on_a_full_disk(*state, &clock);
	assert_ok(umount(*state));
}

/* Answers with a budget of @limit_bytes: 0 or the error. All memory is given back. */
static int answer_within(struct store *store, uint64_t limit_bytes)
{
	struct memory_budget budget = { .limit_bytes = limit_bytes };
	const struct store_view_options options = { .tenant = "default", .memory = &budget };
	const struct store_series_query query = {};
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_sum_series summed = { .factor = 1 };
	struct store_sums sums = {};
	struct store_series *series;
	struct store_view *view = NULL;
	size_t count;
	int r;

	assert_ok(arena_new(MIB, &arena));
	r = store_view_open(store, &options, &view);
	if (r == 0)
		r = store_find_series(view, &query, arena, &series, &count);
	if (r == 0) {
		const struct store_sum_query sum = { .series = &summed,
						     .n_series = 1,
						     .to_slot = UINT64_MAX };

		summed.id = series[0].id;
		r = store_sum(view, &sum, &sums);
	}
	store_sums_release(&sums);
	(void)store_view_close(view);
	assert_int_equal(budget.used_bytes, 0);
	return r;
}

/* Rows in memory, and then the same in segments. Each step has some KiB more. */
static void a_query_beyond_its_memory_fails_and_keeps_nothing(void **state)
{
	const struct test_clock clock = test_clock_at(NOON + 4 * 3600 * NSEC_PER_SEC);
	scoped(store_freep) struct store *store = open_limited(*state, &clock, 0, 0);

	for (uint64_t i = 1; i <= 50; i++)
		assert_int_equal(write_batch(store, batch_at(i, NOON + i * NSEC_PER_SEC, i == 1)),
				 STORE_STORED);
	for (int settled = 0; settled < 2; settled++) {
		uint64_t limit = 1;
		int r;

		while ((r = answer_within(store, limit)) < 0) {
			assert_errno(r, -ENOMEM);
			limit += 8 * KIB;
			assert_true(limit < 256 * MIB);
		}
		assert_true(limit > 1);
		assert_ok(segment_store_settle(store));
	}
}

#define in_folder(test)                                                                            \
	cmocka_unit_test_setup_teardown(test, temp_folder_setup, temp_folder_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(the_oldest_days_are_removed_at_the_start_until_the_rest_fits),
		in_folder(old_days_are_removed_at_the_start_unless_the_clock_is_ahead),
		in_folder(a_clean_stop_leaves_no_batch_in_the_inbox),
		in_folder(a_full_disk_allows_a_restart_and_loses_nothing),
		in_folder(a_query_beyond_its_memory_fails_and_keeps_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
