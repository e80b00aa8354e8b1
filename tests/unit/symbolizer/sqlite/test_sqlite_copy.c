/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "symbolizer/sqlite/sqlite_copy.h"

static const char *const statements[] = { "SELECT count(*) FROM t" };

static struct sqlite_db *open_db(const char *path)
{
	struct sqlite_db *db = NULL;

	assert_ok(sqlite_db_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, statements,
				 ARRAY_SIZE(statements), &db));
	return db;
}

static int64_t count_rows(const char *path)
{
	scoped(sqlite_db_freep) struct sqlite_db *db = open_db(path);
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int64_t count;

	assert_int_equal(sqlite_query(db, 0, &row), 1);
	count = sqlite3_column_int64(row, 0);
	sqlite_resetp(&row);
	row = NULL;
	return count;
}

static void a_copy_has_the_rows_of_the_snapshot_and_no_later_ones(void **state)
{
	scoped_free char *path = path_in(*state, "source.db");
	scoped_free char *target = path_in(*state, "target.db");
	scoped(sqlite_db_freep) struct sqlite_db *source = open_db(path);
	scoped(sqlite_db_freep) struct sqlite_db *snapshot = NULL;

	assert_ok(sqlite_db_run(source, SQLITE_DB_PRAGMAS "CREATE TABLE t(x);"
							  "INSERT INTO t VALUES(randomblob(9000));"
							  "INSERT INTO t VALUES(2);"));
	assert_ok(sqlite_snapshot_open(path, &snapshot));
	assert_ok(sqlite_db_run(source, "INSERT INTO t VALUES(3);"));
	assert_ok(sqlite_snapshot_copy(snapshot, target));
	assert_int_equal(count_rows(target), 2);
	assert_int_equal(count_rows(path), 3);
	assert_errno(sqlite_snapshot_copy(snapshot, target), -EEXIST);
}

static void a_file_that_is_missing_or_no_database_is_an_error(void **state)
{
	static const char text[] =
		"this is a text file and no database of SQLite, which has a header";
	scoped_free char *missing = path_in(*state, "missing.db");
	scoped_free char *other = write_file_in(*state, "text.db", text, sizeof(text));
	struct sqlite_db *snapshot;

	assert_errno(sqlite_snapshot_open(missing, &snapshot), -ENOENT);
	assert_errno(sqlite_snapshot_open(other, &snapshot), -EUCLEAN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_copy_has_the_rows_of_the_snapshot_and_no_later_ones),
		in_folder(a_file_that_is_missing_or_no_database_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
