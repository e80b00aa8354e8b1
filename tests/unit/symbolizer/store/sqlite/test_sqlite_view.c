/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#include "symbolizer/store/sqlite/read.h"
#include "symbolizer/store/sqlite/sqlite_store_private.h"

#define DAY (24 * 3600 * NSEC_PER_SEC)

static size_t count_series(struct store_view *view)
{
	const struct store_series_query query = {};
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_series *series;
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	assert_ok(store_find_series(view, &query, arena, &series, &count));
	return count;
}

static void an_open_view_does_not_delay_retention(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	scoped_free char *path = path_in(*state, "samples-2026-01-01.db");
	scoped(store_view_closep) struct store_view *view = NULL;
	size_t removed;

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	view = open_view(store, "default");
	assert_int_equal(count_series(view), 1);
	assert_ok(sqlite_store_prune(store, NOON + DAY, &removed));
	assert_int_equal(removed, 1);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(count_series(view), 0);
}

/* Writes @count processes, each with executables 1 and 2. */
static void write_processes(struct store *store, uint32_t count)
{
	struct batch_builder *builder = batch_builder_new(1, EPOCH, 1, NOON - NSEC_PER_SEC, NOON);
	struct executable_id ids[] = { test_build_id(1), test_build_id(2) };
	char path[32];

	batch_builder_executable(builder, 1, &ids[0], "server", ROLE_USER);
	batch_builder_executable(builder, 2, &ids[1], "libx.so", ROLE_USER);
	for (uint32_t i = 1; i <= count; i++) {
		batch_builder_process(builder, i, 1000 + i, 99, "server", 1);
		batch_builder_path(builder, 1, "/usr/bin/server");
		(void)snprintf(path, sizeof(path), "/opt/%u/libx.so", i);
		batch_builder_path(builder, 2, path);
	}
	assert_int_equal(write_batch(store, builder), STORE_STORED);
}

static int count_process_paths(unsigned int event, void *arg, void *statement, void *text)
{
	(void)event;
	(void)text;
	*(size_t *)arg += strstr(sqlite3_sql(statement), "WHERE p.id = ?") != NULL;
	return 0;
}

/* The test reads with a set of connections of its own, to count their statements. */
static void paths_of_a_process_are_read_with_one_statement(void **state)
{
	enum { N = 50 };
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	struct connection_set set = {
		.folder = *state,
		.identity = &sqlite_store_of(store)->identity,
		.state = sqlite_store_of(store)->state,
	};
	struct store_mapped_file files[2 * N + 1] = {};
	scoped(arena_freep) struct arena *arena = NULL;
	const char *paths[ARRAY_SIZE(files)];
	size_t n_statements = 0;
	struct sqlite_db *hearth;

	assert_ok(arena_new(MIB, &arena));
	write_processes(store, N);
	/* First all of executable 2, from the last process on; then all of executable 1. */
	for (uint32_t i = 0; i < 2 * N; i++)
		files[i] = (struct store_mapped_file){ N - i % N, i < N ? 2 : 1 };
	files[2 * N] = (struct store_mapped_file){ N + 1, 1 };
	assert_ok(connection_set_hearth(&set, &hearth));
	assert_int_equal(sqlite3_trace_v2(hearth->handle, SQLITE_TRACE_STMT, count_process_paths,
					  &n_statements),
			 SQLITE_OK);
	assert_ok(read_paths_of(&set, files, ARRAY_SIZE(files), arena, paths));
	assert_int_equal(n_statements, N + 1);
	for (uint32_t i = 0; i < N; i++) {
		char expected[32];

		(void)snprintf(expected, sizeof(expected), "/opt/%u/libx.so", N - i);
		assert_string_equal(paths[i], expected);
		assert_string_equal(paths[N + i], "/usr/bin/server");
	}
	assert_null(paths[2 * N]);
	connection_set_release(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(an_open_view_does_not_delay_retention),
		in_folder(paths_of_a_process_are_read_with_one_statement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
