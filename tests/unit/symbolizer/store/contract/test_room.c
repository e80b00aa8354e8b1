/* SPDX-License-Identifier: Apache-2.0 */
/* Retention when a server starts, and full disks. */

#include "tests/unit/symbolizer/store/contract/contract_fixture.h"

#include <sys/mount.h>
#include <sys/stat.h>

#define DAY_NS (24 * 3600 * NSEC_PER_SEC)

enum { N_DAYS = 4 };

/* Stores one batch of each of the N_DAYS days until today, and stops the server. */
static void make_days(struct contract *contract)
{
	for (uint64_t i = 0; i < N_DAYS; i++)
		assert_int_equal(
			write_batch(contract->store,
				    batch_at(i + 1, NOON - (N_DAYS - 1 - i) * DAY_NS, i == 0)),
			STORE_STORED);
	contract_settle(contract);
	contract->store = store_free(contract->store);
}

static uint64_t assert_days(const struct contract *contract, size_t n_days)
{
	size_t found;
	uint64_t bytes = contract->engine->folder_bytes(contract->folder, &found);

	assert_int_equal(found, n_days);
	return bytes;
}

static void the_oldest_days_are_removed_at_the_start_until_the_rest_fits(void **state)
{
	struct contract *contract = *state;
	enum store_removal reason;
	uint64_t slot;

	make_days(contract);
	contract->limits.max_bytes = assert_days(contract, N_DAYS);
	contract_reopen(contract);
	assert_days(contract, N_DAYS);
	contract->store = store_free(contract->store);

	contract->limits.max_bytes = assert_days(contract, N_DAYS) - 1;
	contract_reopen(contract);
	assert_days(contract, N_DAYS - 1);
	assert_totals(contract->store, 0, 0, 3 * (N_DAYS - 1), 7 * (N_DAYS - 1));
	assert_int_equal(removed_until(contract->store, &slot, &reason), 1);
	assert_int_equal(reason, STORE_REMOVED_BY_SIZE);
	assert_int_equal(slot * SLOT_NS, NOON - NOON % DAY_NS - (N_DAYS - 2) * DAY_NS);
	/* A late batch does not create the file of a removed day again. */
	assert_int_equal(
		write_batch(contract->store, batch_at(9, NOON - (N_DAYS - 1) * DAY_NS, false)),
		STORE_TOO_OLD);
	assert_int_equal(
		write_batch(contract->store, batch_at(9, NOON - (N_DAYS - 2) * DAY_NS, false)),
		STORE_STORED);

	contract->limits.max_bytes = 1;
	contract_reopen(contract);
	assert_days(contract, 1);
}

static void old_days_are_removed_at_the_start_unless_the_clock_is_ahead(void **state)
{
	struct contract *contract = *state;
	size_t removed;

	make_days(contract);
	contract->limits.age_ns = DAY_NS;
	contract_reopen(contract);
	assert_days(contract, 2);

	contract->clock.wall_ns += 30 * DAY_NS;
	contract_reopen(contract);
	assert_days(contract, 2);
	assert_ok(store_retain(contract->store, &removed));
	assert_days(contract, 2);
}

static void a_folder_in_use_and_a_missing_folder_are_left_alone(void **state)
{
	const struct retention_limits limits = { .max_bytes = 1 };
	struct contract *contract = *state;
	scoped_free char *missing = path_in(contract->folder, "missing");

	make_days(contract);
	contract_reopen(contract);
	sqlite_store_make_room(contract->folder, &contract->clock.clock, &limits);
	assert_days(contract, N_DAYS);

	sqlite_store_make_room(missing, &contract->clock.clock, &limits);
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

static void restart_on_a_full_disk(struct contract *contract)
{
	scoped_free char *filler = path_in(contract->folder, "filler");
	const uint64_t n_today = write_until_full(contract->store, contract->folder, 100);

	/* The ballast was released, but it is not for batches. */
	assert_errno(store_check(contract->store), -ENOSPC);
	assert_errno(write_batch(contract->store, batch_at(1000, NOON, false)), -ENOSPC);
	assert_totals(contract->store, 0, 0, 3 * (N_DAYS + n_today), 7 * (N_DAYS + n_today));
	contract->store = store_free(contract->store);

	/* Only the space of the ballast is free. */
	contract->limits.max_bytes = assert_days(contract, N_DAYS) - 1;
	contract_reopen(contract);
	assert_days(contract, N_DAYS - 1);
	assert_totals(contract->store, 0, 0, 3 * (N_DAYS - 1 + n_today),
		      7 * (N_DAYS - 1 + n_today));

	/* The rest of the disk is still full: batches are accepted once the ballast has space. */
	assert_errno(store_check(contract->store), -ENOSPC);
	assert_errno(write_batch(contract->store, batch_at(1000, NOON, false)), -ENOSPC);
	assert_ok(unlink(filler));
	assert_ok(store_check(contract->store));
	assert_int_equal(write_batch(contract->store, batch_at(1000, NOON, false)), STORE_STORED);
	assert_totals(contract->store, 0, 0, 3 * (N_DAYS + n_today), 7 * (N_DAYS + n_today));
	contract_settle(contract);
	assert_totals(contract->store, 0, 0, 3 * (N_DAYS + n_today), 7 * (N_DAYS + n_today));
}

/* A file system of 24 MiB, which only root can mount. */
static void a_full_disk_allows_a_restart_and_loses_nothing(void **state)
{
	struct contract *contract = *state;

	contract->store = store_free(contract->store);
	if (geteuid() != 0 || mount("none", contract->folder, "tmpfs", 0, "size=24m") < 0)
		skip();
	contract_reopen(contract);
	make_days(contract);
	contract_reopen(contract);
	restart_on_a_full_disk(contract);
	contract->store = store_free(contract->store);
	assert_ok(umount(contract->folder));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_both_engines(the_oldest_days_are_removed_at_the_start_until_the_rest_fits),
		on_both_engines(old_days_are_removed_at_the_start_unless_the_clock_is_ahead),
		on_sqlite(a_folder_in_use_and_a_missing_folder_are_left_alone),
		on_both_engines(a_full_disk_allows_a_restart_and_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
