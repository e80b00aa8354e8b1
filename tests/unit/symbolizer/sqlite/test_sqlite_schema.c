/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "symbolizer/sqlite/sqlite_schema.h"

/* What make() did: the format that it was called with, and the error that it returns. */
struct call {
	int found;
	int error;
};

static int make(struct sqlite_db *db, int found, const void *arg)
{
	struct call *call = *(struct call *const *)arg;

	call->found = found;
	assert_ok(sqlite_db_run(db, found == 0 ? "CREATE TABLE item(id INTEGER)"
					       : "ALTER TABLE item ADD COLUMN name TEXT"));
	return call->error;
}

static struct sqlite_db *open_file(const char *folder)
{
	scoped_free char *path = path_in(folder, "items.db");
	struct sqlite_db *db;

	assert_ok(sqlite_db_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL, 0, &db));
	return db;
}

/* Reopens the file and ensures @version, which converts formats 1..@newest. */
static int ensure(const char *folder, int version, int newest, struct call *call)
{
	struct call *const arg = call;
	scoped(sqlite_db_freep) struct sqlite_db *db = open_file(folder);
	const struct sqlite_schema schema = {
		.version = version,
		.newest = newest,
		.make = make,
		.arg = &arg,
	};

	call->found = -1;
	return sqlite_ensure_schema(db, &schema);
}

static void tables_are_made_once(void **state)
{
	struct call call = {};

	assert_ok(ensure(*state, 1, 0, &call));
	assert_int_equal(call.found, 0);
	assert_ok(ensure(*state, 1, 0, &call));
	assert_int_equal(call.found, -1);
}

static void an_older_format_is_converted(void **state)
{
	struct call call = {};

	assert_ok(ensure(*state, 1, 0, &call));
	assert_ok(ensure(*state, 2, 1, &call));
	assert_int_equal(call.found, 1);
}

static void other_formats_are_refused(void **state)
{
	struct call call = {};

	assert_ok(ensure(*state, 2, 0, &call));
	assert_errno(ensure(*state, 1, 0, &call), -ENOTSUP);
	assert_errno(ensure(*state, 3, 0, &call), -ENOTSUP);
	assert_int_equal(call.found, -1);
}

static void a_failed_conversion_leaves_the_file_unchanged(void **state)
{
	struct call call = {};

	assert_ok(ensure(*state, 1, 0, &call));
	call.error = -EIO;
	assert_errno(ensure(*state, 2, 1, &call), -EIO);
	call.error = 0;
	assert_ok(ensure(*state, 2, 1, &call));
	assert_int_equal(call.found, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(tables_are_made_once),
		in_folder(an_older_format_is_converted),
		in_folder(other_formats_are_refused),
		in_folder(a_failed_conversion_leaves_the_file_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
