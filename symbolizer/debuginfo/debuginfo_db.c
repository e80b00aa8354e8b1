/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/debuginfo/debuginfo_db.h"

#include <stdio.h>

#include "common/log.h"

/*
 * Ids of files are never used again (AUTOINCREMENT), so that an id tells caches apart what the best
 * file of an identity was and is. Space of removed files goes back to the file system (auto_vacuum,
 * incremental): whoever removes debuginfo from a full disk wants the space now.
 */

#define VERSION_OF_FILE 1

static const char schema[] = "BEGIN IMMEDIATE;"
			     "CREATE TABLE IF NOT EXISTS file(id INTEGER PRIMARY KEY "
			     "AUTOINCREMENT, kind INTEGER NOT NULL,"
			     " identity BLOB NOT NULL, origin INTEGER NOT NULL, richness INTEGER "
			     "NOT NULL, size INTEGER NOT NULL,"
			     " stored_bytes INTEGER NOT NULL, uploaded_ns INTEGER NOT NULL, "
			     "last_used_ns INTEGER NOT NULL,"
			     " hash BLOB NOT NULL, complete INTEGER NOT NULL);"
			     "CREATE INDEX IF NOT EXISTS file_identity ON file(kind, identity);"
			     "CREATE TABLE IF NOT EXISTS chunk(id INTEGER PRIMARY KEY, hash BLOB "
			     "NOT NULL, content BLOB NOT NULL);"
			     "CREATE TABLE IF NOT EXISTS generation(id INTEGER PRIMARY KEY "
			     "CHECK(id = 1), value INTEGER NOT NULL);"
			     "INSERT OR IGNORE INTO generation VALUES(1, 1);"
			     "PRAGMA user_version=1;"
			     "COMMIT;";

static const char *const statements[] = {
#define X(id, sql) sql,
	DEBUGINFO_STATEMENTS(X)
#undef X
};

static_assert(ARRAY_SIZE(statements) == DEBUGINFO_STATEMENT_COUNT, "every statement has a row");

static int user_version(struct sqlite_db *db, int *ret_version)
{
	sqlite3_stmt *row = NULL;
	int r;

	if (sqlite3_prepare_v2(db->handle, "PRAGMA user_version", -1, &row, NULL) != SQLITE_OK)
		return sqlite_db_error(db, sqlite3_extended_errcode(db->handle));
	r = sqlite_step(db, row);
	if (r > 0)
		*ret_version = sqlite3_column_int(row, 0);
	(void)sqlite3_finalize(row);
	return MIN(r, 0);
}

/* Writes nothing when they are there: a server must start on a full disk too. */
static int ensure_tables(struct sqlite_db *db)
{
	int version = 0;
	int r;

	r = user_version(db, &version);
	if (r < 0)
		return r;
	if (version > VERSION_OF_FILE)
		return log_error_errno(
			ENOTSUP, "'%s' has format %d, this version knows up to %d: %m",
			sqlite3_db_filename(db->handle, "main"), version, VERSION_OF_FILE);
	return version == 0 ? sqlite_db_run(db, schema) : 0;
}

int debuginfo_db_open(const char *folder, bool writer, struct sqlite_db **ret_db)
{
	scoped(sqlite_db_freep) struct sqlite_db *db = NULL;
	scoped_free char *path = NULL;
	int r;

	if (asprintf(&path, "%s/debuginfo.db", folder) < 0)
		return -ENOMEM;
	r = sqlite_db_open(path, SQLITE_OPEN_READWRITE | (writer ? SQLITE_OPEN_CREATE : 0),
			   statements, DEBUGINFO_STATEMENT_COUNT, &db);
	if (r < 0)
		return r;
	if (!writer)
		r = sqlite_db_run(db, "PRAGMA query_only=1;");
	else
		/* auto_vacuum counts only before the first page is written, which WAL does. */
		r = sqlite_db_run(db, "PRAGMA auto_vacuum=INCREMENTAL;" SQLITE_DB_PRAGMAS);
	if (r == 0 && writer)
		r = ensure_tables(db);
	if (r < 0)
		return r;
	*ret_db = take_ptr(db);
	return 0;
}

int debuginfo_db_entry(sqlite3_stmt *row, struct debuginfo_entry *ret_entry)
{
	struct bytes_view identity = sqlite_blob(row, 2);
	struct debuginfo_entry entry = {
		.origin = (enum debuginfo_origin)sqlite3_column_int(row, 3),
		.richness = (enum debuginfo_richness)sqlite3_column_int(row, 4),
		.size_bytes = (uint64_t)sqlite3_column_int64(row, 5),
		.stored_bytes = (uint64_t)sqlite3_column_int64(row, 6),
		.uploaded_wall_ns = (uint64_t)sqlite3_column_int64(row, 7),
		.last_used_wall_ns = (uint64_t)sqlite3_column_int64(row, 8),
		.generation = (uint64_t)sqlite3_column_int64(row, 0),
	};

	if (executable_id_set(&entry.id, (unsigned int)sqlite3_column_int(row, 1), identity.data,
			      identity.size) < 0)
		return -EIO;
	*ret_entry = entry;
	return 0;
}

int debuginfo_db_best(struct sqlite_db *db, const struct executable_id *id,
		      struct debuginfo_entry *ret_entry, struct hash128 *ret_hash)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct bytes_view hash;
	int r;

	r = sqlite_query(db, SQL_FILE_BEST, &row, SQL_INT(id->kind), SQL_BLOB(id->bytes, id->size));
	if (r <= 0)
		return r;
	r = debuginfo_db_entry(row, ret_entry);
	if (r < 0)
		return r;
	hash = sqlite_blob(row, 9);
	if (ret_hash && hash.size == sizeof(ret_hash->bytes))
		memcpy(ret_hash->bytes, hash.data, sizeof(ret_hash->bytes));
	return 1;
}

int debuginfo_db_remove_file(struct sqlite_db *db, int64_t file)
{
	int r;

	r = sqlite_run(db, SQL_CHUNKS_REMOVE, SQL_INT(first_chunk_id(file)),
		       SQL_INT(first_chunk_id(file + 1)));
	return r < 0 ? r : sqlite_run(db, SQL_FILE_REMOVE, SQL_INT(file));
}

int debuginfo_db_raise_generation(struct sqlite_db *db, uint64_t *ret_generation)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_run(db, SQL_GENERATION_RAISE);
	if (r == 0)
		r = sqlite_query(db, SQL_GENERATION, &row);
	if (r > 0)
		*ret_generation = (uint64_t)sqlite3_column_int64(row, 0);
	return r > 0 ? 0 : MIN(r, -EIO);
}
