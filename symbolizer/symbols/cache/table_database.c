/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There is one row per identity. The stored table is its last column, so that reading the other
 * columns does not read it. One connection behind one lock is enough, because a statement reads or
 * writes a few megabytes.
 */

#include "symbolizer/symbols/cache/table_database.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "symbolizer/sqlite/sqlite_schema.h"
#include "symbolizer/symbols/table/symbol_layout.h"

/* Format of the database. */
#define FORMAT 2

#define MAKE_TABLES                                                                                \
	"CREATE TABLE symbol_table(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL,"                 \
	" identity BLOB NOT NULL, main BLOB NOT NULL, executable BLOB NOT NULL,"                   \
	" alt BLOB NOT NULL, alt_kind INTEGER NOT NULL, alt_identity BLOB NOT NULL,"               \
	" split BLOB NOT NULL,"                                                                    \
	" layout INTEGER NOT NULL, outcome INTEGER NOT NULL, deaths INTEGER NOT NULL,"             \
	" tried_ns INTEGER NOT NULL, why TEXT NOT NULL, stored_bytes INTEGER NOT NULL DEFAULT 0,"  \
	" made_ns INTEGER NOT NULL DEFAULT 0, symbol_sources INTEGER NOT NULL DEFAULT 0,"          \
	" functions INTEGER NOT NULL DEFAULT 0, locations INTEGER NOT NULL DEFAULT 0,"             \
	" hash BLOB NOT NULL DEFAULT x'', used_ns INTEGER NOT NULL DEFAULT 0, stored BLOB,"        \
	" UNIQUE(kind, identity));"

/* synchronous=NORMAL may lose the last tables in a power failure; they are compiled again. */
#define PRAGMAS "PRAGMA auto_vacuum=INCREMENTAL;" SQLITE_DB_PRAGMAS "PRAGMA synchronous=NORMAL;"

#define TRY_COLUMNS                                                                                \
	"main, executable, alt, alt_kind, alt_identity, layout, outcome, deaths, tried_ns, why,"   \
	" split"
#define TABLE_COLUMNS "stored_bytes, made_ns, symbol_sources, functions, locations, hash"

/* clang-format off */
#define TABLE_STATEMENTS(X)                                                                        \
	X(FIND, "SELECT id, " TRY_COLUMNS ", " TABLE_COLUMNS                                       \
		" FROM symbol_table WHERE kind = ? AND identity = ?")                              \
	X(LOAD, "SELECT id, used_ns, stored FROM symbol_table"                                     \
		" WHERE kind = ? AND identity = ? AND hash = ?")                                   \
	X(USED, "UPDATE symbol_table SET used_ns = ?2 WHERE id = ?1")                              \
	X(PUT_TRY, "INSERT INTO symbol_table(kind, identity, " TRY_COLUMNS ", used_ns)"            \
		   " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?11)"          \
		   " ON CONFLICT(kind, identity) DO UPDATE SET main = ?3, executable = ?4,"        \
		   " alt = ?5, alt_kind = ?6, alt_identity = ?7, layout = ?8, outcome = ?9,"       \
		   " deaths = ?10, tried_ns = ?11, why = ?12, split = ?13")                   \
	X(PUT_TABLE, "UPDATE symbol_table SET stored_bytes = ?3, made_ns = ?4,"                    \
		     " symbol_sources = ?5, functions = ?6, locations = ?7, hash = ?8,"            \
		     " used_ns = ?4, stored = ?9 WHERE kind = ?1 AND identity = ?2")               \
	X(REMOVE, "DELETE FROM symbol_table WHERE kind = ? AND identity = ?")                      \
	X(BYTES, "SELECT ifnull(sum(stored_bytes), 0) FROM symbol_table")                          \
	X(OLDEST, "SELECT id FROM symbol_table WHERE stored_bytes > 0"                             \
		  " AND NOT (kind = ? AND identity = ?) ORDER BY used_ns LIMIT 1")                 \
	X(REMOVE_ID, "DELETE FROM symbol_table WHERE id = ?")
/* clang-format on */

enum table_statement {
#define X(id, sql) SQL_##id,
	TABLE_STATEMENTS(X)
#undef X
		TABLE_STATEMENT_COUNT,
};

static const char *const statements[] = {
#define X(id, sql) sql,
	TABLE_STATEMENTS(X)
#undef X
};

static_assert(ARRAY_SIZE(statements) == TABLE_STATEMENT_COUNT, "every statement has a row");

/* The time of the last use is written at most this often. */
#define USE_RESOLUTION_NS (3600 * NSEC_PER_SEC)

/* Quota of a database in memory. */
#define MEMORY_QUOTA_BYTES (32 * MIB)

struct table_database {
	const struct clock *clock;
	uint64_t quota_bytes;
	pthread_mutex_t lock;
	struct sqlite_db *db;
};

/* ---- opening -----------------------------------------------------------------------------------
 */

static int make_tables(struct sqlite_db *db, int found, const void *arg)
{
	(void)found;
	(void)arg;
	return sqlite_db_run(db, "DROP TABLE IF EXISTS symbol_table;" MAKE_TABLES);
}

/* Tables of any other format are dropped: see the header. */
static const struct sqlite_schema schema = {
	.version = FORMAT,
	.oldest = INT_MIN,
	.newest = INT_MAX,
	.make = make_tables,
};

static int open_database(const char *path, struct sqlite_db **ret_db)
{
	scoped(sqlite_db_freep) struct sqlite_db *db = NULL;
	int r;

	r = sqlite_db_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, statements,
			   TABLE_STATEMENT_COUNT, &db);
	if (r == 0)
		r = sqlite_db_run(db, PRAGMAS);
	if (r == 0)
		r = sqlite_ensure_schema(db, &schema);
	if (r < 0)
		return r;
	sqlite_db_bound_wal(db, SQLITE_DB_MAX_WAL_BYTES);
	*ret_db = take_ptr(db);
	return 0;
}

static void remove_database(const char *path)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		scoped_free char *name = NULL;

		if (asprintf(&name, "%s%s", path, suffixes[i]) < 0)
			name = NULL;
		else
			(void)unlink(name);
	}
}

static int open_or_replace(struct table_database *database, const char *path)
{
	int r = open_database(path, &database->db);

	if (r == -EUCLEAN) {
		log_warn("'%s' is damaged, symbol tables are compiled again from the debuginfo",
			 path);
		remove_database(path);
		r = open_database(path, &database->db);
	}
	if (r == -ENOSPC || r == -EROFS) {
		log_warn_errno(r,
			       "cannot make '%s', symbol tables are kept in memory and compiled "
			       "again after a restart: %m",
			       path);
		database->quota_bytes = MIN(database->quota_bytes, MEMORY_QUOTA_BYTES);
		r = open_database(":memory:", &database->db);
	}
	return r;
}

int table_database_open(const char *folder, const struct clock *clock, uint64_t quota_bytes,
			struct table_database **ret_database)
{
	scoped(table_database_freep) struct table_database *database = calloc(1, sizeof(*database));
	scoped_free char *path = NULL;
	int r;

	if (!database || asprintf(&path, "%s/symbols.db", folder) < 0)
		return -ENOMEM;
	database->clock = clock;
	database->quota_bytes = quota_bytes;
	(void)pthread_mutex_init(&database->lock, NULL);
	r = open_or_replace(database, path);
	if (r < 0)
		return r;
	*ret_database = take_ptr(database);
	return 0;
}

struct table_database *table_database_free(struct table_database *database)
{
	if (!database)
		return NULL;
	(void)sqlite_db_free(database->db);
	(void)pthread_mutex_destroy(&database->lock);
	free(database);
	return NULL;
}

/* ---- reading -----------------------------------------------------------------------------------
 */

/* The key of a row, as two values of a statement. */
#define SQL_ID(id) SQL_INT((id)->kind), SQL_BLOB((id)->bytes, (id)->size)

static struct hash128 hash_column(sqlite3_stmt *row, int column)
{
	struct bytes_view blob = sqlite_blob(row, column);
	struct hash128 hash = {};

	if (blob.size == sizeof(hash))
		memcpy(&hash, blob.data, sizeof(hash));
	return hash;
}

/* Columns as in FIND. */
static void read_row(sqlite3_stmt *row, struct stored_table *ret_table)
{
	struct bytes_view alt_id = sqlite_blob(row, 5);

	*ret_table = (struct stored_table){
		.number = sqlite3_column_int64(row, 0),
		.inputs = { .main = hash_column(row, 1),
			    .executable = hash_column(row, 2),
			    .alt = hash_column(row, 3),
			    .split = hash_column(row, 11) },
		.layout_version = (uint32_t)sqlite3_column_int64(row, 6),
		.outcome = (enum helper_outcome)sqlite3_column_int(row, 7),
		.n_deaths = (uint32_t)sqlite3_column_int64(row, 8),
		.tried_wall_ns = (uint64_t)sqlite3_column_int64(row, 9),
		.stored_bytes = (uint64_t)sqlite3_column_int64(row, 12),
		.made_wall_ns = (uint64_t)sqlite3_column_int64(row, 13),
		.symbol_sources = (uint32_t)sqlite3_column_int64(row, 14),
		.n_functions = (uint32_t)sqlite3_column_int64(row, 15),
		.n_locations = (uint32_t)sqlite3_column_int64(row, 16),
		.hash = hash_column(row, 17),
	};
	(void)executable_id_set(&ret_table->alt_id, (unsigned int)sqlite3_column_int(row, 4),
				alt_id.data, alt_id.size);
	(void)snprintf(ret_table->why, sizeof(ret_table->why), "%s", sqlite_text(row, 10));
}

static int find(struct table_database *database, const struct executable_id *id,
		struct stored_table *ret_table)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(database->db, SQL_FIND, &row, SQL_ID(id));

	if (r > 0)
		read_row(row, ret_table);
	return r;
}

int table_database_find(struct table_database *database, const struct executable_id *id,
			struct stored_table *ret_table)
{
	int r;

	(void)pthread_mutex_lock(&database->lock);
	r = find(database, id, ret_table);
	(void)pthread_mutex_unlock(&database->lock);
	return r;
}

static int load(struct table_database *database, const struct executable_id *id,
		const struct hash128 *hash, struct bytes *out)
{
	const uint64_t now_ns = clock_wall_ns(database->clock);
	uint64_t used_ns = 0;
	int64_t number = 0;
	int r;

	{
		scoped(sqlite_resetp) sqlite3_stmt *row = NULL;

		r = sqlite_query(database->db, SQL_LOAD, &row, SQL_ID(id),
				 SQL_BLOB(hash->bytes, sizeof(hash->bytes)));
		if (r > 0) {
			struct bytes_view stored = sqlite_blob(row, 2);

			number = sqlite3_column_int64(row, 0);
			used_ns = (uint64_t)sqlite3_column_int64(row, 1);
			r = bytes_append(out, stored.data, stored.size);
			r = r < 0 ? r : 1;
		}
	}
	/* An error is ignored: on a full disk only the order of use gets stale. */
	if (r > 0 && now_ns > used_ns + USE_RESOLUTION_NS)
		(void)sqlite_run(database->db, SQL_USED, SQL_INT(number), SQL_INT(now_ns));
	return r;
}

int table_database_load(struct table_database *database, const struct executable_id *id,
			const struct hash128 *hash, struct bytes *out)
{
	int r;

	(void)pthread_mutex_lock(&database->lock);
	r = load(database, id, hash, out);
	(void)pthread_mutex_unlock(&database->lock);
	return r;
}

/* ---- writing -----------------------------------------------------------------------------------
 */

static int put_try(struct table_database *database, const struct executable_id *id,
		   const struct stored_table *table)
{
	const struct input_hashes *inputs = &table->inputs;

	return sqlite_run(database->db, SQL_PUT_TRY, SQL_ID(id), SQL_BLOB(inputs->main.bytes, 16),
			  SQL_BLOB(inputs->executable.bytes, 16), SQL_BLOB(inputs->alt.bytes, 16),
			  SQL_ID(&table->alt_id), SQL_INT(table->layout_version),
			  SQL_INT(table->outcome), SQL_INT(table->n_deaths),
			  SQL_INT(table->tried_wall_ns), SQL_TEXT(table->why),
			  SQL_BLOB(inputs->split.bytes, 16));
}

static int total_bytes(struct table_database *database, uint64_t *ret_bytes)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query_values(database->db, SQL_BYTES, NULL, 0, &row);

	if (r > 0)
		*ret_bytes = (uint64_t)sqlite3_column_int64(row, 0);
	return MIN(r, 0);
}

/* Removes the least recently used table, except @id's. Returns 1, or 0 if there is no other. */
static int remove_oldest(struct table_database *database, const struct executable_id *id)
{
	int64_t number;
	int r;

	{
		scoped(sqlite_resetp) sqlite3_stmt *row = NULL;

		r = sqlite_query(database->db, SQL_OLDEST, &row, SQL_ID(id));
		if (r <= 0)
			return r;
		number = sqlite3_column_int64(row, 0);
	}
	r = sqlite_run(database->db, SQL_REMOVE_ID, SQL_INT(number));
	return r < 0 ? r : 1;
}

static int keep_quota(struct table_database *database, const struct executable_id *id)
{
	uint64_t bytes = 0;
	int r;

	do {
		r = total_bytes(database, &bytes);
		if (r < 0 || bytes <= database->quota_bytes)
			return r;
		r = remove_oldest(database, id);
	} while (r > 0);
	return r;
}

static int put_table(struct table_database *database, const struct executable_id *id,
		     const struct stored_table *table, struct bytes_view stored)
{
	int r;

	r = sqlite_begin(database->db);
	if (r < 0)
		return r;
	r = put_try(database, id, table);
	if (r == 0)
		r = sqlite_run(database->db, SQL_PUT_TABLE, SQL_ID(id),
			       SQL_INT(table->stored_bytes), SQL_INT(table->made_wall_ns),
			       SQL_INT(table->symbol_sources), SQL_INT(table->n_functions),
			       SQL_INT(table->n_locations),
			       SQL_BLOB(table->hash.bytes, sizeof(table->hash.bytes)),
			       SQL_BLOB(stored.data, stored.size));
	if (r == 0)
		r = keep_quota(database, id);
	if (r == 0)
		return sqlite_commit(database->db);
	sqlite_rollback(database->db);
	return r;
}

int table_database_put(struct table_database *database, const struct executable_id *id,
		       struct stored_table *table, struct bytes_view stored)
{
	int r;

	table->hash = hash128_of(stored.data, stored.size);
	table->stored_bytes = stored.size;
	table->made_wall_ns = table->tried_wall_ns;
	(void)pthread_mutex_lock(&database->lock);
	r = put_table(database, id, table, stored);
	/* Returns at most 4096 free pages to the file system, because all of them may take long. */
	if (r == 0)
		(void)sqlite_db_run(database->db, "PRAGMA incremental_vacuum(4096)");
	(void)pthread_mutex_unlock(&database->lock);
	return r;
}

int table_database_put_failure(struct table_database *database, const struct executable_id *id,
			       const struct stored_table *failure)
{
	int r;

	(void)pthread_mutex_lock(&database->lock);
	r = put_try(database, id, failure);
	(void)pthread_mutex_unlock(&database->lock);
	return r;
}

int table_database_remove(struct table_database *database, const struct executable_id *id)
{
	int r;

	(void)pthread_mutex_lock(&database->lock);
	r = sqlite_run(database->db, SQL_REMOVE, SQL_ID(id));
	if (r == 0)
		r = sqlite3_changes(database->db->handle) > 0;
	(void)pthread_mutex_unlock(&database->lock);
	return r;
}

uint64_t table_database_bytes(struct table_database *database)
{
	uint64_t bytes = 0;

	(void)pthread_mutex_lock(&database->lock);
	if (total_bytes(database, &bytes) < 0)
		bytes = 0;
	(void)pthread_mutex_unlock(&database->lock);
	return bytes;
}
