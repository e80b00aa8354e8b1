/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A SQLite connection with its prepared statements, for the engines that keep their data in SQLite.
 *
 * Statements are rows of a table that the connection is opened with; each is prepared at its first
 * use and kept. A connection belongs to one thread at a time. A statement that was started must be
 * reset before the next use and before the end of a transaction: declare it scoped(sqlite_resetp).
 *
 *   scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
 *   r = sqlite_query(db, SQL_HOST_FIND, &row, SQL_TEXT(tenant), SQL_BLOB(id, 16));
 *   if (r > 0)                                      -- 1: a row, 0: none, < 0: errno
 *           *ret_id = sqlite3_column_int64(row, 0);
 *
 * Errors: -ENOSPC (also a quota), -EIO, -EROFS, -ENOMEM, -EBUSY; -EUCLEAN a damaged file, or one
 * that is no database; -EEXIST a row that is there already. Header only: two libraries that do not
 * link each other use it.
 */

#include <sqlite3.h>
#include <string.h>

#include "common/base.h"
#include "common/bytes.h"
#include "common/scoped.h"

/* How long one of our connections waits for another one (a checkpoint, a recovery after a crash).
 */
#define SQLITE_DB_BUSY_MS 10000

/* A WAL that a long read let grow is cut back to this. */
#define SQLITE_DB_PRAGMAS                                                                          \
	"PRAGMA journal_mode=WAL;"                                                                 \
	"PRAGMA synchronous=FULL;"                                                                 \
	"PRAGMA temp_store=MEMORY;"                                                                \
	"PRAGMA journal_size_limit=67108864;"

/* A WAL beyond this is emptied even if its readers have to wait for a moment. */
#define SQLITE_DB_MAX_WAL_BYTES (64 * MIB)

/* How long a commit may wait for readers then; they wait no longer than the copying takes. */
#define SQLITE_DB_RESTART_BUSY_MS 200

/* Pages after which what the WAL has is copied into the file, as far as readers let it: SQLite's
 * own default, which a hook of ours replaces. */
#define SQLITE_DB_CHECKPOINT_PAGES 1000

/* SQLite's default, which files of ours have. */
#define SQLITE_DB_PAGE_BYTES 4096

struct sqlite_db {
	sqlite3 *handle;
	size_t max_wal_bytes;
	int restart_at_pages;   /* no further try to empty the WAL before it has so many */
	const char *const *sql; /* n_statements texts, borrowed */
	unsigned int n_statements;
	sqlite3_stmt *statements[];
};

struct sqlite_value {
	int type; /* SQLITE_INTEGER, SQLITE_TEXT, SQLITE_BLOB */
	int64_t integer;
	const void *data; /* borrowed until the statement is reset */
	size_t size;
};

#define SQL_INT(value)                                                                             \
	((struct sqlite_value){ .type = SQLITE_INTEGER, .integer = (int64_t)(value) })
#define SQL_BLOB(pointer, length)                                                                  \
	((struct sqlite_value){ .type = SQLITE_BLOB, .data = (pointer), .size = (length) })
#define SQL_TEXT(text)                                                                             \
	({                                                                                         \
		const char *sql_text_ = (text);                                                    \
		(struct sqlite_value){ .type = SQLITE_TEXT,                                        \
				       .data = sql_text_,                                          \
				       .size = strlen(sql_text_) };                                \
	})

static inline struct sqlite_db *sqlite_db_free(struct sqlite_db *db)
{
	if (!db)
		return NULL;
	for (unsigned int i = 0; i < db->n_statements; i++)
		(void)sqlite3_finalize(db->statements[i]);
	(void)sqlite3_close(db->handle);
	free(db);
	return NULL;
}

DEFINE_SCOPED(struct sqlite_db *, sqlite_db_free);

static inline void sqlite_resetp(sqlite3_stmt **statement)
{
	if (*statement)
		(void)sqlite3_reset(*statement);
}

/* The negative errno of what @code says went wrong on this connection. */
static inline int sqlite_db_error(const struct sqlite_db *db, int code)
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

/* What the last failed call on this connection says, for a log line. */
static inline const char *sqlite_db_message(const struct sqlite_db *db)
{
	return sqlite3_errmsg(db->handle);
}

/* Runs statements without parameters. */
static inline int sqlite_db_run(struct sqlite_db *db, const char *sql)
{
	int code = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : sqlite_db_error(db, sqlite3_extended_errcode(db->handle));
}

/*
 * @flags are SQLite's (SQLITE_OPEN_READWRITE, SQLITE_OPEN_CREATE). A NULL handle in an error does
 * not happen: the connection is freed here.
 */
static inline int sqlite_db_open(const char *path, int flags, const char *const *sql,
				 unsigned int n_statements, struct sqlite_db **ret_db)
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
	(void)sqlite3_busy_timeout(db->handle, SQLITE_DB_BUSY_MS);
	*ret_db = take_ptr(db);
	return 0;
}

static inline int sqlite_prepare(struct sqlite_db *db, unsigned int id,
				 sqlite3_stmt **ret_statement)
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

static inline int sqlite_bind_value(sqlite3_stmt *statement, int position,
				    const struct sqlite_value *value)
{
	/* NULL bytes would be bound as NULL, not as an empty blob. */
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

/*
 * After each commit of a connection that asked for it. SQLite starts a WAL over only when nobody
 * reads from it at that moment: with queries that overlap all day that moment never comes, and it
 * grows until the disk is full. A restart makes the readers that come read from the file.
 */
static inline int sqlite_db_wal_hook(void *arg, sqlite3 *handle, const char *name, int n_pages)
{
	struct sqlite_db *db = arg;
	bool restart = (size_t)n_pages * SQLITE_DB_PAGE_BYTES > db->max_wal_bytes &&
		       n_pages >= db->restart_at_pages;
	int code;

	if (!restart) {
		if (n_pages >= SQLITE_DB_CHECKPOINT_PAGES)
			(void)sqlite3_wal_checkpoint_v2(handle, name, SQLITE_CHECKPOINT_PASSIVE,
							NULL, NULL);
		return SQLITE_OK;
	}
	(void)sqlite3_busy_timeout(handle, SQLITE_DB_RESTART_BUSY_MS);
	code = sqlite3_wal_checkpoint_v2(handle, name, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
	(void)sqlite3_busy_timeout(handle, SQLITE_DB_BUSY_MS);
	/* A query that takes minutes: not every commit has to wait in vain. */
	db->restart_at_pages = code == SQLITE_OK ? 0 : n_pages + 4 * SQLITE_DB_CHECKPOINT_PAGES;
	return SQLITE_OK;
}

/* Bounds the WAL of a connection that writes. */
static inline void sqlite_db_bound_wal(struct sqlite_db *db, size_t max_wal_bytes)
{
	db->max_wal_bytes = max_wal_bytes;
	(void)sqlite3_wal_hook(db->handle, sqlite_db_wal_hook, db);
}

/* 1 a row, 0 done. */
static inline int sqlite_step(struct sqlite_db *db, sqlite3_stmt *statement)
{
	int code = sqlite3_step(statement);

	if (code == SQLITE_ROW)
		return 1;
	return code == SQLITE_DONE ? 0 : sqlite_db_error(db, sqlite3_extended_errcode(db->handle));
}

/* Starts statement @id with @values and makes the first step: 1 a row, 0 none. */
static inline int sqlite_query_values(struct sqlite_db *db, unsigned int id,
				      const struct sqlite_value *values, size_t n_values,
				      sqlite3_stmt **ret_row)
{
	sqlite3_stmt *statement;
	int r;

	r = sqlite_prepare(db, id, &statement);
	if (r < 0)
		return r;
	*ret_row = statement;
	(void)sqlite3_reset(statement);
	for (size_t i = 0; i < n_values; i++) {
		int code = sqlite_bind_value(statement, (int)i + 1, &values[i]);

		if (code != SQLITE_OK)
			return sqlite_db_error(db, code);
	}
	return sqlite_step(db, statement);
}

#define sqlite_query(db, id, ret_row, ...)                                                         \
	sqlite_query_values((db), (id), (const struct sqlite_value[]){ __VA_ARGS__ },              \
			    sizeof((const struct sqlite_value[]){ __VA_ARGS__ }) /                 \
				    sizeof(struct sqlite_value),                                   \
			    (ret_row))

/* Runs statement @id to its end; for those that give no rows. */
#define sqlite_run(db, id, ...)                                                                    \
	({                                                                                         \
		scoped(sqlite_resetp) sqlite3_stmt *run_row_ = NULL;                               \
		int run_r_ = sqlite_query((db), (id), &run_row_, __VA_ARGS__);                     \
		run_r_ < 0 ? run_r_ : 0;                                                           \
	})

static inline int sqlite_begin(struct sqlite_db *db)
{
	return sqlite_db_run(db, "BEGIN IMMEDIATE");
}

/* Ends the transaction that is open, if one is; some errors have ended it already. */
static inline void sqlite_rollback(struct sqlite_db *db)
{
	if (!sqlite3_get_autocommit(db->handle))
		(void)sqlite_db_run(db, "ROLLBACK");
}

/*
 * Many lookups in one read transaction: each alone would take and release the WAL's locks, which
 * costs more than the lookup. Ends with the scope: scoped(sqlite_end_readp) struct sqlite_db
 * *reading = NULL; r = sqlite_begin_read(db, &reading).
 */
static inline int sqlite_begin_read(struct sqlite_db *db, struct sqlite_db **ret_reading)
{
	int r = sqlite_db_run(db, "BEGIN");

	if (r == 0)
		*ret_reading = db;
	return r;
}

static inline void sqlite_end_readp(struct sqlite_db **reading)
{
	if (*reading)
		sqlite_rollback(*reading);
}

static inline int sqlite_commit(struct sqlite_db *db)
{
	int r = sqlite_db_run(db, "COMMIT");

	if (r < 0)
		sqlite_rollback(db);
	return r;
}

/* Never NULL: SQLite gives NULL when it has no memory for the text. */
static inline const char *sqlite_text(sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	return text ? text : "";
}

static inline struct bytes_view sqlite_blob(sqlite3_stmt *row, int column)
{
	const void *data = sqlite3_column_blob(row, column);

	return (struct bytes_view){ .data = data,
				    .size = data ? (size_t)sqlite3_column_bytes(row, column) : 0 };
}

static inline int64_t sqlite_last_id(const struct sqlite_db *db)
{
	return sqlite3_last_insert_rowid(db->handle);
}
