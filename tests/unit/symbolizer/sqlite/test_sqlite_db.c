/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include <sys/stat.h>

#include "symbolizer/sqlite/sqlite_db.h"

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

/*
 * Readers that take turns: the next one begins before the last one ends, so that one reads at any
 * time. They take turns after each commit, and whenever a connection waits for a lock: SQLite then
 * calls xSleep of the VFS, which returns at once here. Everything happens in one thread.
 */
struct relay {
	sqlite3_vfs vfs; /* a copy of the default one, first: SQLite passes its address to xSleep */
	struct sqlite_db *readers[2];
	unsigned int last; /* the reader that began last */
	bool is_passing_on;
};

static void pass_on(struct relay *relay)
{
	struct sqlite_db *before = relay->readers[relay->last];

	relay->is_passing_on = true;
	relay->last = !relay->last;
	assert_ok(sqlite_db_run(relay->readers[relay->last], "BEGIN; SELECT count(*) FROM item"));
	assert_ok(sqlite_db_run(before, "COMMIT"));
	relay->is_passing_on = false;
}

static int pass_on_while_waiting(sqlite3_vfs *vfs, int microseconds)
{
	struct relay *relay = (struct relay *)vfs;

	/* A reader that begins must not wait: nobody else could end that wait. */
	assert_false(relay->is_passing_on);
	pass_on(relay);
	return microseconds;
}

static void start_relay(struct relay *relay, const char *folder)
{
	relay->vfs = *sqlite3_vfs_find(NULL);
	relay->vfs.zName = "relay";
	relay->vfs.xSleep = pass_on_while_waiting;
	assert_int_equal(sqlite3_vfs_register(&relay->vfs, true), SQLITE_OK);
	for (unsigned int i = 0; i < ARRAY_SIZE(relay->readers); i++)
		relay->readers[i] = open_file(folder);
	assert_ok(sqlite_db_run(relay->readers[0], "BEGIN; SELECT count(*) FROM item"));
}

static void end_relay(struct relay *relay)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(relay->readers); i++)
		(void)sqlite_db_free(relay->readers[i]);
	assert_int_equal(sqlite3_vfs_unregister(&relay->vfs), SQLITE_OK);
}

static off_t wal_bytes(const char *folder)
{
	scoped_free char *path = path_in(folder, "items.db-wal");
	struct stat status;

	assert_ok(stat(path, &status));
	return status.st_size;
}

enum { MAX_WAL = 1 * MIB, N_COMMITS = 64, COMMIT_BYTES = 524288 };

/* Returns the largest size of the WAL, which SQLite does not shorten while it has connections. */
static off_t commit_while_one_reader_always_reads(const char *folder, bool is_bounded)
{
	struct relay relay = { .last = 0 };
	struct sqlite_db *db;
	off_t bytes;

	start_relay(&relay, folder);
	db = open_file(folder);
	if (is_bounded)
		sqlite_db_bound_wal(db, MAX_WAL);
	for (int i = 0; i < N_COMMITS; i++) {
		assert_ok(
			sqlite_db_run(db, "INSERT INTO item VALUES(NULL, '', randomblob(524288))"));
		pass_on(&relay);
	}
	bytes = wal_bytes(folder);
	(void)sqlite_db_free(db);
	end_relay(&relay);
	return bytes;
}

static void the_wal_is_bounded_while_one_reader_always_reads(void **state)
{
	/* The commit that exceeds the bound restarts the WAL. */
	assert_in_range(commit_while_one_reader_always_reads(*state, true), MAX_WAL,
			MAX_WAL + 2 * COMMIT_BYTES);
}

/* SQLite alone restarts the WAL at no commit: this shows that the readers of the test above do. */
static void without_a_bound_the_wal_holds_all_commits(void **state)
{
	assert_true(commit_while_one_reader_always_reads(*state, false) >
		    (off_t)N_COMMITS * COMMIT_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(values_are_read_back_as_they_were_bound),
		in_folder(an_empty_blob_is_not_null),
		in_folder(a_row_that_exists_is_eexist),
		in_folder(a_file_that_is_no_database_is_euclean),
		in_folder(a_rollback_undoes_the_open_transaction_only),
		in_folder(the_wal_is_bounded_while_one_reader_always_reads),
		in_folder(without_a_bound_the_wal_holds_all_commits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
