/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/cache/symbol_cache.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "tests/support/fake_debuginfo.h"
#include "tests/unit/symbolizer/symbols/programs.h"

/* As a helper that somebody has taken over: says that all is well, and hands out rubbish. Before
 * the one of table_helper.c. */
__attribute__((constructor(101))) static void lie_if_asked(int argc, char **argv)
{
	const struct table_helper_report report = { .magic = TABLE_HELPER_MAGIC };
	char rubbish[1000] = "HrthSymS";

	if (!table_helper_is_asked(argc, argv) || !strstr(argv[0], "/liar"))
		return;
	memset(rubbish + 8, 0x5a, sizeof(rubbish) - 8);
	_exit(write(TABLE_HELPER_OUT_FD, rubbish, sizeof(rubbish)) < 0 ||
	      write(TABLE_HELPER_OUT_FD, &report, sizeof(report)) < 0);
}

/* Longer than any of these tables takes to be made. */
#define PATIENCE_NS (60 * NSEC_PER_SEC)

struct fixture {
	void *folder;
	struct debuginfo_store debuginfo;
	struct symbol_cache_options options;
	char *paths[3]; /* libraries with one function each: f0, f1, f2 */
	struct executable_id ids[3];
	struct executable_id unknown;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	assert_int_equal(temp_folder_setup(&fixture->folder), 0);
	fake_debuginfo_init(&fixture->debuginfo);
	for (int i = 0; i < 3; i++) {
		char source[64], name[16];

		(void)snprintf(source, sizeof(source), "int f%d(int x) { return x + %d; }\n", i, i);
		(void)snprintf(name, sizeof(name), "lib%d.so", i);
		fixture->paths[i] = compile(fixture->folder, name, "gcc", "c", source,
					    "-O1 -shared -fPIC -nostdlib");
		assert_ok(executable_id_set(&fixture->ids[i], EXECUTABLE_ID_GNU, name, 5));
		fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[i], fixture->paths[i]);
	}
	assert_ok(executable_id_set(&fixture->unknown, EXECUTABLE_ID_GNU, "nobody", 6));
	fixture->options = (struct symbol_cache_options){
		.debuginfo = &fixture->debuginfo,
		.clock = &system_clock,
		.folder = fixture->folder,
		.helper = "/proc/self/exe",
		.max_bytes = 16 * MIB,
		.stored_bytes = GIB,
	};
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < 3; i++)
		free(fixture->paths[i]);
	assert_int_equal(temp_folder_teardown(&fixture->folder), 0);
	free(fixture);
	return 0;
}

static struct symbol_cache *new_cache(struct fixture *fixture)
{
	struct symbol_cache *cache = NULL;

	assert_ok(symbol_cache_new(&fixture->options, &cache));
	return cache;
}

static unsigned int opened(struct fixture *fixture, int i)
{
	return fake_debuginfo_opened(&fixture->debuginfo, &fixture->ids[i]);
}

/* The name of the function that stands first. */
static const char *first_name(const struct symbol_file *file)
{
	struct symbol_range range;
	struct symbol_frame frame;

	symbol_file_range(file, 0, &range);
	(void)symbol_file_frame(file, range.location, &frame);
	return frame.function;
}

/* Borrows, looks at the first function's name, gives back. */
static void assert_holds(struct symbol_cache *cache, const struct executable_id *id,
			 const char *name)
{
	struct table_loan loan;

	assert_ok(symbol_cache_borrow(cache, id, PATIENCE_NS, &loan));
	if (loan.state != TABLE_READY || !loan.file)
		fail_msg("state %d: %s", (int)loan.state, loan.why);
	assert_false(loan.pending);
	assert_string_equal(first_name(loan.file), name);
	symbol_cache_give_back(cache, &loan);
}

/* The state with neither table nor pending. */
static void assert_state(struct symbol_cache *cache, const struct executable_id *id,
			 enum table_state state, const char *why)
{
	struct table_loan loan;

	assert_ok(symbol_cache_borrow(cache, id, PATIENCE_NS, &loan));
	assert_int_equal(loan.state, state);
	assert_false(loan.pending);
	assert_null(loan.file);
	if (!strstr(loan.why, why))
		fail_msg("'%s' is not in '%s'", why, loan.why);
	symbol_cache_give_back(cache, &loan);
}

/* How many table files there are, and what they have together. */
static size_t count_files(struct fixture *fixture, uint64_t *ret_bytes)
{
	scoped_free char *path = path_in(fixture->folder, "symbols");
	DIR *folder = opendir(path);
	const struct dirent *entry;
	uint64_t bytes = 0;
	size_t count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		struct stat status;

		if (entry->d_name[0] == '.')
			continue;
		assert_int_equal(fstatat(dirfd(folder), entry->d_name, &status, 0), 0);
		bytes += (uint64_t)status.st_size;
		count++;
	}
	(void)closedir(folder);
	if (ret_bytes)
		*ret_bytes = bytes;
	return count;
}

static void a_table_is_made_once(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	unsigned int n_finds;

	assert_holds(cache, &fixture->ids[0], "f0");
	n_finds = fixture->debuginfo.n_finds;
	for (int i = 0; i < 10; i++)
		assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(opened(fixture, 0), 1);
	/* While nothing is uploaded, the store is not even asked. */
	assert_int_equal(fixture->debuginfo.n_finds, n_finds);
	assert_int_equal(symbol_cache_counts(cache).n_made, 1);
}

static void a_new_start_makes_nothing_anew(void **state)
{
	struct fixture *fixture = *state;
	struct symbol_cache *cache = new_cache(fixture);
	struct symbol_cache_counts counts;

	assert_holds(cache, &fixture->ids[0], "f0");
	counts = symbol_cache_counts(cache);
	assert_true(counts.stored_bytes > 0);
	cache = symbol_cache_free(cache);

	cache = new_cache(fixture);
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(opened(fixture, 0), 1);
	assert_int_equal(symbol_cache_counts(cache).n_made, 0);
	assert_int_equal(symbol_cache_counts(cache).stored_bytes, counts.stored_bytes);
	cache = symbol_cache_free(cache);
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

static void run_sql(struct fixture *fixture, const char *sql)
{
	scoped_free char *path = path_in(fixture->folder, "symbols.db");
	sqlite3 *db = NULL;
	char *message = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void damaged_files_are_made_anew_from_the_stored_form(void **state)
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

/* What of the stored form is not as it was is made anew from the debuginfo. */
static void assert_made_anew_after(struct fixture *fixture, const char *sql)
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

static void what_is_stored_in_another_version_or_damaged_is_made_anew(void **state)
{
	struct fixture *fixture = *state;

	assert_made_anew_after(fixture, "UPDATE symbol_table SET layout = layout + 1");
	assert_made_anew_after(fixture, "UPDATE symbol_table SET stored = substr(stored, 1, 100)");
	assert_made_anew_after(fixture, "UPDATE symbol_table SET stored = zeroblob(1000)");
	assert_made_anew_after(fixture, "DELETE FROM symbol_table");
	assert_made_anew_after(fixture, "PRAGMA user_version = 77");
	assert_made_anew_after(fixture, "DROP TABLE symbol_table; PRAGMA user_version = 0");
}

static void a_damaged_database_is_begun_anew(void **state)
{
	static const char text[] = "this is no database, is it?";
	struct fixture *fixture = *state;
	struct symbol_cache *cache;

	free(write_file_in(fixture->folder, "symbols.db", text, strlen(text)));
	cache = new_cache(fixture);
	assert_holds(cache, &fixture->ids[0], "f0");
	cache = symbol_cache_free(cache);
}

static void a_table_outlives_its_debuginfo_but_not_its_removal(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);

	assert_holds(cache, &fixture->ids[0], "f0");
	fake_debuginfo_remove(&fixture->debuginfo, &fixture->ids[0]);
	assert_holds(cache, &fixture->ids[0], "f0");
	cache = symbol_cache_free(cache);
	cache = new_cache(fixture);
	assert_holds(cache, &fixture->ids[0], "f0");

	assert_ok(symbol_cache_forget(cache, &fixture->ids[0]));
	assert_state(cache, &fixture->ids[0], TABLE_NONE, "");
	assert_int_equal(count_files(fixture, NULL), 0);
}

static void what_was_never_uploaded_is_asked_for_once_per_generation(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	unsigned int n_finds;

	assert_state(cache, &fixture->unknown, TABLE_NONE, "");
	n_finds = fixture->debuginfo.n_finds;
	for (int i = 0; i < 5; i++)
		assert_state(cache, &fixture->unknown, TABLE_NONE, "");
	assert_int_equal(fixture->debuginfo.n_finds, n_finds);
	fake_debuginfo_put(&fixture->debuginfo, &fixture->unknown, fixture->paths[2]);
	assert_holds(cache, &fixture->unknown, "f2");
}

static void a_new_file_replaces_the_table_and_an_upload_for_another_does_not(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	struct table_loan old;

	assert_ok(symbol_cache_borrow(cache, &fixture->ids[0], PATIENCE_NS, &old));
	fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[1], fixture->paths[2]);
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(opened(fixture, 0), 1);

	fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[0], fixture->paths[1]);
	assert_holds(cache, &fixture->ids[0], "f1");
	assert_int_equal(opened(fixture, 0), 2);
	/* Who still reads the old one may go on; its file is gone. */
	assert_string_equal(first_name(old.file), "f0");
	assert_int_equal(count_files(fixture, NULL), 1);
	symbol_cache_give_back(cache, &old);
}

static void the_older_table_serves_while_a_newer_one_is_made(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	struct table_status status;
	struct table_loan loan;

	assert_holds(cache, &fixture->ids[0], "f0");
	fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[0], fixture->paths[1]);
	fake_debuginfo_hold(&fixture->debuginfo, &fixture->ids[0]);
	for (int i = 0; i < 3; i++) {
		assert_ok(symbol_cache_borrow(cache, &fixture->ids[0], NSEC_PER_MSEC, &loan));
		assert_true(loan.pending);
		assert_string_equal(first_name(loan.file), "f0");
		symbol_cache_give_back(cache, &loan);
	}
	fake_debuginfo_wait_held(&fixture->debuginfo);
	assert_ok(symbol_cache_status(cache, &fixture->ids[0], &status));
	assert_true(status.pending && status.running);
	assert_int_equal(symbol_cache_counts(cache).n_pending, 1);
	fake_debuginfo_hold(&fixture->debuginfo, NULL);
	assert_holds(cache, &fixture->ids[0], "f1");
	assert_ok(symbol_cache_status(cache, &fixture->ids[0], &status));
	assert_false(status.pending || status.running);
	assert_int_equal(status.state, TABLE_READY);
	assert_int_equal(status.row.n_functions, 1);
}

static void nobody_waits_longer_than_its_patience(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	struct table_loan loan;

	fake_debuginfo_hold(&fixture->debuginfo, &fixture->ids[0]);
	assert_ok(symbol_cache_borrow(cache, &fixture->ids[0], 20 * NSEC_PER_MSEC, &loan));
	assert_true(loan.pending);
	assert_null(loan.file);
	fake_debuginfo_wait_held(&fixture->debuginfo);
	/* It has been wanted for longer than that: no further wait, or this test would not end. */
	assert_ok(symbol_cache_borrow(cache, &fixture->ids[0], 20 * NSEC_PER_MSEC, &loan));
	assert_true(loan.pending);
	fake_debuginfo_hold(&fixture->debuginfo, NULL);
	assert_holds(cache, &fixture->ids[0], "f0");
}

static void a_cache_that_ends_does_not_wait_for_tables(void **state)
{
	static const char text[] = "#!/bin/sh\nexec sleep 1000\n";
	struct fixture *fixture = *state;
	scoped_free char *script = write_file_in(fixture->folder, "sleeps", text, strlen(text));
	struct symbol_cache *cache;
	struct table_loan loan;

	assert_int_equal(chmod(script, 0700), 0);
	fixture->options.helper = script;
	cache = new_cache(fixture);
	for (int i = 0; i < 3; i++) {
		assert_ok(symbol_cache_borrow(cache, &fixture->ids[i], 0, &loan));
		assert_true(loan.pending);
	}
	cache = symbol_cache_free(cache);
}

static void the_least_recently_used_table_leaves_and_the_newest_stays(void **state)
{
	struct fixture *fixture = *state;
	struct symbol_cache *cache = new_cache(fixture);
	struct table_loan loan;
	uint64_t one, bytes;

	assert_holds(cache, &fixture->ids[0], "f0");
	one = symbol_cache_counts(cache).bytes;
	assert_holds(cache, &fixture->ids[1], "f1");
	assert_holds(cache, &fixture->ids[2], "f2");
	cache = symbol_cache_free(cache);
	assert_int_equal(count_files(fixture, NULL), 3);

	/* Room for two and a few bytes: what the last run left goes before what was used now. */
	fixture->options.max_bytes = 2 * one + 100;
	cache = new_cache(fixture);
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_holds(cache, &fixture->ids[1], "f1");
	assert_int_equal(count_files(fixture, NULL), 2);
	/* 0 was used after 1, so that 2 drives out 1. */
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_holds(cache, &fixture->ids[2], "f2");
	assert_true(symbol_cache_counts(cache).bytes <= fixture->options.max_bytes);
	assert_int_equal(count_files(fixture, &bytes), 2);
	assert_true(bytes <= fixture->options.max_bytes);
	assert_int_equal(symbol_cache_counts(cache).n_open, 2);
	cache = symbol_cache_free(cache);

	/* Room for none: the newest stays. A table in use is not closed. */
	fixture->options.max_bytes = 1;
	cache = new_cache(fixture);
	assert_ok(symbol_cache_borrow(cache, &fixture->ids[0], PATIENCE_NS, &loan));
	assert_holds(cache, &fixture->ids[1], "f1");
	assert_int_equal(count_files(fixture, NULL), 1);
	assert_string_equal(first_name(loan.file), "f0");
	symbol_cache_give_back(cache, &loan);
	cache = symbol_cache_free(cache);
	/* All that time none was made anew. */
	for (int i = 0; i < 3; i++)
		assert_int_equal(opened(fixture, i), 1);
}

static void stored_tables_keep_their_quota(void **state)
{
	struct fixture *fixture = *state;
	struct symbol_cache *cache = new_cache(fixture);
	uint64_t one;

	assert_holds(cache, &fixture->ids[0], "f0");
	one = symbol_cache_counts(cache).stored_bytes;
	cache = symbol_cache_free(cache);
	run_sql(fixture, "UPDATE symbol_table SET used_ns = 1");

	fixture->options.stored_bytes = 2 * one + one / 2;
	cache = new_cache(fixture);
	assert_holds(cache, &fixture->ids[1], "f1");
	assert_holds(cache, &fixture->ids[2], "f2");
	assert_true(symbol_cache_counts(cache).stored_bytes <= fixture->options.stored_bytes);
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(opened(fixture, 0), 2);
	cache = symbol_cache_free(cache);
}

static void a_damaged_file_fails_once_per_file_and_start(void **state)
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

static void a_bad_upload_does_not_take_names_away(void **state)
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

static void a_helper_is_not_believed(void **state)
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

static uint64_t hours; /* that have passed */

static uint64_t later_wall_ns(const struct clock *clock)
{
	(void)clock;
	return (UINT64_C(1000000) + hours) * 3600 * NSEC_PER_SEC;
}

static uint64_t later_monotonic_ns(const struct clock *clock)
{
	return clock_monotonic_ns(&system_clock) + 0 * (uintptr_t)clock;
}

static void a_helper_that_died_is_tried_again_less_and_less_often(void **state)
{
	static const struct clock later = { later_monotonic_ns, later_wall_ns };
	/* After so many hours: a file that kills its helper is tried so many times in all. */
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
	/* Other bytes are another matter. */
	fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[0], fixture->paths[1]);
	assert_state(cache, &fixture->ids[0], TABLE_FAILED, "status 1");
	assert_int_equal(opened(fixture, 0), 5);
	assert_int_equal(symbol_cache_counts(cache).n_died, 5);
	cache = symbol_cache_free(cache);
	hours = 0;
}

static void a_store_that_cannot_be_read_is_asked_again(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);

	fake_debuginfo_fail(&fixture->debuginfo, &fixture->ids[0], -EIO);
	assert_state(cache, &fixture->ids[0], TABLE_FAILED, "Input/output error");
	fake_debuginfo_fail(&fixture->debuginfo, &fixture->ids[0], 0);
	assert_holds(cache, &fixture->ids[0], "f0");
}

static void an_executable_without_symbols_is_read_too(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);

	fake_debuginfo_describe(
		&fixture->debuginfo, &fixture->ids[0],
		&(struct fake_debuginfo_file){ .has_code = true, .without_names = true });
	assert_holds(cache, &fixture->ids[0], "f0");
}

static void an_alternative_file_that_comes_later_is_used(void **state)
{
	static const char link[] = "/usr/lib/debug/.dwz/shared.debug\0nobody";
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	struct fake_debuginfo_file description = { .has_code = true };
	scoped_free char *path = write_file_in(fixture->folder, "altlink", link, sizeof(link) - 1);
	struct table_status status;

	(void)snprintf(description.alt_link_path, sizeof(description.alt_link_path), "%s", path);
	fake_debuginfo_describe(&fixture->debuginfo, &fixture->ids[0], &description);
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_ok(symbol_cache_status(cache, &fixture->ids[0], &status));
	assert_true(executable_id_equal(&status.row.alt_id, &fixture->unknown));
	assert_true(executable_id_equal(&fixture->debuginfo.last_wanted, &fixture->unknown));

	fake_debuginfo_put(&fixture->debuginfo, &fixture->unknown, fixture->paths[1]);
	fake_debuginfo_describe(&fixture->debuginfo, &fixture->unknown,
				&(struct fake_debuginfo_file){});
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(opened(fixture, 0), 2);
	assert_int_equal(fake_debuginfo_opened(&fixture->debuginfo, &fixture->unknown), 1);
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(opened(fixture, 0), 2);
}

static const char split_c[] = "volatile int sink;\n"
			      "static inline int twice(int n) { return sink * n; }\n"
			      "int work(int n) { return twice(n) + 1; }\n";

/* Whether an inlined function of this name is in the table. */
static bool has_inlined(struct symbol_cache *cache, const struct executable_id *id,
			const char *name)
{
	struct table_loan loan;
	bool found = false;

	assert_ok(symbol_cache_borrow(cache, id, PATIENCE_NS, &loan));
	assert_int_equal(loan.state, TABLE_READY);
	for (uint32_t i = 0; !found && i < symbol_file_info(loan.file)->n_ranges; i++) {
		struct symbol_range range;
		struct symbol_frame frame;

		symbol_file_range(loan.file, i, &range);
		if (range.location != SYMBOL_NO_LOCATION &&
		    symbol_file_frame(loan.file, range.location, &frame) != SYMBOL_NO_LOCATION)
			found = frame.function && strcmp(frame.function, name) == 0;
	}
	symbol_cache_give_back(cache, &loan);
	return found;
}

static void split_dwarf_that_comes_later_is_used(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	scoped_free char *source =
		write_file_in(fixture->folder, "split.c", split_c, sizeof(split_c) - 1);
	scoped_free char *program = path_in(fixture->folder, "split.so");
	scoped_free char *split = path_in(fixture->folder, "split.dwp");
	struct table_status status;

	assert_non_null(source);
	run_command("cd %s && gcc -O2 -g -gsplit-dwarf -fPIC -c split.c -o split.o && "
		    "gcc -shared -nostdlib split.o -o split.so && "
		    "llvm-dwp -e split.so -o split.dwp 2>&1",
		    (char *)fixture->folder);
	fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[0], program);
	assert_false(has_inlined(cache, &fixture->ids[0], "twice"));
	assert_ok(symbol_cache_status(cache, &fixture->ids[0], &status));
	assert_non_null(strstr(status.row.why, "upload its .dwp"));

	fake_debuginfo_put_split(&fixture->debuginfo, &fixture->ids[0], split);
	assert_true(has_inlined(cache, &fixture->ids[0], "twice"));
	assert_ok(symbol_cache_status(cache, &fixture->ids[0], &status));
	assert_string_equal(status.row.why, "");
	assert_int_equal(opened(fixture, 0), 3);
	assert_true(has_inlined(cache, &fixture->ids[0], "twice"));
	assert_int_equal(opened(fixture, 0), 3);
}

struct borrower {
	struct symbol_cache *cache;
	const struct executable_id *id;
	char name[16];
};

static void *borrow(void *arg)
{
	struct borrower *borrower = arg;
	struct table_loan loan;

	if (symbol_cache_borrow(borrower->cache, borrower->id, PATIENCE_NS, &loan) == 0 &&
	    loan.file)
		(void)snprintf(borrower->name, sizeof(borrower->name), "%s", first_name(loan.file));
	symbol_cache_give_back(borrower->cache, &loan);
	return NULL;
}

static void many_who_want_a_table_get_the_one_that_is_made(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	struct borrower borrowers[4] = {};
	pthread_t threads[4];

	assert_holds(cache, &fixture->ids[1], "f1");
	fake_debuginfo_hold(&fixture->debuginfo, &fixture->ids[0]);
	for (int i = 0; i < 4; i++) {
		borrowers[i] = (struct borrower){ .cache = cache, .id = &fixture->ids[0] };
		assert_int_equal(pthread_create(&threads[i], NULL, borrow, &borrowers[i]), 0);
	}
	fake_debuginfo_wait_held(&fixture->debuginfo);
	/* Would hang here if one table held up others. */
	assert_holds(cache, &fixture->ids[1], "f1");
	assert_holds(cache, &fixture->ids[2], "f2");
	fake_debuginfo_hold(&fixture->debuginfo, NULL);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_string_equal(borrowers[i].name, "f0");
	}
	assert_int_equal(opened(fixture, 0), 1);
}

static void two_tables_are_made_at_a_time_and_no_more(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	struct table_loan loan;

	fake_debuginfo_hold_all(&fixture->debuginfo, true);
	for (int i = 0; i < 3; i++) {
		assert_ok(symbol_cache_borrow(cache, &fixture->ids[i], 0, &loan));
		assert_true(loan.pending);
	}
	while (fake_debuginfo_held(&fixture->debuginfo) < 2)
		(void)sched_yield();
	assert_int_equal(symbol_cache_counts(cache).n_pending, 3);
	assert_int_equal(opened(fixture, 2), 0);
	fake_debuginfo_hold_all(&fixture->debuginfo, false);
	assert_holds(cache, &fixture->ids[2], "f2");
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_holds(cache, &fixture->ids[1], "f1");
}

static void a_disk_that_takes_no_file_costs_memory_only(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	scoped_free char *folder = path_in(fixture->folder, "symbols");

	/* As good as a full disk, for root too. */
	assert_int_equal(rmdir(folder), 0);
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(opened(fixture, 0), 1);
}

struct churner {
	struct fixture *fixture;
	struct symbol_cache *cache;
	unsigned int seed;
	bool uploads;
};

static void *churn(void *arg)
{
	struct churner *churner = arg;
	struct fixture *fixture = churner->fixture;

	for (int i = 0; i < 200; i++) {
		int which = (int)((churner->seed = churner->seed * 1103515245u + 12345u) >> 16) % 3;
		struct table_loan loan;

		if (churner->uploads && i % 20 == 0)
			fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[which],
					   fixture->paths[which]);
		if (symbol_cache_borrow(churner->cache, &fixture->ids[which], PATIENCE_NS, &loan) <
		    0)
			return NULL;
		if (loan.state != TABLE_READY || !loan.file ||
		    first_name(loan.file)[1] != '0' + which)
			return NULL;
		symbol_cache_give_back(churner->cache, &loan);
	}
	return arg;
}

static void many_threads_with_little_room_and_uploads_agree(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = NULL;
	struct churner churners[4];
	pthread_t threads[4];

	fixture->options.max_bytes = KIB;
	cache = new_cache(fixture);
	for (unsigned int i = 0; i < 4; i++) {
		churners[i] = (struct churner){
			.fixture = fixture, .cache = cache, .seed = i, .uploads = i == 0
		};
		assert_int_equal(pthread_create(&threads[i], NULL, churn, &churners[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		void *result = NULL;

		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_non_null(result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define WITH_FILES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
		WITH_FILES(a_table_is_made_once),
		WITH_FILES(a_new_start_makes_nothing_anew),
		WITH_FILES(damaged_files_are_made_anew_from_the_stored_form),
		WITH_FILES(what_is_stored_in_another_version_or_damaged_is_made_anew),
		WITH_FILES(a_damaged_database_is_begun_anew),
		WITH_FILES(a_table_outlives_its_debuginfo_but_not_its_removal),
		WITH_FILES(what_was_never_uploaded_is_asked_for_once_per_generation),
		WITH_FILES(a_new_file_replaces_the_table_and_an_upload_for_another_does_not),
		WITH_FILES(the_older_table_serves_while_a_newer_one_is_made),
		WITH_FILES(nobody_waits_longer_than_its_patience),
		WITH_FILES(a_cache_that_ends_does_not_wait_for_tables),
		WITH_FILES(the_least_recently_used_table_leaves_and_the_newest_stays),
		WITH_FILES(stored_tables_keep_their_quota),
		WITH_FILES(a_damaged_file_fails_once_per_file_and_start),
		WITH_FILES(a_bad_upload_does_not_take_names_away),
		WITH_FILES(a_helper_is_not_believed),
		WITH_FILES(a_helper_that_died_is_tried_again_less_and_less_often),
		WITH_FILES(a_store_that_cannot_be_read_is_asked_again),
		WITH_FILES(an_executable_without_symbols_is_read_too),
		WITH_FILES(an_alternative_file_that_comes_later_is_used),
		WITH_FILES(split_dwarf_that_comes_later_is_used),
		WITH_FILES(many_who_want_a_table_get_the_one_that_is_made),
		WITH_FILES(two_tables_are_made_at_a_time_and_no_more),
		WITH_FILES(a_disk_that_takes_no_file_costs_memory_only),
		WITH_FILES(many_threads_with_little_room_and_uploads_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
