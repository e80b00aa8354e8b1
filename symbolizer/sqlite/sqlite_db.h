/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A SQLite connection with its prepared statements, for the stores that keep their data in SQLite.
 *
 * The caller opens a connection with a table of SQL texts. sqlite_prepare() prepares a statement
 * at its first use and keeps it until the connection is freed. One thread at a time may use a
 * connection. A started statement must be reset before its next use and before the end of a
 * transaction: declare it scoped(sqlite_resetp).
 *
 *   scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
 *   r = sqlite_query(db, SQL_HOST_FIND, &row, SQL_TEXT(tenant), SQL_BLOB(id, 16));
 *   if (r > 0)                                      -- 1: a row, 0: none, < 0: errno
 *           *ret_id = sqlite3_column_int64(row, 0);
 *
 * Errors: -ENOSPC (disk or quota full), -EIO, -EROFS, -ENOMEM, -EBUSY; -EUCLEAN: the file is
 * damaged or not a database; -EEXIST: a constraint failed, the row exists already.
 */

#include <sqlite3.h>
#include <string.h>

#include "common/base.h"
#include "common/bytes.h"
#include "common/scoped.h"

/* A new file gets these settings. journal_size_limit truncates a WAL that a long read let grow. */
#define SQLITE_DB_PRAGMAS                                                                          \
	"PRAGMA journal_mode=WAL;"                                                                 \
	"PRAGMA synchronous=FULL;"                                                                 \
	"PRAGMA temp_store=MEMORY;"                                                                \
	"PRAGMA journal_size_limit=67108864;"

/* A commit that finds a WAL larger than this restarts the WAL, even if readers must wait. */
#define SQLITE_DB_MAX_WAL_BYTES (64 * MIB)

struct sqlite_db {
	sqlite3 *handle;
	size_t max_wal_bytes;
	int restart_at_pages;   /* do not try to restart the WAL before it has so many pages */
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

/* @flags are SQLite's: SQLITE_OPEN_READWRITE, SQLITE_OPEN_CREATE. @sql is borrowed. */
int sqlite_db_open(const char *path, int flags, const char *const *sql, unsigned int n_statements,
		   struct sqlite_db **ret_db);
struct sqlite_db *sqlite_db_free(struct sqlite_db *db);

/* Returns the negative errno for SQLite's result code @code. */
int sqlite_db_error(const struct sqlite_db *db, int code);

/* Runs one or several statements without parameters. */
int sqlite_db_run(struct sqlite_db *db, const char *sql);

/* Bounds the WAL: SQLite calls a hook of ours after each commit of this connection. */
void sqlite_db_bound_wal(struct sqlite_db *db, size_t max_wal_bytes);

/* Copies the WAL into the file and truncates it, unless readers use it. */
void sqlite_db_empty_wal(struct sqlite_db *db);

int sqlite_prepare(struct sqlite_db *db, unsigned int id, sqlite3_stmt **ret_statement);

/* Returns 1 with a row, 0 after the last row. */
int sqlite_step(struct sqlite_db *db, sqlite3_stmt *statement);

/* Starts statement @id with @values and makes the first step: 1 a row, 0 none. */
int sqlite_query_values(struct sqlite_db *db, unsigned int id, const struct sqlite_value *values,
			size_t n_values, sqlite3_stmt **ret_row);

#define sqlite_query(db, id, ret_row, ...)                                                         \
	sqlite_query_values((db), (id), (const struct sqlite_value[]){ __VA_ARGS__ },              \
			    sizeof((const struct sqlite_value[]){ __VA_ARGS__ }) /                 \
				    sizeof(struct sqlite_value),                                   \
			    (ret_row))

void sqlite_resetp(sqlite3_stmt **statement);

/* Runs statement @id, which returns no rows. */
#define sqlite_run(db, id, ...)                                                                    \
	({                                                                                         \
		scoped(sqlite_resetp) sqlite3_stmt *run_row_ = NULL;                               \
		int run_r_ = sqlite_query((db), (id), &run_row_, __VA_ARGS__);                     \
		run_r_ < 0 ? run_r_ : 0;                                                           \
	})

int sqlite_begin(struct sqlite_db *db);

/* Rolls back when it fails. */
int sqlite_commit(struct sqlite_db *db);

/* Ends the open transaction, if there is one: some errors end the transaction themselves. */
void sqlite_rollback(struct sqlite_db *db);

/*
 * A savepoint in the open transaction, for changes that are undone without the rest. One at a time.
 * Both calls below end it. A savepoint costs no synchronous write.
 */
int sqlite_savepoint(struct sqlite_db *db);
int sqlite_release_savepoint(struct sqlite_db *db);
int sqlite_undo_savepoint(struct sqlite_db *db);

/* Returns whether a transaction is open: some errors end it, and undo all its changes. */
bool sqlite_in_transaction(const struct sqlite_db *db);

/*
 * One read transaction for many lookups: each lookup alone would take and release the WAL's locks,
 * which costs more than the lookup. The transaction ends with the scope:
 *
 *   scoped(sqlite_end_readp) struct sqlite_db *reading = NULL;
 *   r = sqlite_begin_read(db, &reading);
 */
int sqlite_begin_read(struct sqlite_db *db, struct sqlite_db **ret_reading);
void sqlite_end_readp(struct sqlite_db **reading);

/* Never NULL, although SQLite returns NULL when it has no memory for the text. */
const char *sqlite_text(sqlite3_stmt *row, int column);
struct bytes_view sqlite_blob(sqlite3_stmt *row, int column);

/* Returns the row ID of the last insertion on this connection. */
int64_t sqlite_last_id(const struct sqlite_db *db);

DEFINE_SCOPED(struct sqlite_db *, sqlite_db_free);
