/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes on the tables: text_set has the sets that many processes or series share (mapped paths,
 * labels), each once. A stack is a leaf in the prefix tree of nodes, and the parent of a node has a
 * smaller ID. "frame" is kind | object << 8; an object is the ID of an executable, or with
 * FRAME_CODE_OBJECT of a code_object. The "address" of a KERNEL_NAMED frame is the ID of its
 * named_frame. The unique index of process begins with the name, because queries search by it.
 * event_type has the types that are not in common/event_type.h.
 *
 * Executables, code objects, event types and named frames belong to a tenant, and so do the stacks
 * and series that refer to them: a definition by an agent of one tenant must not rename an
 * executable of another.
 */

#include "symbolizer/store/sqlite/schema.h"

#include <stdio.h>
#include <time.h>

#include "common/hash.h"
#include "common/log.h"
#include "symbolizer/sqlite/sqlite_schema.h"

/* Formats of the files (SQLite's user_version). */
#define HEARTH_FORMAT 3
#define DAY_FORMAT    2

/* In KiB. New stacks change pages all over the index of their hashes, which are random. */
#define WRITER_CACHE "PRAGMA cache_size=-32768;"

/* In KiB. A query reads the nodes of thousands of stacks, which are spread over the file. */
#define READER_PRAGMAS "PRAGMA query_only=1; PRAGMA cache_size=-16384;"

/* Tables of which format 3 changed the columns. */
#define SERIES_TABLE                                                                               \
	"CREATE TABLE series(id INTEGER PRIMARY KEY, process INTEGER NOT NULL,"                    \
	" type INTEGER NOT NULL, tid INTEGER NOT NULL, cpu INTEGER NOT NULL,"                      \
	" period_ns INTEGER NOT NULL, thread_name TEXT NOT NULL, host INTEGER NOT NULL,"           \
	" labels INTEGER NOT NULL,"                                                                \
	" UNIQUE(process, type, tid, cpu, period_ns, thread_name, labels));"                       \
	"CREATE INDEX series_type ON series(type);"

#define NODE_TABLE                                                                                 \
	"CREATE TABLE node(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL,"                       \
	" frame INTEGER NOT NULL, address INTEGER NOT NULL, UNIQUE(parent, frame, address));"

/* Tables that format 3 added. */
#define FORMAT_3_TABLES                                                                            \
	"CREATE TABLE code_object(id INTEGER PRIMARY KEY, tenant INTEGER NOT NULL,"                \
	" hash BLOB NOT NULL, language TEXT NOT NULL, function TEXT NOT NULL,"                     \
	" qualified_name TEXT NOT NULL, file TEXT NOT NULL, first_line INTEGER NOT NULL,"          \
	" line_table BLOB NOT NULL, UNIQUE(tenant, hash));"                                        \
	"CREATE TABLE event_type(id INTEGER PRIMARY KEY, tenant INTEGER NOT NULL,"                 \
	" name TEXT NOT NULL, unit TEXT NOT NULL, kind INTEGER NOT NULL, UNIQUE(tenant, name));"

/*
 * Format 2 has frame = kind | executable << 3 in nodes, and series without labels. Rows are copied,
 * because an update in place would violate the unique index of node for a moment.
 */
static const char convert_from_2[] =
	"ALTER TABLE node RENAME TO old_node;" NODE_TABLE
	"INSERT INTO node SELECT id, parent, (frame & 7) | ((frame >> 3) << 8), address"
	" FROM old_node ORDER BY id;"
	"DROP TABLE old_node;"
	"ALTER TABLE series RENAME TO old_series; DROP INDEX series_type;" SERIES_TABLE
	"INSERT INTO series SELECT id, process, type, tid, cpu, period_ns, thread_name, host, 0"
	" FROM old_series ORDER BY id;"
	"DROP TABLE old_series;" FORMAT_3_TABLES;

static const char hearth_tables[] =
	"CREATE TABLE identity(store BLOB NOT NULL);"
	"INSERT INTO identity(store) VALUES(randomblob(16));"
	"CREATE TABLE tenant(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
	"CREATE TABLE host(id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, agent BLOB NOT NULL,"
	" name TEXT NOT NULL, attributes BLOB NOT NULL, first_seen_ns INTEGER NOT NULL,"
	" last_seen_ns INTEGER NOT NULL, UNIQUE(tenant, agent));"
	"CREATE TABLE epoch(id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, agent BLOB NOT NULL,"
	" epoch INTEGER NOT NULL, last_seen_ns INTEGER NOT NULL, UNIQUE(tenant, agent, epoch));"
	"CREATE INDEX epoch_seen ON epoch(last_seen_ns);"
	"CREATE TABLE number(epoch INTEGER NOT NULL, what INTEGER NOT NULL,"
	" number INTEGER NOT NULL, id INTEGER NOT NULL, sequence INTEGER NOT NULL,"
	" PRIMARY KEY(epoch, what, number)) WITHOUT ROWID;"
	"CREATE TABLE executable(id INTEGER PRIMARY KEY, tenant INTEGER NOT NULL,"
	" kind INTEGER NOT NULL, identity BLOB NOT NULL, name TEXT NOT NULL,"
	" role INTEGER NOT NULL, segments BLOB NOT NULL, UNIQUE(tenant, kind, identity));"
	"CREATE TABLE text_set(id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE,"
	" content BLOB NOT NULL);"
	"CREATE TABLE process(id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
	" host INTEGER NOT NULL, pid INTEGER NOT NULL, start_time_ns INTEGER NOT NULL,"
	" main_executable INTEGER NOT NULL, parent_pid INTEGER NOT NULL, flags INTEGER NOT NULL,"
	" executable_path TEXT NOT NULL, paths INTEGER NOT NULL, labels INTEGER NOT NULL,"
	" UNIQUE(name, host, pid, start_time_ns, main_executable));" SERIES_TABLE FORMAT_3_TABLES
	"CREATE TABLE label_name(tenant INTEGER NOT NULL, name TEXT NOT NULL,"
	" PRIMARY KEY(tenant, name)) WITHOUT ROWID;" NODE_TABLE
	"CREATE TABLE stack(id INTEGER PRIMARY KEY, leaf INTEGER NOT NULL,"
	" cut INTEGER NOT NULL);"
	"CREATE TABLE stack_hash(tenant INTEGER NOT NULL, hash BLOB NOT NULL,"
	" stack INTEGER NOT NULL, PRIMARY KEY(tenant, hash)) WITHOUT ROWID;"
	"CREATE TABLE named_frame(id INTEGER PRIMARY KEY, tenant INTEGER NOT NULL,"
	" key INTEGER NOT NULL, name TEXT NOT NULL, UNIQUE(tenant, key));";

static const char day_tables[] =
	"CREATE TABLE total(n_batches INTEGER NOT NULL, n_rows INTEGER NOT NULL,"
	" max_span INTEGER NOT NULL, store BLOB NOT NULL);"
	"CREATE TABLE sender(id INTEGER PRIMARY KEY, agent BLOB NOT NULL,"
	" epoch INTEGER NOT NULL, tenant TEXT NOT NULL, host INTEGER NOT NULL, UNIQUE(agent,"
	" epoch, tenant));"
	"CREATE INDEX sender_host ON sender(host);"
	"CREATE TABLE block(id INTEGER PRIMARY KEY, sender INTEGER NOT NULL,"
	" sequence INTEGER NOT NULL, opened_ns INTEGER NOT NULL, closed_ns INTEGER NOT NULL,"
	" min_slot INTEGER NOT NULL, max_slot INTEGER NOT NULL, n_rows INTEGER NOT NULL,"
	" n_without_series INTEGER NOT NULL, counters BLOB NOT NULL, content BLOB NOT NULL);"
	"CREATE UNIQUE INDEX block_key ON block(sender, sequence);"
	"CREATE INDEX block_slots ON block(sender, max_slot, min_slot);"
	/* Files of earlier versions lack this index: their coverage is read without it. */
	"CREATE INDEX block_times ON block(sender, closed_ns, opened_ns);"
	"CREATE TABLE activity(series INTEGER PRIMARY KEY, first_slot INTEGER NOT NULL,"
	" last_slot INTEGER NOT NULL);";

/* In format 1, counters are texts in the blocks up to counter_text.last_block (codec.h). */
static const char day_counter_tables[] =
	"CREATE TABLE counter_name(id INTEGER PRIMARY KEY, tenant TEXT NOT NULL,"
	" name TEXT NOT NULL, UNIQUE(tenant, name));"
	"CREATE TABLE counter_minute(id INTEGER PRIMARY KEY, batches BLOB NOT NULL);"
	"CREATE TABLE counter_text(last_block INTEGER NOT NULL);"
	"INSERT INTO counter_text SELECT coalesce(max(id), 0) FROM block;";

static const char *const hearth_statements[] = {
#define X(id, sql) sql,
	HEARTH_STATEMENTS(X)
#undef X
};

static const char *const day_statements[] = {
#define X(id, sql) sql,
	DAY_STATEMENTS(X)
#undef X
};

static_assert(ARRAY_SIZE(hearth_statements) == HEARTH_STATEMENT_COUNT, "every statement has a row");
static_assert(ARRAY_SIZE(day_statements) == DAY_STATEMENT_COUNT, "every statement has a row");

void day_file_name(day_number day, char ret_name[DAY_FILE_NAME_SIZE])
{
	time_t seconds = (time_t)day * 24 * 3600;
	struct tm date = {};

	(void)gmtime_r(&seconds, &date);
	(void)strftime(ret_name, DAY_FILE_NAME_SIZE, "samples-%Y-%m-%d.db", &date);
}

bool day_file_parse(const char *name, day_number *ret_day)
{
	struct tm date = {};
	char again[DAY_FILE_NAME_SIZE];
	const char *end = strptime(name, "samples-%Y-%m-%d.db", &date);
	time_t seconds;

	if (!end || *end)
		return false;
	seconds = timegm(&date);
	if (seconds < 0)
		return false;
	/* strptime() accepts "2026-1-1" and 31 February too. */
	day_file_name((day_number)(seconds / (24 * 3600)), again);
	if (strcmp(name, again) != 0)
		return false;
	*ret_day = (day_number)(seconds / (24 * 3600));
	return true;
}

static int rename_in(const char *folder, const char *from, const char *to)
{
	scoped_free char *from_path = NULL;
	scoped_free char *to_path = NULL;

	if (asprintf(&from_path, "%s/%s", folder, from) < 0 ||
	    asprintf(&to_path, "%s/%s", folder, to) < 0)
		return -ENOMEM;
	return rename(from_path, to_path) < 0 && errno != ENOENT ? -errno : 0;
}

int day_samples_set_aside(const char *folder, day_number day, uint64_t wall_ns,
			  char ret_name[DAY_FILE_ASIDE_SIZE])
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	char name[DAY_FILE_NAME_SIZE], aside[DAY_FILE_ASIDE_SIZE];
	int r = 0;

	day_file_name(day, name);
	(void)snprintf(aside, sizeof(aside), "%s.damaged-%llu", name,
		       (unsigned long long)(wall_ns / NSEC_PER_SEC));
	for (size_t i = 0; i < ARRAY_SIZE(suffixes) && r == 0; i++) {
		char from[DAY_FILE_NAME_SIZE + 8], to[DAY_FILE_ASIDE_SIZE + 8];

		(void)snprintf(from, sizeof(from), "%s%s", name, suffixes[i]);
		(void)snprintf(to, sizeof(to), "%s%s", aside, suffixes[i]);
		r = rename_in(folder, from, to);
	}
	if (r < 0)
		return r;
	memcpy(ret_name, aside, sizeof(aside));
	return 0;
}

static int make_hearth_tables(struct sqlite_db *db, int found, const void *arg)
{
	(void)arg;
	if (found == 0)
		return sqlite_db_run(db, hearth_tables);
	if (found != HEARTH_FORMAT - 1)
		return -ENOTSUP;
	log_info("converting '%s' from format %d to %d, which takes about a minute per gigabyte",
		 sqlite3_db_filename(db->handle, "main"), found, HEARTH_FORMAT);
	return sqlite_db_run(db, convert_from_2);
}

static int make_day_tables(struct sqlite_db *db, int found, const void *arg)
{
	const struct store_identity *identity = arg;
	char hex[2 * sizeof(identity->bytes) + 1];
	char add_total[128];
	int r = 0;

	if (found == 0)
		r = sqlite_db_run(db, day_tables);
	if (r == 0)
		r = sqlite_db_run(db, day_counter_tables);
	if (r < 0 || found != 0)
		return r;
	hex_encode(identity->bytes, sizeof(identity->bytes), hex);
	(void)snprintf(add_total, sizeof(add_total), "INSERT INTO total VALUES(0, 0, 0, x'%s')",
		       hex);
	return sqlite_db_run(db, add_total);
}

static int open_file(const char *path, bool writer, const char *const *sql,
		     unsigned int n_statements, struct sqlite_db **ret_db)
{
	int flags = SQLITE_OPEN_READWRITE | (writer ? SQLITE_OPEN_CREATE : 0);
	int r;

	r = sqlite_db_open(path, flags, sql, n_statements, ret_db);
	if (r < 0)
		return r;
	/* Readers open read-write too: the first connection after a crash recovers the WAL. */
	r = sqlite_db_run(*ret_db, writer ? SQLITE_DB_PRAGMAS WRITER_CACHE : READER_PRAGMAS);
	if (r == 0 && writer)
		sqlite_db_bound_wal(*ret_db, SQLITE_DB_MAX_WAL_BYTES);
	return r;
}

int hearth_db_open(const char *folder, bool writer, struct sqlite_db **ret_db)
{
	static const struct sqlite_schema schema = {
		.version = HEARTH_FORMAT,
		.newest = HEARTH_FORMAT - 1,
		.make = make_hearth_tables,
	};
	scoped(sqlite_db_freep) struct sqlite_db *db = NULL;
	scoped_free char *path = NULL;
	int r;

	if (asprintf(&path, "%s/hearth.db", folder) < 0)
		return -ENOMEM;
	r = open_file(path, writer, hearth_statements, HEARTH_STATEMENT_COUNT, &db);
	if (r == 0 && writer)
		r = sqlite_ensure_schema(db, &schema);
	if (r < 0)
		return r;
	*ret_db = take_ptr(db);
	return 0;
}

int hearth_db_identity(struct sqlite_db *db, struct store_identity *ret_identity)
{
	sqlite3_stmt *row = NULL;
	int r = -EIO;

	if (sqlite3_prepare_v2(db->handle, "SELECT store FROM identity", -1, &row, NULL) !=
	    SQLITE_OK)
		return sqlite_db_error(db, sqlite3_extended_errcode(db->handle));
	if (sqlite_step(db, row) > 0 && sqlite_blob(row, 0).size == sizeof(ret_identity->bytes)) {
		memcpy(ret_identity->bytes, sqlite_blob(row, 0).data, sizeof(ret_identity->bytes));
		r = 0;
	}
	(void)sqlite3_finalize(row);
	return r;
}

static int check_identity(struct sqlite_db *db, const struct store_identity *identity)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct bytes_view store;
	int r;

	r = sqlite_query(db, SQL_TOTAL_LOAD, &row);
	if (r <= 0)
		return r < 0 ? r : -EIO;
	store = sqlite_blob(row, 3);
	if (store.size != sizeof(identity->bytes) ||
	    memcmp(store.data, identity->bytes, store.size) != 0)
		return log_error_errno(
			ESTALE,
			"'%s' belongs to another hearth.db, its IDs have other meanings there:"
			" move it away, or restore its hearth.db: %m",
			sqlite3_db_filename(db->handle, "main"));
	return 0;
}

int day_db_open(const char *folder, day_number day, bool writer,
		const struct store_identity *identity, struct sqlite_db **ret_db)
{
	const struct sqlite_schema schema = {
		.version = DAY_FORMAT,
		.newest = DAY_FORMAT - 1,
		.make = make_day_tables,
		.arg = identity,
	};
	scoped(sqlite_db_freep) struct sqlite_db *db = NULL;
	char name[DAY_FILE_NAME_SIZE];
	scoped_free char *path = NULL;
	int r;

	day_file_name(day, name);
	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return -ENOMEM;
	r = open_file(path, writer, day_statements, DAY_STATEMENT_COUNT, &db);
	if (r == 0 && writer)
		r = sqlite_ensure_schema(db, &schema);
	if (r == 0)
		r = check_identity(db, identity);
	if (r < 0)
		return r;
	*ret_db = take_ptr(db);
	return 0;
}

int day_db_total(struct sqlite_db *db, struct day_total *ret_total)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(db, SQL_TOTAL_LOAD, &row);
	if (r <= 0)
		return r < 0 ? r : -EIO;
	*ret_total = (struct day_total){
		.n_batches = (uint64_t)sqlite3_column_int64(row, 0),
		.n_rows = (uint64_t)sqlite3_column_int64(row, 1),
		.max_span = (uint64_t)sqlite3_column_int64(row, 2),
	};
	return 0;
}
