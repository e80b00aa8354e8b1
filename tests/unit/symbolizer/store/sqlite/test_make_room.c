/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/store/sqlite/day_files.h"
#include "symbolizer/store/sqlite/make_room.h"
#include "symbolizer/store/sqlite/sqlite_store.h"

#define DAY_NS (24 * 3600 * NSEC_PER_SEC)

enum { N_DAYS = 4 };

/* Makes a folder with one batch of each of the N_DAYS days until today, and closes it. */
static void make_days(const char *folder, const struct test_clock *clock)
{
	struct store *store = open_store(folder, clock);

	for (uint64_t i = 0; i < N_DAYS; i++)
		assert_int_equal(
			write_batch(store,
				    batch_at(i + 1, NOON - (N_DAYS - 1 - i) * DAY_NS, i == 0)),
			STORE_STORED);
	(void)store_free(store);
}

static uint64_t folder_bytes(const char *folder, size_t *ret_days)
{
	scoped_fd int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	scoped(arena_freep) struct arena *arena = NULL;
	struct day_file *files;

	assert_true(fd >= 0);
	assert_ok(arena_new(MIB, &arena));
	assert_ok(day_samples_list(fd, arena, &files, ret_days));
	return store_files_bytes(fd);
}

static void the_oldest_days_are_removed_until_the_rest_fits(void **state)
{
	const struct test_clock clock = test_clock_at(NOON);
	struct retention_limits limits = {};
	struct store *store;
	enum store_removal reason;
	uint64_t slot;
	size_t n_days;

	make_days(*state, &clock);
	limits.max_bytes = folder_bytes(*state, &n_days);
	assert_int_equal(n_days, N_DAYS);
	sqlite_store_make_room(*state, &clock.clock, &limits);
	(void)folder_bytes(*state, &n_days);
	assert_int_equal(n_days, N_DAYS);

	limits.max_bytes--;
	sqlite_store_make_room(*state, &clock.clock, &limits);
	(void)folder_bytes(*state, &n_days);
	assert_int_equal(n_days, N_DAYS - 1);

	store = open_store(*state, &clock);
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

	limits.max_bytes = 1;
	sqlite_store_make_room(*state, &clock.clock, &limits);
	(void)folder_bytes(*state, &n_days);
	assert_int_equal(n_days, 1);
}

static void old_days_are_removed_before_the_store_is_opened(void **state)
{
	const struct retention_limits limits = { .age_ns = DAY_NS };
	struct test_clock clock = test_clock_at(NOON);
	size_t n_days;

	make_days(*state, &clock);
	sqlite_store_make_room(*state, &clock.clock, &limits);
	(void)folder_bytes(*state, &n_days);
	assert_int_equal(n_days, 2);
	/* A clock that is wrongly ahead removes nothing. */
	clock.wall_ns += 30 * DAY_NS;
	sqlite_store_make_room(*state, &clock.clock, &limits);
	(void)folder_bytes(*state, &n_days);
	assert_int_equal(n_days, 2);
}

static void a_folder_in_use_and_a_missing_folder_are_left_alone(void **state)
{
	const struct retention_limits limits = { .max_bytes = 1 };
	const struct test_clock clock = test_clock_at(NOON);
	scoped_free char *missing = path_in(*state, "missing");
	struct store *store;
	size_t n_days;

	make_days(*state, &clock);
	store = open_store(*state, &clock);
	sqlite_store_make_room(*state, &clock.clock, &limits);
	(void)folder_bytes(*state, &n_days);
	assert_int_equal(n_days, N_DAYS);
	(void)store_free(store);

	sqlite_store_make_room(missing, &clock.clock, &limits);
	assert_true(access(missing, F_OK) < 0);
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
	struct retention_limits limits = {};
	scoped_free char *filler = path_in(folder, "filler");
	struct store *store = open_store(folder, clock);
	uint64_t n_today;
	size_t n_days;

	n_today = write_until_full(store, folder, 100);
	/* The ballast was released, but it is not for batches. */
	assert_errno(store_check(store), -ENOSPC);
	assert_errno(write_batch(store, batch_at(1000, NOON, false)), -ENOSPC);
	assert_totals(store, 0, 0, 3 * (N_DAYS + n_today), 7 * (N_DAYS + n_today));
	(void)store_free(store);

	/* Only the space of the ballast is free. */
	limits.max_bytes = folder_bytes(folder, &n_days) - 1;
	sqlite_store_make_room(folder, &clock->clock, &limits);
	(void)folder_bytes(folder, &n_days);
	assert_int_equal(n_days, N_DAYS - 1);
	store = open_store(folder, clock);
	store_set_max_bytes(store, limits.max_bytes);
	assert_totals(store, 0, 0, 3 * (N_DAYS - 1 + n_today), 7 * (N_DAYS - 1 + n_today));

	/* The rest of the disk is still full: batches are accepted once the ballast has space. */
	assert_errno(store_check(store), -ENOSPC);
	assert_errno(write_batch(store, batch_at(1000, NOON, false)), -ENOSPC);
	assert_ok(unlink(filler));
	assert_ok(store_check(store));
	assert_int_equal(write_batch(store, batch_at(1000, NOON, false)), STORE_STORED);
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

#define in_folder(test)                                                                            \
	cmocka_unit_test_setup_teardown(test, temp_folder_setup, temp_folder_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(the_oldest_days_are_removed_until_the_rest_fits),
		in_folder(old_days_are_removed_before_the_store_is_opened),
		in_folder(a_folder_in_use_and_a_missing_folder_are_left_alone),
		in_folder(a_full_disk_allows_a_restart_and_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
