/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A cache of symbol tables over three uploaded libraries with one function each, for the tests of
 * symbol_cache.h.
 */

#include <dirent.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "symbolizer/symbols/cache/symbol_cache.h"
#include "tests/support/fake_debuginfo.h"
#include "tests/unit/symbolizer/symbols/programs.h"

#define WITH_FILES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* Longer than any table of these tests takes to compile. */
#define PATIENCE_NS (60 * NSEC_PER_SEC)

struct fixture {
	void *folder;
	struct debuginfo_store debuginfo;
	struct symbol_cache_options options;
	char *paths[3]; /* libraries with one function each: f0, f1, f2 */
	struct executable_id ids[3];
	struct executable_id unknown;
};

static inline int setup(void **state)
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

static inline int teardown(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < 3; i++)
		free(fixture->paths[i]);
	assert_int_equal(temp_folder_teardown(&fixture->folder), 0);
	free(fixture);
	return 0;
}

static inline struct symbol_cache *new_cache(struct fixture *fixture)
{
	struct symbol_cache *cache = NULL;

	assert_ok(symbol_cache_new(&fixture->options, &cache));
	return cache;
}

static inline unsigned int opened(struct fixture *fixture, int i)
{
	return fake_debuginfo_opened(&fixture->debuginfo, &fixture->ids[i]);
}

/* The name of the function in the first range. */
static inline const char *first_name(const struct symbol_file *file)
{
	struct symbol_range range;
	struct symbol_frame frame;

	symbol_file_range(file, 0, &range);
	(void)symbol_file_frame(file, range.location, &frame);
	return frame.function;
}

/* Checks that the table of @id is ready and has the function @name. */
static inline void assert_holds(struct symbol_cache *cache, const struct executable_id *id,
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

/* Checks the state of @id, which must have no table and not be pending. */
static inline void assert_state(struct symbol_cache *cache, const struct executable_id *id,
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

/* The number of flat files, and their size. */
static inline size_t count_files(struct fixture *fixture, uint64_t *ret_bytes)
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

static inline void run_sql(struct fixture *fixture, const char *sql)
{
	scoped_free char *path = path_in(fixture->folder, "symbols.db");
	sqlite3 *db = NULL;
	char *message = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}
