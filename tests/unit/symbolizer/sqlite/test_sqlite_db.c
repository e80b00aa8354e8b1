/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "symbolizer/sqlite/sqlite_db.h"

#define N_READERS 2

enum { SQL_ADD, SQL_FIND, SQL_COUNT, STATEMENT_COUNT };

static const char *const statements[STATEMENT_COUNT] = {
	[SQL_ADD] = "INSERT INTO item(id, name, content) VALUES(?, ?, ?)",
	[SQL_FIND] = "SELECT name, content FROM item WHERE id = ?",
	[SQL_COUNT] = "SELECT count(*) FROM item",
};

static struct sqlite_db *open_file(const char *folder)
{
	scoped_free char *path = path_in(folder, "items.db");
	struct sqlite_db *db;

	assert_ok(sqlite_db_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, statements,
				 STATEMENT_COUNT, &db));
	assert_ok(sqlite_db_run(db, SQLITE_DB_PRAGMAS
				"CREATE TABLE IF NOT EXISTS item(id INTEGER PRIMARY KEY,"
				" name TEXT NOT NULL, content BLOB NOT NULL)"));
	return db;
}

static int64_t count_items(struct sqlite_db *db)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;

	assert_int_equal(sqlite_query(db, SQL_COUNT, &row), 1);
	return sqlite3_column_int64(row, 0);
}

static void values_are_read_back_as_they_were_bound(void **state)
{
	static const uint8_t content[] = { 0, 1, 2, 0 };
	scoped(sqlite_db_freep) struct sqlite_db *db = open_file(*state);
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;

	assert_ok(sqlite_run(db, SQL_ADD, SQL_INT(7), SQL_TEXT("seven"),
			     SQL_BLOB(content, sizeof(content))));
	assert_int_equal(sqlite_last_id(db), 7);
	assert_int_equal(sqlite_query(db, SQL_FIND, &row, SQL_INT(7)), 1);
	assert_string_equal(sqlite_text(row, 0), "seven");
	assert_int_equal(sqlite_blob(row, 1).size, sizeof(content));
	assert_memory_equal(sqlite_blob(row, 1).data, content, sizeof(content));
	assert_int_equal(sqlite_step(db, row), 0);
}

static void an_empty_blob_is_not_null(void **state)
{
	scoped(sqlite_db_freep) struct sqlite_db *db = open_file(*state);
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;

	assert_ok(sqlite_run(db, SQL_ADD, SQL_INT(1), SQL_TEXT(""), SQL_BLOB(NULL, 0)));
	assert_int_equal(sqlite_query(db, SQL_FIND, &row, SQL_INT(1)), 1);
	assert_int_equal(sqlite_blob(row, 1).size, 0);
	sqlite_resetp(&row);
	assert_int_equal(sqlite_query(db, SQL_FIND, &row, SQL_INT(2)), 0);
}

static void a_row_that_exists_is_eexist(void **state)
{
	scoped(sqlite_db_freep) struct sqlite_db *db = open_file(*state);

	assert_ok(sqlite_run(db, SQL_ADD, SQL_INT(1), SQL_TEXT(""), SQL_BLOB("", 0)));
	assert_errno(sqlite_run(db, SQL_ADD, SQL_INT(1), SQL_TEXT(""), SQL_BLOB("", 0)), -EEXIST);
}

static void a_file_that_is_no_database_is_euclean(void **state)
{
	scoped_free char *path = path_in(*state, "items.db");
	scoped(sqlite_db_freep) struct sqlite_db *db = NULL;
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	for (int i = 0; i < 1000; i++)
		assert_true(fputs("no database\n", file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_ok(sqlite_db_open(path, SQLITE_OPEN_READWRITE, statements, STATEMENT_COUNT, &db));
	assert_errno(sqlite_db_run(db, "SELECT * FROM item"), -EUCLEAN);
}

static void a_rollback_undoes_the_open_transaction_only(void **state)
{
	scoped(sqlite_db_freep) struct sqlite_db *db = open_file(*state);

	assert_ok(sqlite_begin(db));
	assert_ok(sqlite_run(db, SQL_ADD, SQL_INT(1), SQL_TEXT(""), SQL_BLOB("", 0)));
	assert_ok(sqlite_commit(db));
	assert_ok(sqlite_begin(db));
	assert_ok(sqlite_run(db, SQL_ADD, SQL_INT(2), SQL_TEXT(""), SQL_BLOB("", 0)));
	sqlite_rollback(db);
	sqlite_rollback(db);
	assert_int_equal(count_items(db), 1);
}

/* At least one of the readers reads at any time: each ends its transaction when the next began. */
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
	scoped(sqlite_db_freep) struct sqlite_db *db = open_file(relay->folder);

	while (!atomic_load(&relay->stop)) {
		unsigned int turn = atomic_load(&relay->turn);

		if ((turn + 1) % N_READERS != runner->number) {
			(void)sched_yield();
			continue;
		}
		assert_ok(sqlite_db_run(db, "BEGIN; SELECT count(*) FROM item"));
		atomic_store(&relay->turn, turn + 1);
		while (atomic_load(&relay->turn) == turn + 1 && !atomic_load(&relay->stop))
			(void)sched_yield();
		assert_ok(sqlite_db_run(db, "COMMIT"));
	}
	return NULL;
}

static off_t wal_bytes(const char *folder)
{
	scoped_free char *path = path_in(folder, "items.db-wal");
	struct stat status;

	assert_ok(stat(path, &status));
	return status.st_size;
}

static void the_wal_is_bounded_while_one_reader_always_reads(void **state)
{
	enum { MAX_WAL = 1 * MIB, LEAST_COMMITS = 64, MOST_COMMITS = 512, COMMIT_BYTES = 524288 };
	bool is_restarted = false;
	struct relay relay = { .folder = *state };
	struct runner runners[N_READERS];
	pthread_t threads[N_READERS];
	scoped(sqlite_db_freep) struct sqlite_db *db = open_file(*state);

	sqlite_db_bound_wal(db, MAX_WAL);
	for (unsigned int i = 0; i < N_READERS; i++) {
		runners[i] = (struct runner){ .relay = &relay, .number = i };
		assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &runners[i]), 0);
	}
	while (atomic_load(&relay.turn) < N_READERS)
		(void)sched_yield();
	/*
	 * The file keeps its largest size. A WAL that was never restarted would hold every byte
	 * written. How soon a restart succeeds depends on the scheduling of the readers.
	 */
	for (int i = 1; i <= LEAST_COMMITS || (i <= MOST_COMMITS && !is_restarted); i++) {
		assert_ok(
			sqlite_db_run(db, "INSERT INTO item VALUES(NULL, '', randomblob(524288))"));
		is_restarted = wal_bytes(*state) < i * (off_t)COMMIT_BYTES;
	}
	atomic_store(&relay.stop, true);
	for (unsigned int i = 0; i < N_READERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_true(is_restarted);
}

#define test_in_folder(test)                                                                       \
	cmocka_unit_test_setup_teardown(test, temp_folder_setup, temp_folder_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in_folder(values_are_read_back_as_they_were_bound),
		test_in_folder(an_empty_blob_is_not_null),
		test_in_folder(a_row_that_exists_is_eexist),
		test_in_folder(a_file_that_is_no_database_is_euclean),
		test_in_folder(a_rollback_undoes_the_open_transaction_only),
		test_in_folder(the_wal_is_bounded_while_one_reader_always_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
