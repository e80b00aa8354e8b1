/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backups while batches are written. The batches overlap two days, whose files are committed one
 * after the other.
 */

#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#include <pthread.h>
#include <sys/stat.h>

#include "symbolizer/store/sqlite/store_backup.h"

#define MIDNIGHT (NOON + 12 * 3600 * NSEC_PER_SEC)

enum { N_BACKUPS = 5 };

/* A batch with the values 1 and 2 before midnight, and 4 after it. */
static struct batch_builder *batch_over_midnight(uint64_t sequence)
{
	return batch_at(sequence, MIDNIGHT + 2 * NSEC_PER_SEC, sequence == 1);
}

struct ingest {
	struct store *store;
	_Atomic uint64_t n_acknowledged;
	_Atomic bool stop;
};

static void *write_batches(void *arg)
{
	struct ingest *ingest = arg;

	for (uint64_t sequence = 1; !ingest->stop; sequence++) {
		if (write_batch(ingest->store, batch_over_midnight(sequence)) != STORE_STORED)
			break;
		ingest->n_acknowledged++;
	}
	return NULL;
}

/* Backs up to a new folder, which the caller frees. */
static char *back_up(const char *folder, const char *name)
{
	scoped(store_snapshots_freep) struct store_snapshots *snapshots = NULL;
	char *target = path_in(folder, name);

	assert_ok(mkdir(target, 0700));
	assert_ok(store_snapshots_open(folder, &snapshots));
	assert_ok(store_snapshots_copy(snapshots, target));
	return target;
}

static void check_backup(const char *target, uint64_t n_acknowledged_before)
{
	const struct test_clock clock = test_clock_at(MIDNIGHT + 60 * NSEC_PER_SEC);
	scoped(store_freep) struct store *store = open_store(target, &clock);
	struct totals before = total_of(store, 0, MIDNIGHT);
	struct totals after = total_of(store, MIDNIGHT, 0);

	assert_true(after.n_rows >= n_acknowledged_before);
	assert_int_equal(after.sum, 4 * after.n_rows);
	/* Each batch is in both days. */
	assert_int_equal(before.n_rows, 2 * after.n_rows);
	assert_int_equal(before.sum, 3 * after.n_rows);
}

static void a_backup_during_ingest_has_all_acknowledged_batches_and_no_part_of_one(void **state)
{
	const struct test_clock clock = test_clock_at(MIDNIGHT + 60 * NSEC_PER_SEC);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	struct ingest ingest = { .store = store };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, write_batches, &ingest), 0);
	while (ingest.n_acknowledged < 3)
		(void)sched_yield();
	for (int i = 0; i < N_BACKUPS; i++) {
		uint64_t n_acknowledged = ingest.n_acknowledged;
		char name[] = "backup-0";
		scoped_free char *target = NULL;

		name[sizeof(name) - 2] = (char)('0' + i);
		target = back_up(*state, name);
		check_backup(target, n_acknowledged);
	}
	ingest.stop = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_totals(store, 0, 0, 3 * ingest.n_acknowledged, 7 * ingest.n_acknowledged);
}

static void a_backup_of_a_stopped_server_goes_on_as_its_original(void **state)
{
	const struct test_clock clock = test_clock_at(MIDNIGHT + 60 * NSEC_PER_SEC);
	struct store *store = open_store(*state, &clock);
	scoped_free char *target = NULL;

	for (uint64_t i = 1; i <= 4; i++)
		assert_int_equal(write_batch(store, batch_over_midnight(i)), STORE_STORED);
	(void)store_free(store);
	target = back_up(*state, "backup");

	/* Numbers of agents and the batches that are stored are known there too. */
	store = open_store(target, &clock);
	assert_int_equal(write_batch(store, batch_over_midnight(4)), STORE_DUPLICATE);
	assert_int_equal(write_batch(store, batch_over_midnight(5)), STORE_STORED);
	assert_totals(store, 0, 0, 15, 35);
	(void)store_free(store);
	store = open_store(*state, &clock);
	assert_totals(store, 0, 0, 12, 28);
	(void)store_free(store);
}

static void a_folder_without_a_store_is_refused(void **state)
{
	struct store_snapshots *snapshots;

	assert_errno(store_snapshots_open(*state, &snapshots), -ENOENT);
}

#define in_folder(test)                                                                            \
	cmocka_unit_test_setup_teardown(test, temp_folder_setup, temp_folder_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_backup_during_ingest_has_all_acknowledged_batches_and_no_part_of_one),
		in_folder(a_backup_of_a_stopped_server_goes_on_as_its_original),
		in_folder(a_folder_without_a_store_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
