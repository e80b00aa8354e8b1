/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backups while batches are written, flushed and merged. The batches overlap two days, which are in
 * two files.
 */

#include "tests/unit/symbolizer/store/contract/contract_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <time.h>

#define MIDNIGHT (NOON + 12 * 3600 * NSEC_PER_SEC)
#define NOW      (MIDNIGHT + 4 * 3600 * NSEC_PER_SEC)

enum { N_BACKUPS = 6 };

/* A batch with the values 1 and 2 before midnight, and 4 after it. */
static struct batch_builder *batch_over_midnight(uint64_t sequence)
{
	return batch_at(sequence, MIDNIGHT + 2 * NSEC_PER_SEC, sequence == 1);
}

struct server {
	struct contract *contract;
	_Atomic uint64_t n_acknowledged, n_failed;
	_Atomic bool stop;
};

static void *write_batches(void *arg)
{
	struct server *server = arg;

	for (uint64_t sequence = 1; !server->stop; sequence++) {
		if (write_batch(server->contract->store, batch_over_midnight(sequence)) !=
		    STORE_STORED)
			break;
		server->n_acknowledged++;
	}
	return NULL;
}

/* Flushes between which a backup has time for its snapshots. */
static void *settle(void *arg)
{
	const struct timespec pause = { .tv_nsec = 20 * NSEC_PER_MSEC };
	struct server *server = arg;
	const struct contract *contract = server->contract;

	while (!server->stop) {
		server->n_failed +=
			contract->engine->settle && contract->engine->settle(contract->store) < 0;
		(void)nanosleep(&pause, NULL);
	}
	return NULL;
}

/* Backs up to a new folder, which the caller frees. */
static char *back_up(const struct contract *contract, const char *name)
{
	char *target = path_in(contract->folder, name);

	assert_ok(mkdir(target, 0700));
	assert_ok(contract->engine->back_up(contract->folder, target));
	return target;
}

static struct store *open_backup(const struct contract *contract, const char *target)
{
	struct store *store = NULL;

	assert_ok(contract->engine->open(target, &contract->clock, &contract->limits, &store));
	return store;
}

static void check_backup(const struct contract *contract, const char *target,
			 uint64_t n_acknowledged_before)
{
	scoped(store_freep) struct store *store = open_backup(contract, target);
	const struct totals before = total_of(store, 0, MIDNIGHT);
	const struct totals after = total_of(store, MIDNIGHT, 0);

	assert_true(after.n_rows >= n_acknowledged_before);
	assert_int_equal(after.sum, 4 * after.n_rows);
	/* Each batch is in both days. */
	assert_int_equal(before.n_rows, 2 * after.n_rows);
	assert_int_equal(before.sum, 3 * after.n_rows);
	assert_no_faults(store);
}

static void a_backup_during_ingest_has_all_acknowledged_batches_and_no_part_of_one(void **state)
{
	struct contract *contract = *state;
	struct server server = { .contract = contract };
	pthread_t writer, settler;

	contract->clock.wall_ns = NOW;
	contract_reopen(contract);
	assert_int_equal(pthread_create(&writer, NULL, write_batches, &server), 0);
	assert_int_equal(pthread_create(&settler, NULL, settle, &server), 0);
	while (server.n_acknowledged < 3)
		(void)sched_yield();
	for (int i = 0; i < N_BACKUPS; i++) {
		const uint64_t n_acknowledged = server.n_acknowledged;
		char name[] = "backup-0";
		scoped_free char *target = NULL;

		name[sizeof(name) - 2] = (char)('0' + i);
		target = back_up(contract, name);
		check_backup(contract, target, n_acknowledged);
	}
	server.stop = true;
	assert_int_equal(pthread_join(writer, NULL), 0);
	assert_int_equal(pthread_join(settler, NULL), 0);
	assert_int_equal(server.n_failed, 0);
	assert_totals(contract->store, 0, 0, 3 * server.n_acknowledged, 7 * server.n_acknowledged);
}

static void a_backup_of_a_stopped_server_continues_like_its_original(void **state)
{
	struct contract *contract = *state;
	scoped_free char *target = NULL;
	struct store *store;

	contract->clock.wall_ns = NOW;
	contract_reopen(contract);
	for (uint64_t i = 1; i <= 4; i++)
		assert_int_equal(write_batch(contract->store, batch_over_midnight(i)),
				 STORE_STORED);
	contract->store = store_free(contract->store);
	target = back_up(contract, "backup");

	/* Numbers of agents and the batches that are stored are known there too. */
	store = open_backup(contract, target);
	assert_int_equal(write_batch(store, batch_over_midnight(4)), STORE_DUPLICATE);
	assert_int_equal(write_batch(store, batch_over_midnight(5)), STORE_STORED);
	assert_totals(store, 0, 0, 15, 35);
	(void)store_free(store);
	contract_reopen(contract);
	assert_totals(contract->store, 0, 0, 12, 28);
}

static void a_folder_without_a_store_is_refused(void **state)
{
	struct contract *contract = *state;
	scoped_free char *empty = path_in(contract->folder, "empty");

	assert_ok(mkdir(empty, 0700));
	assert_errno(contract->engine->back_up(empty, contract->folder), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_both_engines(
			a_backup_during_ingest_has_all_acknowledged_batches_and_no_part_of_one),
		on_both_engines(a_backup_of_a_stopped_server_continues_like_its_original),
		on_both_engines(a_folder_without_a_store_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
