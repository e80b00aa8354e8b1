/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IDs of files are never used again (AUTOINCREMENT), so that caches can compare the ID of the best
 * file of an identity. The space of removed files returns to the file system (incremental
 * auto_vacuum): an administrator who removes debuginfo from a full disk needs the space at once.
 *
 * Format 1 had one table for files and content, and no sources, executables and upstream servers.
 * Its chunks are kept, since content gets the IDs of the files. Format 2 had no number for tables
 * within executables (DEBUGINFO_EMBEDDED), and no split DWARF. Format 3 had no aliases, and format
 * 4 none for files of earlier formats: debuginfo_backfill.c adds them.
 */

#include "symbolizer/debuginfo/debuginfo_db.h"

#include <stdio.h>

#include "symbolizer/sqlite/sqlite_schema.h"

/* Format of the file (SQLite's user_version). */
#define FORMAT 5

static const char new_tables[] =
	"CREATE TABLE content(id INTEGER PRIMARY KEY AUTOINCREMENT, size INTEGER NOT NULL,"
	" stored_bytes INTEGER NOT NULL, hash BLOB NOT NULL, sha256 BLOB NOT NULL,"
	" complete INTEGER NOT NULL);"
	"CREATE INDEX content_sha256 ON content(sha256) WHERE sha256 <> x'';"
	"CREATE TABLE session(name TEXT PRIMARY KEY, kind INTEGER NOT NULL, identity BLOB NOT NULL,"
	" path TEXT NOT NULL, origin INTEGER NOT NULL, size INTEGER NOT NULL, sha256 BLOB NOT NULL,"
	" touched_ns INTEGER NOT NULL);"
	"CREATE TABLE miss(kind INTEGER NOT NULL, identity BLOB NOT NULL, what INTEGER NOT NULL,"
	" path TEXT NOT NULL, failures INTEGER NOT NULL, not_before_ns INTEGER NOT NULL,"
	" PRIMARY KEY(kind, identity, what, path)) WITHOUT ROWID;"
	"CREATE TABLE total(id INTEGER PRIMARY KEY CHECK(id = 1), stored_bytes INTEGER NOT NULL);";

static const char new_indexes[] =
	"CREATE INDEX file_identity ON file(kind, identity, role, path);"
	"CREATE INDEX file_content ON file(content);"
	"INSERT INTO total SELECT 1, ifnull(sum(stored_bytes), 0) FROM content WHERE complete;";

static const char format_2_to_3[] = "UPDATE file SET richness = richness + 1 WHERE richness > 0;";

static const char format_3_to_4[] =
	"CREATE TABLE alias(htlhash BLOB PRIMARY KEY, kind INTEGER NOT NULL,"
	" identity BLOB NOT NULL, origin INTEGER NOT NULL) WITHOUT ROWID;";

static const char format_4_to_5[] = "CREATE INDEX alias_identity ON alias(kind, identity);"
				    "CREATE TABLE unhashed(file INTEGER PRIMARY KEY);"
				    "INSERT INTO unhashed SELECT id FROM file WHERE role = 1;";

static const char format_0_to_2[] =
	"CREATE TABLE file(id INTEGER PRIMARY KEY AUTOINCREMENT, kind INTEGER NOT NULL,"
	" identity BLOB NOT NULL, origin INTEGER NOT NULL, richness INTEGER NOT NULL,"
	" uploaded_ns INTEGER NOT NULL, last_used_ns INTEGER NOT NULL DEFAULT 0,"
	" role INTEGER NOT NULL DEFAULT 1, path TEXT NOT NULL DEFAULT '', code INTEGER,"
	" content INTEGER NOT NULL DEFAULT 0, first_used_ns INTEGER NOT NULL DEFAULT 0);"
	"CREATE TABLE chunk(id INTEGER PRIMARY KEY, hash BLOB NOT NULL, content BLOB NOT NULL);"
	"CREATE TABLE generation(id INTEGER PRIMARY KEY CHECK(id = 1), value INTEGER NOT NULL);"
	"INSERT INTO generation VALUES(1, 1);";

static const char format_1_to_2[] =
	"INSERT INTO content(id, size, stored_bytes, hash, sha256, complete)"
	" SELECT id, size, stored_bytes, hash, x'', complete FROM file;"
	"DELETE FROM file WHERE NOT complete;"
	"DROP INDEX file_identity;"
	"ALTER TABLE file ADD COLUMN role INTEGER NOT NULL DEFAULT 1;"
	"ALTER TABLE file ADD COLUMN path TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE file ADD COLUMN code INTEGER;"
	"ALTER TABLE file ADD COLUMN content INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE file ADD COLUMN first_used_ns INTEGER NOT NULL DEFAULT 0;"
	"UPDATE file SET content = id, first_used_ns = last_used_ns,"
	" origin = CASE origin WHEN 2 THEN 3 ELSE origin END;"
	"ALTER TABLE file DROP COLUMN size;"
	"ALTER TABLE file DROP COLUMN stored_bytes;"
	"ALTER TABLE file DROP COLUMN hash;"
	"ALTER TABLE file DROP COLUMN complete;"
	"UPDATE generation SET value = value + 1;";

static const char *const statements[] = {
#define X(id, sql) sql,
	DEBUGINFO_STATEMENTS(X)
#undef X
};

static_assert(ARRAY_SIZE(statements) == DEBUGINFO_STATEMENT_COUNT, "every statement has a row");

static int make_tables(struct sqlite_db *db, int found, const void *arg)
{
	int r = 0;

	(void)arg;
	if (found < 2)
		r = sqlite_db_run(db, new_tables);
	if (r == 0 && found < 2)
		r = sqlite_db_run(db, found == 0 ? format_0_to_2 : format_1_to_2);
	if (r == 0 && found < 2)
		r = sqlite_db_run(db, new_indexes);
	if (r == 0 && found < 3)
		r = sqlite_db_run(db, format_2_to_3);
	if (r == 0 && found < 4)
		r = sqlite_db_run(db, format_3_to_4);
	return r < 0 ? r : sqlite_db_run(db, format_4_to_5);
}

static const struct sqlite_schema schema = {
	.version = FORMAT,
	.newest = FORMAT - 1,
	.make = make_tables,
};

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
		/* This pragma is the first, because auto_vacuum has no effect once WAL mode has
		 * written a page. */
		r = sqlite_db_run(db, "PRAGMA auto_vacuum=INCREMENTAL;" SQLITE_DB_PRAGMAS);
	if (r == 0 && writer)
		r = sqlite_ensure_schema(db, &schema);
	if (r < 0)
		return r;
	if (writer)
		sqlite_db_bound_wal(db, SQLITE_DB_MAX_WAL_BYTES);
	*ret_db = take_ptr(db);
	return 0;
}

static void copy_blob(sqlite3_stmt *row, int column, void *bytes, size_t size)
{
	struct bytes_view blob = sqlite_blob(row, column);

	if (blob.size == size)
		memcpy(bytes, blob.data, size);
}

/* @row has the columns FILE_COLUMNS. */
int debuginfo_db_row(sqlite3_stmt *row, struct stored_file *ret_file)
{
	struct bytes_view identity = sqlite_blob(row, 2);
	int role = sqlite3_column_int(row, 3);
	struct stored_file file = {
		.id = sqlite3_column_int64(row, 0),
		.content = sqlite3_column_int64(row, 7),
		.code_unknown = sqlite3_column_type(row, 6) == SQLITE_NULL,
		.entry = {
			.origin = (enum debuginfo_origin)sqlite3_column_int(row, 4),
			.richness = (enum debuginfo_richness)sqlite3_column_int(row, 5),
			.is_source = role == ROLE_SOURCE,
			.is_split = role == ROLE_SPLIT,
			.has_code = sqlite3_column_int(row, 6) != 0,
			.n_files = 1,
			.uploaded_wall_ns = (uint64_t)sqlite3_column_int64(row, 8),
			.first_used_wall_ns = (uint64_t)sqlite3_column_int64(row, 9),
			.last_used_wall_ns = (uint64_t)sqlite3_column_int64(row, 10),
			.size_bytes = (uint64_t)sqlite3_column_int64(row, 11),
			.stored_bytes = (uint64_t)sqlite3_column_int64(row, 12),
			.generation = (uint64_t)sqlite3_column_int64(row, 0),
		},
	};

	copy_blob(row, 13, file.entry.hash.bytes, sizeof(file.entry.hash.bytes));
	copy_blob(row, 14, file.entry.sha256, sizeof(file.entry.sha256));
	if (executable_id_set(&file.entry.id, (unsigned int)sqlite3_column_int(row, 1),
			      identity.data, identity.size) < 0)
		return -EIO;
	*ret_file = file;
	return 0;
}

int debuginfo_db_best_own(struct sqlite_db *db, const struct debuginfo_key *key,
			  struct stored_file *ret_file)
{
	static const enum debuginfo_statement of_kind[] = {
		[DEBUGINFO_KIND_NAMES] = SQL_FILE_FOR_NAMES,
		[DEBUGINFO_KIND_DEBUGINFO] = SQL_FILE_DEBUGINFO,
		[DEBUGINFO_KIND_EXECUTABLE] = SQL_FILE_EXECUTABLE,
		[DEBUGINFO_KIND_SPLIT] = SQL_FILE_SPLIT,
	};
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	if (key->kind == DEBUGINFO_KIND_SOURCE)
		r = sqlite_query(db, SQL_FILE_SOURCE, &row, SQL_INT(key->id.kind),
				 SQL_BLOB(key->id.bytes, key->id.size), SQL_TEXT(key->path));
	else
		r = sqlite_query(db, of_kind[key->kind], &row, SQL_INT(key->id.kind),
				 SQL_BLOB(key->id.bytes, key->id.size));
	if (r <= 0)
		return r;
	r = debuginfo_db_row(row, ret_file);
	return r < 0 ? r : 1;
}

int debuginfo_db_alias(struct sqlite_db *db, const struct executable_id *htlhash,
		       struct executable_id *ret_id, enum debuginfo_origin *ret_origin)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct bytes_view identity;
	int r;

	if (htlhash->kind != EXECUTABLE_ID_HTLHASH)
		return 0;
	r = sqlite_query(db, SQL_ALIAS_READ, &row, SQL_BLOB(htlhash->bytes, htlhash->size));
	if (r <= 0)
		return r;
	identity = sqlite_blob(row, 1);
	if (executable_id_set(ret_id, (unsigned int)sqlite3_column_int(row, 0), identity.data,
			      identity.size) < 0)
		return -EIO;
	*ret_origin = (enum debuginfo_origin)sqlite3_column_int(row, 2);
	return 1;
}

static bool is_better(const struct debuginfo_entry *a, const struct debuginfo_entry *b)
{
	return a->origin != b->origin ? a->origin > b->origin : a->richness > b->richness;
}

int debuginfo_db_best(struct sqlite_db *db, const struct debuginfo_key *key,
		      struct stored_file *ret_file)
{
	struct debuginfo_key aliased = *key;
	struct stored_file own, other;
	enum debuginfo_origin origin;
	int found, r;

	found = debuginfo_db_best_own(db, key, &own);
	if (found < 0)
		return found;
	r = debuginfo_db_alias(db, &key->id, &aliased.id, &origin);
	if (r > 0)
		r = debuginfo_db_best_own(db, &aliased, &other);
	if (r < 0)
		return r;
	if (r > 0 && (found == 0 || is_better(&other.entry, &own.entry)))
		*ret_file = other;
	else if (found > 0)
		*ret_file = own;
	return found > 0 || r > 0;
}

int debuginfo_db_by_id(struct sqlite_db *db, int64_t id, struct stored_file *ret_file)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(db, SQL_FILE_BY_ID, &row, SQL_INT(id));
	if (r <= 0)
		return r;
	r = debuginfo_db_row(row, ret_file);
	return r < 0 ? r : 1;
}

static int has_files(struct sqlite_db *db, int64_t content)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;

	return sqlite_query(db, SQL_CONTENT_FILES, &row, SQL_INT(content));
}

static int number_of(struct sqlite_db *db, enum debuginfo_statement statement, int64_t id,
		     int64_t *ret_number)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(db, statement, &row, SQL_INT(id));
	if (r > 0)
		*ret_number = sqlite3_column_int64(row, 0);
	return r;
}

int debuginfo_db_remove_content(struct sqlite_db *db, int64_t content)
{
	int64_t stored_bytes = 0;
	int r;

	r = number_of(db, SQL_CONTENT_BYTES, content, &stored_bytes);
	if (r > 0)
		r = sqlite_run(db, SQL_TOTAL_ADD, SQL_INT(-stored_bytes));
	if (r >= 0)
		r = sqlite_run(db, SQL_CHUNKS_REMOVE, SQL_INT(first_chunk_id(content)),
			       SQL_INT(first_chunk_id(content + 1)));
	return r < 0 ? r : sqlite_run(db, SQL_CONTENT_REMOVE, SQL_INT(content));
}

static int read_owner(struct sqlite_db *db, int64_t file, int64_t *ret_content,
		      struct executable_id *ret_id)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct bytes_view identity;
	int r;

	r = sqlite_query(db, SQL_FILE_OWNER, &row, SQL_INT(file));
	if (r <= 0)
		return r;
	identity = sqlite_blob(row, 2);
	r = executable_id_set(ret_id, (unsigned int)sqlite3_column_int(row, 1), identity.data,
			      identity.size);
	*ret_content = sqlite3_column_int64(row, 0);
	return r < 0 ? -EIO : 1;
}

int debuginfo_db_remove_file(struct sqlite_db *db, int64_t file)
{
	struct executable_id id;
	int64_t content = 0;
	int r;

	r = read_owner(db, file, &content, &id);
	if (r <= 0)
		return r;
	r = sqlite_run(db, SQL_FILE_REMOVE, SQL_INT(file));
	if (r == 0)
		r = sqlite_run(db, SQL_ALIAS_CLEAR, SQL_INT(id.kind), SQL_BLOB(id.bytes, id.size));
	if (r == 0)
		r = has_files(db, content);
	return r == 0 ? debuginfo_db_remove_content(db, content) : MIN(r, 0);
}

int debuginfo_db_raise_generation(struct sqlite_db *db, uint64_t *ret_generation)
{
	int r;

	r = sqlite_run(db, SQL_GENERATION_RAISE);
	return r < 0 ? r : debuginfo_db_number(db, SQL_GENERATION, ret_generation);
}

int debuginfo_db_number(struct sqlite_db *db, enum debuginfo_statement statement,
			uint64_t *ret_number)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(db, statement, &row);
	if (r > 0)
		*ret_number = (uint64_t)sqlite3_column_int64(row, 0);
	return r > 0 ? 0 : MIN(r, -EIO);
}
