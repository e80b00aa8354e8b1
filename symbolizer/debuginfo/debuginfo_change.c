/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of the stored files. All of them use debuginfo_change(), which takes the lock, runs the
 * transaction, and updates generation and totals after the commit.
 */

#include "symbolizer/debuginfo/debuginfo_private.h"

static void publish_totals(struct debuginfo_store *store, uint64_t generation)
{
	uint64_t stored_bytes;

	atomic_store(&store->generation, generation);
	if (debuginfo_db_number(store->writer, SQL_TOTAL, &stored_bytes) == 0)
		atomic_store(&store->stored_bytes, stored_bytes);
}

/* Pages that one transaction of debuginfo_return_space() moves: 4 MiB. */
#define PAGES_PER_STEP "1024"

/* 1 pages are left, 0 none, or negative errno. */
static int return_some_space(struct debuginfo_store *store)
{
	uint64_t before = 0, after = 0;
	int r;

	r = debuginfo_db_number(store->writer, SQL_FREE_PAGES, &before);
	if (r < 0 || before == 0)
		return r;
	r = sqlite_db_run(store->writer, "PRAGMA incremental_vacuum(" PAGES_PER_STEP ")");
	if (r == 0)
		r = debuginfo_db_number(store->writer, SQL_FREE_PAGES, &after);
	return r < 0 ? r : after > 0 && after < before;
}

void debuginfo_return_space(struct debuginfo_store *store)
{
	int r;

	do {
		debuginfo_write_begin(store);
		r = return_some_space(store);
		debuginfo_write_end(store);
	} while (r > 0);
}

int debuginfo_change(struct debuginfo_store *store, debuginfo_change_function function, void *arg)
{
	uint64_t generation = 0;
	int r, result = 0;

	debuginfo_write_begin(store);
	r = sqlite_begin(store->writer);
	if (r == 0)
		r = result = function(store, arg);
	if (r > 0)
		r = debuginfo_db_raise_generation(store->writer, &generation);
	if (r == 0 && result > 0)
		r = sqlite_commit(store->writer);
	if (r < 0 || result <= 0)
		sqlite_rollback(store->writer);
	else
		publish_totals(store, generation);
	debuginfo_write_end(store);
	if (r >= 0 && result > 0)
		debuginfo_return_space(store);
	return r < 0 ? r : result;
}

static int remove_file(struct debuginfo_store *store, void *arg)
{
	const int64_t *file = arg;
	int r;

	r = debuginfo_db_remove_file(store->writer, *file);
	return r < 0 ? r : 1;
}

int debuginfo_remove_file(struct debuginfo_store *store, int64_t file)
{
	return debuginfo_change(store, remove_file, &file);
}

static int remove_one_unused(struct debuginfo_store *store, void *arg)
{
	uint64_t content = 0;
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	(void)arg;
	r = sqlite_query(store->writer, SQL_CONTENT_UNUSED, &row);
	if (r <= 0)
		return r;
	content = (uint64_t)sqlite3_column_int64(row, 0);
	(void)sqlite3_reset(row);
	r = debuginfo_db_remove_content(store->writer, (int64_t)content);
	return r < 0 ? r : 1;
}

int debuginfo_remove_unused(struct debuginfo_store *store)
{
	int r;

	do
		r = debuginfo_change(store, remove_one_unused, NULL);
	while (r > 0);
	return r;
}

/* Returns 1 if found, 0 if there is none. */
static int first_file_of(struct sqlite_db *db, const struct executable_id *id, int64_t *ret_file)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(db, SQL_FILES_OF, &row, SQL_INT(id->kind), SQL_BLOB(id->bytes, id->size));
	if (r > 0)
		*ret_file = sqlite3_column_int64(row, 0);
	return r;
}

/* Returns 1 if files were removed, 0 if there was none. */
static int remove_all_of(struct debuginfo_store *store, void *arg)
{
	const struct executable_id *id = arg;
	bool removed = false;
	int64_t file;
	int r;

	while ((r = first_file_of(store->writer, id, &file)) > 0) {
		r = debuginfo_db_remove_file(store->writer, file);
		if (r < 0)
			break;
		removed = true;
	}
	return r < 0 ? r : removed;
}

int debuginfo_remove(struct debuginfo_store *store, const struct executable_id *id)
{
	return debuginfo_change(store, remove_all_of, (void *)id);
}
