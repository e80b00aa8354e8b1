/* SPDX-License-Identifier: Apache-2.0 */
/* A service is deleted while other threads change the same files. */

#include "tests/unit/symbolizer/store/segment_db/segment_db_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "symbolizer/store/segment_db/segment_db_private.h"

#define N_SEGMENTS 10

/* Another thread, which begins during the first commit of the deletion of segments. */
struct other {
	struct segment_db *db;
	void (*run)(struct other *other);
	pthread_t deleter, thread;
	bool has_deleted;       /* the deleter, in its open transaction */
	unsigned int n_commits; /* of the deleter, with deleted segments */
	atomic_bool had_lock, has_ended;
	bool had_lock_at_second_commit;
};

/* SQLite gives no argument to on_open(). */
static struct other *current;

static void *run_other(void *arg)
{
	struct other *other = arg;

	other->run(other);
	atomic_store(&other->has_ended, true);
	return NULL;
}

static void on_change(void *arg, int operation, const char *database, const char *table,
		      sqlite3_int64 id)
{
	struct other *other = arg;

	(void)database;
	(void)id;
	if (operation == SQLITE_DELETE && strcmp(table, "segment") == 0 &&
	    pthread_equal(pthread_self(), other->deleter))
		other->has_deleted = true;
}

/*
 * The deleter holds files_lock. It goes on when the other thread waits for the lock, which it then
 * gets before the next step, or has ended.
 */
static int on_commit(void *arg)
{
	struct other *other = arg;

	if (!pthread_equal(pthread_self(), other->deleter) || !other->has_deleted)
		return 0;
	other->has_deleted = false;
	other->n_commits++;
	if (other->n_commits == 1)
		assert_int_equal(pthread_create(&other->thread, NULL, run_other, other), 0);
	if (other->n_commits == 2)
		other->had_lock_at_second_commit = atomic_load(&other->had_lock);
	while (fair_lock_waiting(&other->db->files_lock) == 0 && !atomic_load(&other->has_ended))
		(void)sched_yield();
	return 0;
}

static int on_open(sqlite3 *handle, char **ret_error, const struct sqlite3_api_routines *api)
{
	(void)ret_error;
	(void)api;
	(void)sqlite3_update_hook(handle, on_change, current);
	(void)sqlite3_commit_hook(handle, on_commit, current);
	return SQLITE_OK;
}

/* Each segment of "web" is large enough for a step of its own, as the index has it. */
static struct segment_db *open_segments(const char *folder)
{
	struct segment_db *db = open_db(folder);

	for (uint64_t i = 1; i <= N_SEGMENTS; i++) {
		assert_int_equal(write_batch(db, batch_of(1, i, NOON, i == 1)), STORE_STORED);
		assert_ok(segment_db_flush(db, NOON));
	}
	run_sql(folder, DAY, "UPDATE segment SET n_bytes = 900000000 WHERE service = 'web'");
	return db;
}

static void delete_web(struct other *other)
{
	current = other;
	other->deleter = pthread_self();
	assert_int_equal(sqlite3_auto_extension((void (*)(void))on_open), SQLITE_OK);
	assert_int_equal(segment_db_delete_service(other->db, "default", "web", NOON), 1);
	assert_int_equal(sqlite3_cancel_auto_extension((void (*)(void))on_open), 1);
	assert_int_equal(pthread_join(other->thread, NULL), 0);
}

static void take_lock(struct other *other)
{
	fair_lock_take(&other->db->files_lock);
	atomic_store(&other->had_lock, true);
	fair_lock_give(&other->db->files_lock);
}

static void a_flush_waits_for_a_part_of_the_service_only(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_segments(*state);
	struct other other = { .db = db, .run = take_lock };

	delete_web(&other);
	assert_int_equal(other.n_commits, N_SEGMENTS);
	assert_true(other.had_lock_at_second_commit);
	assert_int_equal(total(db).sum, N_SEGMENTS * DB_OF_BATCH);
}

static void compact(struct segment_db *db)
{
	const struct segment_db_compaction compaction = { .closed_slot = UINT64_MAX,
							  .max_merge_bytes = 8 * MIB };
	size_t n;

	assert_ok(segment_db_compact(db, &compaction, &n));
}

static void write_and_merge(struct other *other)
{
	assert_int_equal(write_batch(other->db, batch_of(1, N_SEGMENTS + 1, NOON, false)),
			 STORE_STORED);
	assert_ok(segment_db_flush(other->db, NOON));
	compact(other->db);
}

static void samples_that_arrive_during_the_deletion_stay_alone(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_segments(*state);
	struct other other = { .db = db, .run = write_and_merge };

	delete_web(&other);
	assert_int_equal(total(db).sum, (N_SEGMENTS + 1) * DB_OF_BATCH + WEB_OF_BATCH);
	compact(db);
	assert_int_equal(total(db).sum, (N_SEGMENTS + 1) * DB_OF_BATCH + WEB_OF_BATCH);
	/* A service that is not being deleted is merged again. */
	assert_int_equal(query_number(*state, DAY,
				      "SELECT count(*) FROM segment WHERE service = 'web'"
				      " AND kind = 1"),
			 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_flush_waits_for_a_part_of_the_service_only),
		in_folder(samples_that_arrive_during_the_deletion_stay_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
