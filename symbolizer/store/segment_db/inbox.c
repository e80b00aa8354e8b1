/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/segment_db/inbox.h"

#include <stdio.h>

#include "symbolizer/sqlite/sqlite_schema.h"

#define INBOX_FORMAT 1

/* Has an effect only before the first table is created. */
static const char create_pragmas[] = "PRAGMA auto_vacuum=INCREMENTAL;";

static const char inbox_tables[] =
	"CREATE TABLE meta(last_flush INTEGER NOT NULL, flushed_id INTEGER NOT NULL);"
	"INSERT INTO meta VALUES(0, 0);"
	"CREATE TABLE epoch(id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, agent BLOB NOT NULL,"
	" epoch INTEGER NOT NULL, seen_ns INTEGER NOT NULL, sequences BLOB NOT NULL,"
	" UNIQUE(tenant, agent, epoch));"
	"CREATE INDEX epoch_seen ON epoch(seen_ns);"
	"CREATE TABLE inbox(id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL,"
	" sequence INTEGER NOT NULL, step_ns INTEGER NOT NULL, flags INTEGER NOT NULL,"
	" arrived_ns INTEGER NOT NULL, payload BLOB NOT NULL, UNIQUE(epoch, sequence));"
	"CREATE TABLE definition(id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL,"
	" content BLOB NOT NULL);"
	"CREATE INDEX definition_epoch ON definition(epoch);"
	"CREATE TABLE host(tenant TEXT NOT NULL, agent BLOB NOT NULL, attributes BLOB NOT NULL,"
	" first_seen_ns INTEGER NOT NULL, last_seen_ns INTEGER NOT NULL,"
	" PRIMARY KEY(tenant, agent)) WITHOUT ROWID;";

static const char *const inbox_statements[] = {
#define X(id, sql) sql,
	INBOX_STATEMENTS(X)
#undef X
};

static int make_tables(struct sqlite_db *db, int found, const void *arg)
{
	(void)found;
	(void)arg;
	return sqlite_db_run(db, inbox_tables);
}

int inbox_open(const char *folder, struct sqlite_db **ret_db)
{
	static const struct sqlite_schema schema = { .version = INBOX_FORMAT, .make = make_tables };
	scoped(sqlite_db_freep) struct sqlite_db *db = NULL;
	scoped_free char *path = NULL;
	int r;

	if (asprintf(&path, "%s/inbox.db", folder) < 0)
		return -ENOMEM;
	r = sqlite_db_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, inbox_statements,
			   INBOX_STATEMENT_COUNT, &db);
	if (r == 0)
		r = sqlite_db_run(db, create_pragmas);
	if (r == 0)
		r = sqlite_db_run(db, SQLITE_DB_PRAGMAS);
	if (r == 0)
		r = sqlite_ensure_schema(db, &schema);
	if (r < 0)
		return r;
	sqlite_db_bound_wal(db, SQLITE_DB_MAX_WAL_BYTES);
	*ret_db = take_ptr(db);
	return 0;
}

int inbox_read_state(struct sqlite_db *db, struct inbox_state *ret_state)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query_values(db, INBOX_SQL_META, NULL, 0, &row);

	if (r <= 0)
		return r < 0 ? r : -EUCLEAN;
	*ret_state = (struct inbox_state){
		.last_flush = (uint64_t)sqlite3_column_int64(row, 0),
		.flushed_id = (uint64_t)sqlite3_column_int64(row, 1),
	};
	ret_state->max_id = MAX(ret_state->flushed_id, (uint64_t)sqlite3_column_int64(row, 2));
	return 0;
}
