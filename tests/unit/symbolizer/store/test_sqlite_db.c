/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "symbolizer/store/sqlite_schema.h"

/*
 * Connections to hearth.db, which stands for any file here.
 */

#define N_READERS 2

/* Readers of which one at least reads at any time: each ends its transaction when the next one has
 * begun. */
struct relay {
	const char *folder;
	atomic_uint turn; /* of the reader that began last */
	atomic_bool stop;
};

struct runner {
	struct relay *relay;
	unsigned int number;
};

static void *take_turns(void *arg)
{
	const struct runner *runner = arg;
	struct relay *relay = runner->relay;
	scoped(sqlite_db_freep) struct sqlite_db *db = NULL;

	assert_ok(hearth_db_open(relay->folder, false, &db));
	while (!atomic_load(&relay->stop)) {
		unsigned int turn = atomic_load(&relay->turn);

		if ((turn + 1) % N_READERS != runner->number) {
			(void)sched_yield();
			continue;
		}
		assert_ok(sqlite_db_run(db, "BEGIN; SELECT count(*) FROM host"));
		atomic_store(&relay->turn, turn + 1);
		while (atomic_load(&relay->turn) == turn + 1 && !atomic_load(&relay->stop))
			(void)sched_yield();
		assert_ok(sqlite_db_run(db, "COMMIT"));
	}
	return NULL;
}

static off_t wal_bytes(const char *folder)
{
	scoped_free char *path = path_in(folder, "hearth.db-wal");
	struct stat status;

	assert_ok(stat(path, &status));
	return status.st_size;
}

static void a_wal_is_bounded_though_somebody_always_reads(void **state)
{
	enum { MAX_WAL = 1 * MIB, N_COMMITS = 64, COMMIT_BYTES = 524288 };
	struct relay relay = { .folder = *state };
	struct runner runners[N_READERS];
	pthread_t threads[N_READERS];
	scoped(sqlite_db_freep) struct sqlite_db *db = NULL;

	assert_ok(hearth_db_open(*state, true, &db));
	sqlite_db_bound_wal(db, MAX_WAL);
	assert_ok(sqlite_db_run(db, "CREATE TABLE ballast(content BLOB)"));
	for (unsigned int i = 0; i < N_READERS; i++) {
		runners[i] = (struct runner){ .relay = &relay, .number = i };
		assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &runners[i]), 0);
	}
	while (atomic_load(&relay.turn) < N_READERS)
		(void)sched_yield();
	for (int i = 0; i < N_COMMITS; i++)
		assert_ok(sqlite_db_run(db, "INSERT INTO ballast VALUES(randomblob(524288))"));
	atomic_store(&relay.stop, true);
	for (unsigned int i = 0; i < N_READERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	/*
	 * The file keeps its largest size. Never begun anew it would hold all that was written; how
	 * soon a moment comes in which it can be depends on the machine.
	 */
	assert_true(wal_bytes(*state) < N_COMMITS * (off_t)COMMIT_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_wal_is_bounded_though_somebody_always_reads,
						temp_folder_setup, temp_folder_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
