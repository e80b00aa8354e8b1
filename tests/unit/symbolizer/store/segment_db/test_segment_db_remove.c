/* SPDX-License-Identifier: Apache-2.0 */
/* Retention, deletion and the check of the files. */

#include "tests/unit/symbolizer/store/segment_db/segment_db_fixture.h"

static bool has_file(const char *folder, const char *name)
{
	scoped_free char *path = path_in(folder, name);

	return access(path, F_OK) == 0;
}

/* One batch of each of three days, flushed. */
static struct segment_db *open_three_days(const char *folder)
{
	struct segment_db *db = open_db(folder);

	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(write_batch(db, batch_of(1, i + 1, NOON + i * ONE_DAY, i == 0)),
				 STORE_STORED);
	assert_batches(db, 3);
	return db;
}

static void old_days_are_removed(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_three_days(*state);
	size_t n_removed;

	assert_ok(segment_db_prune(db, NOON + ONE_DAY, &n_removed));
	assert_int_equal(n_removed, 1);
	assert_false(has_file(*state, DAY));
	assert_false(has_file(*state, DAY "-wal"));
	assert_int_equal(total(db).n_rows, 2 * ROWS_OF_BATCH);
	assert_ok(segment_db_prune(db, NOON + ONE_DAY, &n_removed));
	assert_int_equal(n_removed, 0);
}

static void late_batches_do_not_bring_a_removed_day_back(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_three_days(*state);
	size_t n_removed;

	/* Accepted before, but not flushed. */
	assert_int_equal(write_batch(db, batch_of(1, 4, NOON, false)), STORE_STORED);
	assert_ok(segment_db_prune(db, NOON + ONE_DAY, &n_removed));
	assert_int_equal(write_batch(db, batch_of(1, 5, NOON, false)), STORE_TOO_OLD);
	/* Two of its rows are of the day that is kept. */
	assert_int_equal(write_batch(db, batch_of(1, 6, MIDNIGHT + 2 * SECOND, false)),
			 STORE_STORED);
	assert_ok(segment_db_flush(db, NOON));
	assert_false(has_file(*state, DAY));
	assert_int_equal(total(db).n_rows, 2 * ROWS_OF_BATCH + 2);
}

static void the_oldest_days_are_removed_until_the_files_are_small_enough(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_three_days(*state);
	uint64_t bytes;
	size_t n_removed;

	assert_ok(segment_db_disk_bytes(db, &bytes));
	assert_ok(segment_db_prune_to_bytes(db, bytes, &n_removed));
	assert_int_equal(n_removed, 0);
	assert_ok(segment_db_prune_to_bytes(db, bytes - 1, &n_removed));
	assert_int_equal(n_removed, 1);
	assert_false(has_file(*state, DAY));
	/* The newest day stays. */
	assert_ok(segment_db_prune_to_bytes(db, 0, &n_removed));
	assert_int_equal(n_removed, 1);
	assert_int_equal(total(db).n_rows, ROWS_OF_BATCH);
}

static void a_large_inbox_does_not_remove_the_days(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_three_days(*state);
	uint64_t bytes, inbox_bytes;
	size_t n_removed;

	run_sql(*state, "inbox.db", "INSERT INTO definition VALUES(99, 99, zeroblob(33554432))");
	assert_ok(segment_db_disk_bytes(db, &bytes));
	inbox_bytes = segment_db_inbox_bytes(*state);
	assert_true(inbox_bytes > 32 * MIB);
	assert_ok(segment_db_prune_to_bytes(db, 2 * (bytes - inbox_bytes), &n_removed));
	assert_int_equal(n_removed, 0);
	assert_ok(segment_db_prune_to_bytes(db, 2 * (bytes - inbox_bytes) - 2, &n_removed));
	assert_int_equal(n_removed, 1);
}

/* More than one step each. Some pages of the inbox stay. */
static void pages_of_deleted_rows_are_returned_to_the_file_system(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_three_days(*state);

	run_sql(*state, "inbox.db",
		"INSERT INTO definition VALUES(99, 99, zeroblob(33554432));"
		"DELETE FROM definition WHERE id = 99;");
	assert_true(query_number(*state, "inbox.db", "PRAGMA freelist_count") > 8000);
	assert_int_equal(write_batch(db, batch_of(1, 4, NOON, false)), STORE_STORED);
	assert_ok(segment_db_flush(db, NOON));
	assert_true(query_number(*state, "inbox.db", "PRAGMA freelist_count") <= 4096);

	run_sql(*state, DAY,
		"INSERT INTO content VALUES(99, zeroblob(33554432));"
		"DELETE FROM content WHERE id = 99;");
	assert_true(query_number(*state, DAY, "PRAGMA freelist_count") > 8000);
	assert_ok(segment_db_delete_service(db, "default", "web", NOON));
	assert_int_equal(query_number(*state, DAY, "PRAGMA freelist_count"), 0);
	assert_int_equal(total(db).sum, 4 * DB_OF_BATCH);
}

static void samples_of_one_service_are_deleted(void **state)
{
	const struct segment_db_compaction compaction = { .closed_slot = UINT64_MAX,
							  .max_merge_bytes = 8 * MIB };
	struct segment_db *db = open_three_days(*state);
	size_t n;

	assert_ok(segment_db_compact(db, &compaction, &n));
	assert_int_equal(write_batch(db, batch_of(1, 4, NOON, false)), STORE_STORED);
	assert_int_equal(write_batch_in(db, "other", batch_of(1, 1, NOON, true)), STORE_STORED);
	assert_ok(segment_db_delete_service(db, "default", "web", NOON));
	(void)segment_db_free(db);
	db = open_db(*state);
	assert_int_equal(total(db).sum, 5 * DB_OF_BATCH + WEB_OF_BATCH);
	assert_int_equal(totals_of(db, &(struct segment_db_query){ .tenant = "default",
								   .service = "web",
								   .to_slot = UINT64_MAX,
								   .prefer_rollups = true })
				 .n_rows,
			 0);
	assert_ok(segment_db_check(db, &n));
	assert_int_equal(n, 0);
	(void)segment_db_free(db);
}

static void samples_and_definitions_of_a_tenant_are_deleted(void **state)
{
	struct segment_db *db = open_three_days(*state);

	assert_int_equal(write_batch_in(db, "other", batch_of(1, 1, NOON, true)), STORE_STORED);
	assert_int_equal(write_batch(db, batch_of(1, 4, NOON, false)), STORE_STORED);
	assert_ok(segment_db_delete_tenant(db, "default", NOON));
	assert_int_equal(total(db).sum, SUM_OF_BATCH);
	assert_int_equal(query_number(*state, "inbox.db", "SELECT count(*) FROM definition"), 1);
	/* A retry is still a duplicate, and the agent defines its numbers again. */
	assert_int_equal(write_batch(db, batch_of(1, 4, NOON, false)), STORE_DUPLICATE);
	assert_int_equal(write_batch(db, batch_of(1, 5, NOON, false)), STORE_NEEDS_NUMBERS);
	assert_int_equal(write_batch(db, batch_of(1, 5, NOON, true)), STORE_STORED);
	assert_int_equal(write_batch_in(db, "other", batch_of(1, 2, NOON, false)), STORE_STORED);
	(void)segment_db_free(db);
	db = open_db(*state);
	assert_batches(db, 3);
	(void)segment_db_free(db);
}

static void silent_epochs_are_forgotten(void **state)
{
	struct segment_db *db = open_db(*state);

	assert_int_equal(write_batch(db, batch_of(1, 1, NOON, true)), STORE_STORED);
	assert_ok(segment_db_flush(db, NOON + ONE_DAY));
	assert_int_equal(write_batch(db, batch_of(2, 1, NOON, true)), STORE_STORED);
	/* Its batch is in the inbox. */
	assert_ok(segment_db_drop_silent_epochs(db, NOON + ONE_DAY));
	assert_int_equal(query_number(*state, "inbox.db", "SELECT count(*) FROM epoch"), 2);
	assert_ok(segment_db_flush(db, NOON + 2 * ONE_DAY));
	assert_ok(segment_db_drop_silent_epochs(db, NOON + 2 * ONE_DAY));
	assert_int_equal(query_number(*state, "inbox.db", "SELECT count(*) FROM epoch"), 1);
	assert_int_equal(query_number(*state, "inbox.db", "SELECT count(*) FROM definition"), 1);
	assert_int_equal(write_batch(db, batch_of(1, 2, NOON, false)), STORE_NEEDS_NUMBERS);
	assert_int_equal(write_batch(db, batch_of(2, 2, NOON, false)), STORE_STORED);
	assert_int_equal(write_batch(db, batch_of(1, 2, NOON, true)), STORE_STORED);
	(void)segment_db_free(db);
	db = open_db(*state);
	assert_batches(db, 4);
	(void)segment_db_free(db);
}

static void the_check_finds_each_fault(void **state)
{
	static const struct {
		const char *sql, *repair;
	} cases[] = {
		{ "UPDATE content SET bytes = substr(bytes, 1, 20) || x'00' || substr(bytes, 22)"
		  " WHERE id = 1",
		  NULL },
		{ "UPDATE segment SET last_slot = last_slot + 1 WHERE id = 1",
		  "UPDATE segment SET last_slot = last_slot - 1 WHERE id = 1" },
		{ "UPDATE segment SET service = 'other' WHERE id = 1", NULL },
		{ "DELETE FROM content WHERE id = 1", NULL },
		{ "DELETE FROM segment WHERE id = 1", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct segment_db *db = open_db(*state);
		size_t n_faults, n_removed;

		assert_int_equal(write_batch(db, batch_of(1, i + 1, NOON, true)), STORE_STORED);
		assert_ok(segment_db_flush(db, NOON));
		assert_ok(segment_db_check(db, &n_faults));
		assert_int_equal(n_faults, 0);
		run_sql(*state, DAY, cases[i].sql);
		assert_ok(segment_db_check(db, &n_faults));
		assert_int_equal(n_faults, 1);
		if (cases[i].repair) {
			run_sql(*state, DAY, cases[i].repair);
			assert_ok(segment_db_check(db, &n_faults));
			assert_int_equal(n_faults, 0);
		}
		assert_ok(segment_db_prune(db, MIDNIGHT, &n_removed));
		assert_int_equal(n_removed, 1);
		(void)segment_db_free(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(old_days_are_removed),
		in_folder(late_batches_do_not_bring_a_removed_day_back),
		in_folder(the_oldest_days_are_removed_until_the_files_are_small_enough),
		in_folder(a_large_inbox_does_not_remove_the_days),
		in_folder(pages_of_deleted_rows_are_returned_to_the_file_system),
		in_folder(samples_of_one_service_are_deleted),
		in_folder(samples_and_definitions_of_a_tenant_are_deleted),
		in_folder(silent_epochs_are_forgotten),
		in_folder(the_check_finds_each_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
