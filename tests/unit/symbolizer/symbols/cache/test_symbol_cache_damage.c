/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged files and databases, helpers that fail, and errors of the store and the disk. */

#include "tests/unit/symbolizer/symbols/cache/symbol_cache_fixture.h"

/* Acts as a helper that a hostile file has taken over: it reports success but writes an invalid
 * table. Its constructor runs before that of table_helper.c. */
__attribute__((constructor(101))) static void write_rubbish_if_run_as_liar(int argc, char **argv)
{
	const struct table_helper_report report = { .magic = TABLE_HELPER_MAGIC };
	char rubbish[1000] = "HrthSymS";

	if (!table_helper_is_asked(argc, argv) || !strstr(argv[0], "/liar"))
		return;
	memset(rubbish + 8, 0x5a, sizeof(rubbish) - 8);
	_exit(write(TABLE_HELPER_OUT_FD, rubbish, sizeof(rubbish)) < 0 ||
	      write(TABLE_HELPER_OUT_FD, &report, sizeof(report)) < 0);
}

static void damage_files(struct fixture *fixture, bool truncated)
{
	scoped_free char *path = path_in(fixture->folder, "symbols");
	DIR *folder = opendir(path);
	const struct dirent *entry;

	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		scoped_fd int fd = -1;

		if (entry->d_name[0] == '.')
			continue;
		fd = openat(dirfd(folder), entry->d_name, O_WRONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		if (truncated)
			assert_int_equal(ftruncate(fd, 100), 0);
		else
			assert_int_equal(pwrite(fd, "damage", 6, 192), 6);
	}
	(void)closedir(folder);
}

static void damaged_flat_files_are_made_from_the_stored_form(void **state)
{
	struct fixture *fixture = *state;

	for (int truncated = 0; truncated < 2; truncated++) {
		struct symbol_cache *cache = new_cache(fixture);

		assert_holds(cache, &fixture->ids[0], "f0");
		cache = symbol_cache_free(cache);
		damage_files(fixture, truncated);
		cache = new_cache(fixture);
		assert_holds(cache, &fixture->ids[0], "f0");
		assert_int_equal(opened(fixture, 0), 1);
		cache = symbol_cache_free(cache);
	}
}

/* Checks that the table is compiled again after @sql has changed the database. */
static void assert_compiled_after(struct fixture *fixture, const char *sql)
{
	scoped_free char *files = path_in(fixture->folder, "symbols");
	struct symbol_cache *cache = new_cache(fixture);
	unsigned int before;

	assert_holds(cache, &fixture->ids[0], "f0");
	before = opened(fixture, 0);
	cache = symbol_cache_free(cache);
	run_sql(fixture, sql);
	run_command("rm -r %s", files);
	cache = new_cache(fixture);
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(opened(fixture, 0), before + 1);
	cache = symbol_cache_free(cache);
}

static void stale_or_damaged_stored_tables_are_compiled_again(void **state)
{
	struct fixture *fixture = *state;

	assert_compiled_after(fixture, "UPDATE symbol_table SET layout = layout + 1");
	assert_compiled_after(fixture, "UPDATE symbol_table SET stored = substr(stored, 1, 100)");
	assert_compiled_after(fixture, "UPDATE symbol_table SET stored = zeroblob(1000)");
	assert_compiled_after(fixture, "DELETE FROM symbol_table");
	assert_compiled_after(fixture, "PRAGMA user_version = 77");
	assert_compiled_after(fixture, "DROP TABLE symbol_table; PRAGMA user_version = 0");
}

static void a_damaged_database_is_replaced(void **state)
{
	static const char text[] = "this is no database, is it?";
	struct fixture *fixture = *state;
	struct symbol_cache *cache;

	free(write_file_in(fixture->folder, "symbols.db", text, strlen(text)));
	cache = new_cache(fixture);
	assert_holds(cache, &fixture->ids[0], "f0");
	cache = symbol_cache_free(cache);
}

static void a_damaged_file_is_compiled_once(void **state)
{
	struct fixture *fixture = *state;
	scoped_free char *damaged = write_file_in(fixture->folder, "damaged", "\177ELFgarbage", 11);
	struct symbol_cache *cache = new_cache(fixture);

	fake_debuginfo_put(&fixture->debuginfo, &fixture->unknown, damaged);
	for (int i = 0; i < 3; i++)
		assert_state(cache, &fixture->unknown, TABLE_FAILED, "ELF");
	cache = symbol_cache_free(cache);
	cache = new_cache(fixture);
	assert_state(cache, &fixture->unknown, TABLE_FAILED, "ELF");
	assert_int_equal(fake_debuginfo_opened(&fixture->debuginfo, &fixture->unknown), 1);
	fake_debuginfo_put(&fixture->debuginfo, &fixture->unknown, fixture->paths[0]);
	assert_holds(cache, &fixture->unknown, "f0");
	cache = symbol_cache_free(cache);
}

static void a_bad_upload_does_not_lose_names(void **state)
{
	struct fixture *fixture = *state;
	scoped_free char *damaged = write_file_in(fixture->folder, "damaged", "\177ELFgarbage", 11);
	struct symbol_cache *cache = new_cache(fixture);

	assert_holds(cache, &fixture->ids[0], "f0");
	fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[0], damaged);
	for (int start = 0; start < 2; start++) {
		struct table_loan loan;

		assert_ok(symbol_cache_borrow(cache, &fixture->ids[0], PATIENCE_NS, &loan));
		assert_int_equal(loan.state, TABLE_FAILED);
		assert_true(loan.why[0] != '\0');
		assert_string_equal(first_name(loan.file), "f0");
		symbol_cache_give_back(cache, &loan);
		cache = symbol_cache_free(cache);
		cache = new_cache(fixture);
	}
	cache = symbol_cache_free(cache);
}

static void the_output_of_a_helper_is_checked(void **state)
{
	struct fixture *fixture = *state;
	scoped_free char *self = realpath("/proc/self/exe", NULL);
	scoped_free char *liar = path_in(fixture->folder, "liar");
	struct symbol_cache *cache;

	assert_int_equal(symlink(self, liar), 0);
	fixture->options.helper = liar;
	cache = new_cache(fixture);
	assert_state(cache, &fixture->ids[0], TABLE_FAILED, "the table is damaged");
	assert_int_equal(symbol_cache_counts(cache).n_refused, 1);
	assert_int_equal(symbol_cache_counts(cache).stored_bytes, 0);
	cache = symbol_cache_free(cache);
}

static uint64_t hours; /* the time of the clock below */

static uint64_t later_wall_ns(const struct clock *clock)
{
	(void)clock;
	return (UINT64_C(1000000) + hours) * 3600 * NSEC_PER_SEC;
}

static uint64_t later_monotonic_ns(const struct clock *clock)
{
	return clock_monotonic_ns(&system_clock) + 0 * (uintptr_t)clock;
}

static void a_helper_that_died_is_run_again_at_growing_intervals(void **state)
{
	static const struct clock later = { later_monotonic_ns, later_wall_ns };
	/* n_opened: how often the file was compiled in all after this number of hours. */
	static const struct {
		uint64_t hours;
		unsigned int n_opened;
	} rows[] = { { 0, 1 }, { 1, 2 }, { 2, 2 }, { 3, 3 }, { 4, 3 }, { 7, 4 }, { 8, 4 } };
	struct fixture *fixture = *state;
	struct symbol_cache *cache;

	fixture->options.clock = &later;
	fixture->options.helper = "/bin/false";
	cache = new_cache(fixture);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		hours = rows[i].hours;
		assert_state(cache, &fixture->ids[0], TABLE_FAILED, "status 1");
		assert_int_equal(opened(fixture, 0), rows[i].n_opened);
	}
	/* A new file is compiled at once. */
	fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[0], fixture->paths[1]);
	assert_state(cache, &fixture->ids[0], TABLE_FAILED, "status 1");
	assert_int_equal(opened(fixture, 0), 5);
	assert_int_equal(symbol_cache_counts(cache).n_died, 5);
	cache = symbol_cache_free(cache);
	hours = 0;
}

static void a_failed_read_of_the_store_is_repeated(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);

	fake_debuginfo_fail(&fixture->debuginfo, &fixture->ids[0], -EIO);
	assert_state(cache, &fixture->ids[0], TABLE_FAILED, "Input/output error");
	fake_debuginfo_fail(&fixture->debuginfo, &fixture->ids[0], 0);
	assert_holds(cache, &fixture->ids[0], "f0");
}

static void a_table_is_kept_in_memory_if_no_file_can_be_written(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	scoped_free char *folder = path_in(fixture->folder, "symbols");

	/* Without the folder, writing files fails for root, too. */
	assert_int_equal(rmdir(folder), 0);
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(opened(fixture, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FILES(damaged_flat_files_are_made_from_the_stored_form),
		WITH_FILES(stale_or_damaged_stored_tables_are_compiled_again),
		WITH_FILES(a_damaged_database_is_replaced),
		WITH_FILES(a_damaged_file_is_compiled_once),
		WITH_FILES(a_bad_upload_does_not_lose_names),
		WITH_FILES(the_output_of_a_helper_is_checked),
		WITH_FILES(a_helper_that_died_is_run_again_at_growing_intervals),
		WITH_FILES(a_failed_read_of_the_store_is_repeated),
		WITH_FILES(a_table_is_kept_in_memory_if_no_file_can_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
