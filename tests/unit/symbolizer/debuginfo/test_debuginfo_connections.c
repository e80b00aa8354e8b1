/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/debuginfo/debuginfo_private.h"
#include "tests/unit/symbolizer/debuginfo/debuginfo_fixture.h"

/* A test that would wait for ever is killed after this time. */
#define HANGS_AFTER_S 100

/* Ingest and I/O threads take this lock for their lookups, so a long read must not hold it. */
static void a_list_does_not_take_the_lock_of_short_lookups(void **state)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store =
		open_debuginfo_at(*state, &system_clock);
	scoped(arena_freep) struct arena *arena = NULL;
	struct executable_id id = sample_identity();
	struct debuginfo_entry stored, *entries;
	size_t count = 0;

	assert_ok(arena_new(MIB, &arena));
	assert_int_equal(put_file(store, DEBUGINFO_FROM_PIPELINE, SAMPLE_FULL, &stored), 1);
	(void)alarm(HANGS_AFTER_S);
	(void)pthread_mutex_lock(&store->read_lock);
	assert_ok(debuginfo_list(store, arena, &entries, &count));
	assert_int_equal(count, 1);
	assert_ok(debuginfo_list_of(store, &id, arena, &entries, &count));
	assert_int_equal(count, 1);
	/* A sum over the content of pipelines, for each upload of others beyond the quota. */
	debuginfo_store_set_quota(store, 1, 1);
	assert_int_equal(debuginfo_quota_allows(store, DEBUGINFO_FROM_AGENT, 1), -EDQUOT);
	(void)pthread_mutex_unlock(&store->read_lock);
	(void)alarm(0);
}

static int count_commit(void *arg)
{
	*(unsigned int *)arg += 1;
	return 0;
}

static void the_space_of_a_removed_file_is_returned_in_steps(void **state)
{
	enum { FILE_BYTES = 16 * MIB, STEP_BYTES = 4 * MIB };
	scoped(debuginfo_store_freep) struct debuginfo_store *store =
		open_debuginfo_at(*state, &system_clock);
	scoped(bytes_release) struct bytes elf = {};
	struct executable_id id = make_program(1, FILE_BYTES, &elf);
	struct debuginfo_entry entry;
	unsigned int n_commits = 0;

	assert_int_equal(
		put_bytes(store, &id, DEBUGINFO_FROM_PIPELINE, bytes_view_of(&elf), &entry), 1);
	(void)sqlite3_commit_hook(store->writer->handle, count_commit, &n_commits);
	assert_int_equal(debuginfo_remove(store, &id), 1);
	assert_true(n_commits > FILE_BYTES / STEP_BYTES);
	assert_int_equal(debuginfo_number(*state, "PRAGMA freelist_count"), 0);
	assert_true(debuginfo_number(*state, "PRAGMA page_count") < 64);
}

static void the_wal_is_bounded(void **state)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store =
		open_debuginfo_at(*state, &system_clock);

	assert_int_equal(store->writer->max_wal_bytes, SQLITE_DB_MAX_WAL_BYTES);
}

struct waiter {
	struct debuginfo_store *store;
	bool had_writer; /* under the write lock */
};

static void *wait_for_the_writer(void *arg)
{
	struct waiter *waiter = arg;

	debuginfo_write_begin(waiter->store);
	waiter->had_writer = true;
	debuginfo_write_end(waiter->store);
	return NULL;
}

/* With the mutex alone, a thread that makes many changes one after another could keep it. */
static void a_thread_that_waits_for_the_writer_gets_it_next(void **state)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store =
		open_debuginfo_at(*state, &system_clock);
	struct waiter waiter = { .store = store };
	pthread_t thread;

	(void)alarm(HANGS_AFTER_S);
	debuginfo_write_begin(store);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_the_writer, &waiter), 0);
	/* Until the other thread waits for its turn. */
	while (pthread_mutex_trylock(&store->write_queue_lock) == 0) {
		(void)pthread_mutex_unlock(&store->write_queue_lock);
		(void)sched_yield();
	}
	debuginfo_write_end(store);
	debuginfo_write_begin(store);
	assert_true(waiter.had_writer);
	debuginfo_write_end(store);
	assert_int_equal(pthread_join(thread, NULL), 0);
	(void)alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_list_does_not_take_the_lock_of_short_lookups),
		in_folder(the_space_of_a_removed_file_is_returned_in_steps),
		in_folder(the_wal_is_bounded),
		in_folder(a_thread_that_waits_for_the_writer_gets_it_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
