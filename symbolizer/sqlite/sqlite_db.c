/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/sqlite/sqlite_db.h"

/* How long a connection waits for the lock of another one (a checkpoint, crash recovery). */
#define BUSY_MS 10000

/* How long a commit waits for readers when it restarts a WAL that is too large. */
#define RESTART_BUSY_MS 200

/*
 * A commit that finds this many pages (16 MiB) in the WAL copies them into the file, as far as
 * readers allow. A checkpoint costs three synchronous writes: with SQLite's default of 1000 pages,
 * a store of 200 batches/s had 5 of them per second, with 4000 pages one.
 */
#define CHECKPOINT_PAGES 4000

/* SQLite's default page size, which all our files have. */
#define PAGE_BYTES 4096

struct sqlite_db *sqlite_db_free(struct sqlite_db *db)
{
	if (!db)
		return NULL;
	for (unsigned int i = 0; i < db->n_statements; i++)
		(void)sqlite3_finalize(db->statements[i]);
	(void)sqlite3_close(db->handle);
	free(db);
	return NULL;
}

int sqlite_db_error(const struct sqlite_db *db, int code)
{
	int system_errno = sqlite3_system_errno(db->handle);

	switch (code & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		if (code == SQLITE_IOERR_NOMEM)
			return -ENOMEM;
		return system_errno == ENOSPC || system_errno == EDQUOT ? -ENOSPC : -EIO;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EUCLEAN;
	case SQLITE_CONSTRAINT:
		return -EEXIST;
	default:
		return -EIO;
	}
}

int sqlite_db_run(struct sqlite_db *db, const char *sql)
{
	int code = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : sqlite_db_error(db, sqlite3_extended_errcode(db->handle));
}

int sqlite_db_open(const char *path, int flags, const char *const *sql, unsigned int n_statements,
		   struct sqlite_db **ret_db)
{
	scoped(sqlite_db_freep) struct sqlite_db *db =
		calloc(1, sizeof(*db) + n_statements * sizeof(sqlite3_stmt *));
	int code;

	if (!db)
		return -ENOMEM;
	db->sql = sql;
	db->n_statements = n_statements;
	code = sqlite3_open_v2(path, &db->handle, flags | SQLITE_OPEN_NOMUTEX, NULL);
	if (!db->handle)
		return -ENOMEM;
	(void)sqlite3_extended_result_codes(db->handle, 1);
	if (code != SQLITE_OK)
		return sqlite_db_error(db, sqlite3_extended_errcode(db->handle));
	(void)sqlite3_busy_timeout(db->handle, BUSY_MS);
	*ret_db = take_ptr(db);
	return 0;
}

/*
 * SQLite restarts a WAL only when no connection reads from it at that moment. With queries that
 * overlap all day there is no such moment, and the WAL grows until the disk is full. Above
 * max_wal_bytes a restart checkpoint therefore waits for the readers; later readers read from the
 * file.
 */
static int on_commit(void *arg, sqlite3 *handle, const char *name, int n_pages)
{
	struct sqlite_db *db = arg;
	bool restart =
		(size_t)n_pages * PAGE_BYTES > db->max_wal_bytes && n_pages >= db->restart_at_pages;
	int code;

	if (!restart) {
		if (n_pages >= CHECKPOINT_PAGES)
			(void)sqlite3_wal_checkpoint_v2(handle, name, SQLITE_CHECKPOINT_PASSIVE,
							NULL, NULL);
		return SQLITE_OK;
	}
	(void)sqlite3_busy_timeout(handle, RESTART_BUSY_MS);
	code = sqlite3_wal_checkpoint_v2(handle, name, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
	(void)sqlite3_busy_timeout(handle, BUSY_MS);
	/* While a query runs for minutes, not every commit must wait for it in vain. */
	db->restart_at_pages = code == SQLITE_OK ? 0 : n_pages + 4 * CHECKPOINT_PAGES;
	return SQLITE_OK;
}

void sqlite_db_bound_wal(struct sqlite_db *db, size_t max_wal_bytes)
{
	db->max_wal_bytes = max_wal_bytes;
	(void)sqlite3_wal_hook(db->handle, on_commit, db);
}

void sqlite_db_empty_wal(struct sqlite_db *db)
{
	(void)sqlite3_busy_timeout(db->handle, RESTART_BUSY_MS);
	(void)sqlite3_wal_checkpoint_v2(db->handle, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	(void)sqlite3_busy_timeout(db->handle, BUSY_MS);
}

int sqlite_prepare(struct sqlite_db *db, unsigned int id, sqlite3_stmt **ret_statement)
{
	assert(id < db->n_statements);
	if (!db->statements[id]) {
		int code = sqlite3_prepare_v3(db->handle, db->sql[id], -1,
					      SQLITE_PREPARE_PERSISTENT, &db->statements[id], NULL);

		if (code != SQLITE_OK)
			return sqlite_db_error(db, code);
	}
	*ret_statement = db->statements[id];
	return 0;
}

static int bind_value(sqlite3_stmt *statement, int position, const struct sqlite_value *value)
{
	/* SQLite binds a NULL pointer as NULL, not as an empty blob. */
	const void *data = value->data ? value->data : "";

	switch (value->type) {
	case SQLITE_INTEGER:
		return sqlite3_bind_int64(statement, position, value->integer);
	case SQLITE_TEXT:
		return sqlite3_bind_text64(statement, position, data, value->size, SQLITE_STATIC,
					   SQLITE_UTF8);
	default:
		return sqlite3_bind_blob64(statement, position, data, value->size, SQLITE_STATIC);
	}
}

int sqlite_step(struct sqlite_db *db, sqlite3_stmt *statement)
{
	int code = sqlite3_step(statement);

	if (code == SQLITE_ROW)
		return 1;
	return code == SQLITE_DONE ? 0 : sqlite_db_error(db, sqlite3_extended_errcode(db->handle));
}

int sqlite_query_values(struct sqlite_db *db, unsigned int id, const struct sqlite_value *values,
			size_t n_values, sqlite3_stmt **ret_row)
{
	sqlite3_stmt *statement;
	int r;

	r = sqlite_prepare(db, id, &statement);
	if (r < 0)
		return r;
	*ret_row = statement;
	(void)sqlite3_reset(statement);
	for (size_t i = 0; i < n_values; i++) {
		int code = bind_value(statement, (int)i + 1, &values[i]);

		if (code != SQLITE_OK)
			return sqlite_db_error(db, code);
	}
	return sqlite_step(db, statement);
}

void sqlite_resetp(sqlite3_stmt **statement)
{
	if (*statement)
		(void)sqlite3_reset(*statement);
}

int sqlite_begin(struct sqlite_db *db)
{
	return sqlite_db_run(db, "BEGIN IMMEDIATE");
}

int sqlite_commit(struct sqlite_db *db)
{
	int r = sqlite_db_run(db, "COMMIT");

	if (r < 0)
		sqlite_rollback(db);
	return r;
}

void sqlite_rollback(struct sqlite_db *db)
{
	if (sqlite_in_transaction(db))
		(void)sqlite_db_run(db, "ROLLBACK");
}

int sqlite_savepoint(struct sqlite_db *db)
{
	return sqlite_db_run(db, "SAVEPOINT inner");
}

int sqlite_release_savepoint(struct sqlite_db *db)
{
	return sqlite_db_run(db, "RELEASE inner");
}

int sqlite_undo_savepoint(struct sqlite_db *db)
{
	return sqlite_db_run(db, "ROLLBACK TO inner; RELEASE inner");
}

bool sqlite_in_transaction(const struct sqlite_db *db)
{
	return !sqlite3_get_autocommit(db->handle);
}

int sqlite_begin_read(struct sqlite_db *db, struct sqlite_db **ret_reading)
{
	int r = sqlite_db_run(db, "BEGIN");

	if (r == 0)
		*ret_reading = db;
	return r;
}

void sqlite_end_readp(struct sqlite_db **reading)
{
	if (*reading)
		sqlite_rollback(*reading);
}

const char *sqlite_text(sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	return text ? text : "";
}

struct bytes_view sqlite_blob(sqlite3_stmt *row, int column)
{
	const void *data = sqlite3_column_blob(row, column);

	return (struct bytes_view){ .data = data,
				    .size = data ? (size_t)sqlite3_column_bytes(row, column) : 0 };
}

int64_t sqlite_last_id(const struct sqlite_db *db)
{
	return sqlite3_last_insert_rowid(db->handle);
}
