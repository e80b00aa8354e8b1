/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "symbolizer/store/sqlite/schema.h"

static void a_day_file_is_named_by_its_date(void **state)
{
	static const struct {
		day_number day;
		const char *name;
	} cases[] = {
		{ 0, "samples-1970-01-01.db" },
		{ 19782, "samples-2024-02-29.db" },
		{ 20454, "samples-2026-01-01.db" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char name[DAY_FILE_NAME_SIZE];
		day_number day;

		day_file_name(cases[i].day, name);
		assert_string_equal(name, cases[i].name);
		assert_true(day_file_parse(name, &day));
		assert_int_equal(day, cases[i].day);
	}
}

static void other_file_names_are_refused(void **state)
{
	static const char *const names[] = {
		"hearth.db",
		"samples-2026-01-01.db-wal",
		"samples-2026-01-01",
		"samples-2026-1-1.db",
		"samples-2026-02-31.db",
		"samples-1969-12-31.db",
		"samples-2026-01-01.db.bak",
		"samples-.db",
		"",
	};
	day_number day;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_false(day_file_parse(names[i], &day));
}

static void slots_belong_to_utc_days(void **state)
{
	(void)state;
	assert_int_equal(day_of_wall_ns(20454 * 86400 * NSEC_PER_SEC), 20454);
	assert_int_equal(day_of_wall_ns(20454 * 86400 * NSEC_PER_SEC - 1), 20453);
	assert_int_equal(day_of_slot(20454 * SLOTS_PER_DAY), 20454);
}

static void all_statements_compile(void **state)
{
	const char *folder = *state;
	scoped(sqlite_db_freep) struct sqlite_db *hearth = NULL;
	scoped(sqlite_db_freep) struct sqlite_db *day = NULL;
	struct store_identity identity;
	sqlite3_stmt *statement;

	assert_ok(hearth_db_open(folder, true, &hearth));
	assert_ok(hearth_db_identity(hearth, &identity));
	assert_ok(day_db_open(folder, 20454, true, &identity, &day));
	for (unsigned int i = 0; i < HEARTH_STATEMENT_COUNT; i++)
		assert_ok(sqlite_prepare(hearth, i, &statement));
	for (unsigned int i = 0; i < DAY_STATEMENT_COUNT; i++)
		assert_ok(sqlite_prepare(day, i, &statement));
}

static void a_day_file_of_another_hearth_db_is_refused(void **state)
{
	const char *folder = *state;
	scoped(sqlite_db_freep) struct sqlite_db *hearth = NULL;
	scoped(sqlite_db_freep) struct sqlite_db *day = NULL;
	struct store_identity identity;

	assert_ok(hearth_db_open(folder, true, &hearth));
	assert_ok(hearth_db_identity(hearth, &identity));
	assert_ok(day_db_open(folder, 20454, true, &identity, &day));
	day = sqlite_db_free(day);
	identity.bytes[3] ^= 1;
	assert_errno(day_db_open(folder, 20454, false, &identity, &day), -ESTALE);
}

static void another_format_is_refused(void **state)
{
	static const char *const versions[] = { "PRAGMA user_version=99", "PRAGMA user_version=1" };
	const char *folder = *state;
	scoped(sqlite_db_freep) struct sqlite_db *hearth = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		scoped_free char *path = path_in(folder, "hearth.db");

		assert_ok(hearth_db_open(folder, true, &hearth));
		assert_ok(sqlite_db_run(hearth, versions[i]));
		hearth = sqlite_db_free(hearth);
		assert_errno(hearth_db_open(folder, true, &hearth), -ENOTSUP);
		assert_ok(unlink(path));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_day_file_is_named_by_its_date),
		cmocka_unit_test(other_file_names_are_refused),
		cmocka_unit_test(slots_belong_to_utc_days),
		in_folder(all_statements_compile),
		in_folder(a_day_file_of_another_hearth_db_is_refused),
		in_folder(another_format_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
