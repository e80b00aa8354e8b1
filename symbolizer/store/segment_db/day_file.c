/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index and the blobs are two tables: a query reads the index of many segments, and the blobs
 * of few.
 */

#include "symbolizer/store/segment_db/day_file.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "common/arena.h"
#include "common/log.h"
#include "symbolizer/sqlite/sqlite_schema.h"

#define DAY_FILE_FORMAT 1

#define NAME_FORMAT "segments-%04d-%02d-%02d.db"

/* Has an effect only before the first table is created. */
static const char create_pragmas[] = "PRAGMA auto_vacuum=INCREMENTAL;";

static const char day_tables[] =
	"CREATE TABLE segment(id INTEGER PRIMARY KEY, flush INTEGER NOT NULL,"
	" tenant TEXT NOT NULL, service TEXT NOT NULL, event TEXT NOT NULL, unit TEXT NOT NULL,"
	" event_kind INTEGER NOT NULL, kind INTEGER NOT NULL, first_slot INTEGER NOT NULL,"
	" last_slot INTEGER NOT NULL, n_hosts INTEGER NOT NULL, n_rows INTEGER NOT NULL,"
	" n_bytes INTEGER NOT NULL, memory_bytes INTEGER NOT NULL,"
	" without_stacks INTEGER NOT NULL, samples_removed INTEGER NOT NULL DEFAULT 0);"
	"CREATE INDEX segment_service ON segment(tenant, service);"
	"CREATE INDEX segment_event ON segment(tenant, event, last_slot);"
	"CREATE INDEX segment_flush ON segment(flush);"
	"CREATE TABLE content(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);"
	"CREATE TABLE run(id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, agent BLOB NOT NULL,"
	" epoch INTEGER NOT NULL, UNIQUE(tenant, agent, epoch));"
	"CREATE TABLE batch_block(id INTEGER PRIMARY KEY, flush INTEGER NOT NULL,"
	" run INTEGER NOT NULL, opened_ms INTEGER NOT NULL, closed_ms INTEGER NOT NULL,"
	" n_batches INTEGER NOT NULL, is_merged INTEGER NOT NULL, times BLOB NOT NULL,"
	" counters BLOB NOT NULL);"
	"CREATE INDEX batch_block_run ON batch_block(run, closed_ms);"
	"CREATE INDEX batch_block_flush ON batch_block(flush);"
	"CREATE INDEX batch_block_unmerged ON batch_block(run, closed_ms) WHERE is_merged = 0;"
	"CREATE TABLE counter_name(tenant TEXT NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL,"
	" PRIMARY KEY(tenant, id)) WITHOUT ROWID;"
	"CREATE TABLE label_name(tenant TEXT NOT NULL, name TEXT NOT NULL,"
	" PRIMARY KEY(tenant, name)) WITHOUT ROWID;"
	"CREATE TABLE executable(tenant TEXT NOT NULL, class INTEGER NOT NULL, id BLOB NOT NULL,"
	" name TEXT NOT NULL, role INTEGER NOT NULL, path TEXT NOT NULL,"
	" PRIMARY KEY(tenant, class, id)) WITHOUT ROWID;";

static const char *const day_statements[] = {
#define X(id, sql) sql,
	DAY_FILE_STATEMENTS(X)
#undef X
};

void day_file_name_of(segment_day day, char ret_name[DAY_FILE_NAME_BYTES])
{
	time_t time = (time_t)day * 24 * 3600;
	struct tm tm;

	(void)gmtime_r(&time, &tm);
	(void)snprintf(ret_name, DAY_FILE_NAME_BYTES, NAME_FORMAT, tm.tm_year + 1900, tm.tm_mon + 1,
		       tm.tm_mday);
}

static char *path_of(const char *folder, segment_day day, const char *suffix)
{
	char name[DAY_FILE_NAME_BYTES];
	char *path;

	day_file_name_of(day, name);
	return asprintf(&path, "%s/%s%s", folder, name, suffix) < 0 ? NULL : path;
}

static bool parse_name(const char *name, segment_day *ret_day)
{
	struct tm tm = {};
	char expected[DAY_FILE_NAME_BYTES];
	segment_day day;
	time_t time;

	if (sscanf(name, "segments-%4d-%2d-%2d.db", &tm.tm_year, &tm.tm_mon, &tm.tm_mday) != 3)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	time = timegm(&tm);
	if (time < 0)
		return false;
	day = (segment_day)(time / (24 * 3600));
	day_file_name_of(day, expected);
	if (strcmp(name, expected) != 0)
		return false;
	*ret_day = day;
	return true;
}

static int compare_days(const void *a, const void *b)
{
	segment_day left = *(const segment_day *)a, right = *(const segment_day *)b;

	return (left > right) - (left < right);
}

int day_files_list(const char *folder, struct segment_days *days)
{
	DIR *entries = opendir(folder);
	const struct dirent *entry;
	segment_day day;
	int r = 0;

	if (!entries)
		return -errno;
	while (r == 0 && (entry = readdir(entries)))
		if (parse_name(entry->d_name, &day))
			r = vec_push(days, day);
	(void)closedir(entries);
	if (r == 0 && days->count > 0)
		qsort(days->items, days->count, sizeof(*days->items), compare_days);
	return r;
}

static int make_tables(struct sqlite_db *db, int found, const void *arg)
{
	(void)found;
	(void)arg;
	return sqlite_db_run(db, day_tables);
}

/* 1, or 0: the file has no tables, because the disk was full when it was created. */
static int prepare_reading(struct sqlite_db *db)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_db_run(db, "PRAGMA query_only=1;");

	/* The file may be removed meanwhile: closing must not delete the WAL by its name. */
	(void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	if (r == 0)
		r = sqlite_query_values(db, DAY_SQL_FORMAT, NULL, 0, &row);
	if (r <= 0 || sqlite3_column_int(row, 0) == 0)
		return r < 0 ? r : 0;
	return sqlite3_column_int(row, 0) == DAY_FILE_FORMAT ? 1 : -ENOTSUP;
}

static int prepare_writing(struct sqlite_db *db)
{
	static const struct sqlite_schema schema = { .version = DAY_FILE_FORMAT,
						     .make = make_tables };
	int r = sqlite_db_run(db, create_pragmas);

	if (r == 0)
		r = sqlite_db_run(db, SQLITE_DB_PRAGMAS);
	if (r == 0)
		r = sqlite_ensure_schema(db, &schema);
	if (r < 0)
		return r;
	sqlite_db_bound_wal(db, SQLITE_DB_MAX_WAL_BYTES);
	return 1;
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0 || errno != ENOENT;
}

int day_file_open(const char *folder, segment_day day, enum day_file_mode mode,
		  struct sqlite_db **ret_db)
{
	scoped(sqlite_db_freep) struct sqlite_db *db = NULL;
	scoped_free char *path = path_of(folder, day, "");
	int flags = SQLITE_OPEN_READWRITE;
	int r;

	if (!path)
		return -ENOMEM;
	if (mode == DAY_FILE_CREATE)
		flags |= SQLITE_OPEN_CREATE;
	else if (!exists(path))
		return 0;
	r = sqlite_db_open(path, flags, day_statements, DAY_FILE_STATEMENT_COUNT, &db);
	if (r == 0)
		r = mode == DAY_FILE_READ ? prepare_reading(db) : prepare_writing(db);
	/* It was removed meanwhile. */
	if (r < 0 && mode == DAY_FILE_READ && !exists(path))
		return 0;
	if (r > 0)
		*ret_db = take_ptr(db);
	return r;
}

static const char *const suffixes[] = { "", "-wal", "-shm" };

int day_file_remove(const char *folder, segment_day day)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(suffixes) && r == 0; i++) {
		scoped_free char *path = path_of(folder, day, suffixes[i]);

		if (!path)
			return -ENOMEM;
		if (unlink(path) < 0 && errno != ENOENT)
			r = -errno;
	}
	return r;
}

int day_file_set_aside(const char *folder, segment_day day, uint64_t wall_ns)
{
	scoped_free char *from = path_of(folder, day, "");
	int r = from ? 0 : -ENOMEM;

	for (size_t i = 0; i < ARRAY_SIZE(suffixes) && r == 0; i++) {
		scoped_free char *path = path_of(folder, day, suffixes[i]);
		scoped_free char *aside = NULL;

		if (!path ||
		    asprintf(&aside, "%s.damaged-%" PRIu64 "%s", from, wall_ns, suffixes[i]) < 0)
			return -ENOMEM;
		if (rename(path, aside) < 0 && errno != ENOENT)
			r = -errno;
	}
	if (r < 0)
		return log_error_errno(r, "cannot rename the damaged file '%s': %m", from);
	log_error("'%s' is damaged: it was renamed, and its samples are not shown", from);
	return 0;
}

uint64_t day_file_bytes(const char *folder, segment_day day)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		scoped_free char *path = path_of(folder, day, suffixes[i]);
		struct stat status;

		if (path && stat(path, &status) == 0)
			bytes += (uint64_t)status.st_blocks * 512;
	}
	return bytes;
}

int day_file_add(struct sqlite_db *db, const struct segment_info *info, struct bytes_view content)
{
	int r = sqlite_run(db, DAY_SQL_ADD, SQL_INT(info->flush), SQL_TEXT(info->tenant),
			   SQL_TEXT(info->service), SQL_TEXT(info->event), SQL_TEXT(info->unit),
			   SQL_INT(info->event_kind), SQL_INT(info->kind),
			   SQL_INT(info->first_slot), SQL_INT(info->last_slot),
			   SQL_INT(info->n_hosts), SQL_INT(info->n_rows), SQL_INT(content.size),
			   SQL_INT(info->memory_bytes), SQL_INT(info->without_stacks));

	if (r < 0)
		return r;
	return sqlite_run(db, DAY_SQL_ADD_CONTENT, SQL_INT(sqlite_last_id(db)),
			  SQL_BLOB(content.data, content.size));
}

int day_file_delete(struct sqlite_db *db, uint64_t id)
{
	int r = sqlite_run(db, DAY_SQL_DELETE_CONTENT, SQL_INT(id));

	return r < 0 ? r : sqlite_run(db, DAY_SQL_DELETE, SQL_INT(id));
}

int day_file_delete_later(struct sqlite_db *db, uint64_t flush)
{
	int r = sqlite_run(db, DAY_SQL_DELETE_LATER_CONTENT, SQL_INT(flush));

	if (r == 0)
		r = sqlite_run(db, DAY_SQL_DELETE_LATER, SQL_INT(flush));
	return r < 0 ? r : sqlite_run(db, DAY_SQL_BLOCK_DELETE_LATER, SQL_INT(flush));
}

int day_file_max_flush(struct sqlite_db *db, uint64_t *ret_flush)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query_values(db, DAY_SQL_MAX_FLUSH, NULL, 0, &row);

	if (r <= 0)
		return r < 0 ? r : -EUCLEAN;
	*ret_flush = (uint64_t)sqlite3_column_int64(row, 0);
	return 0;
}

static const char *copy_column(sqlite3_stmt *row, int column, struct arena *arena)
{
	const char *text = sqlite_text(row, column);

	return arena_copy_text(arena, text, strlen(text));
}

static uint64_t integer(sqlite3_stmt *row, int column)
{
	return (uint64_t)sqlite3_column_int64(row, column);
}

/* The order of SEGMENT_COLUMNS. */
static int read_info(sqlite3_stmt *row, struct arena *arena, struct segment_info *ret_info)
{
	*ret_info = (struct segment_info){
		.id = integer(row, 0),
		.flush = integer(row, 1),
		.tenant = copy_column(row, 2, arena),
		.service = copy_column(row, 3, arena),
		.event = copy_column(row, 4, arena),
		.unit = copy_column(row, 5, arena),
		.event_kind = (enum event_value_kind)integer(row, 6),
		.kind = (enum segment_kind)integer(row, 7),
		.first_slot = integer(row, 8),
		.last_slot = integer(row, 9),
		.n_hosts = integer(row, 10),
		.n_rows = integer(row, 11),
		.n_bytes = integer(row, 12),
		.memory_bytes = integer(row, 13),
		.without_stacks = integer(row, 14) != 0,
		.samples_removed = integer(row, 15) != 0,
	};
	return ret_info->tenant && ret_info->service && ret_info->event && ret_info->unit ? 0
											  : -ENOMEM;
}

static int start_find(struct sqlite_db *db, const struct day_file_query *query,
		      sqlite3_stmt **ret_row)
{
	/* SQLite's integers are signed. */
	const struct sqlite_value values[] = {
		SQL_INT(query->last_flush),
		SQL_INT(MIN(query->from_slot, (uint64_t)INT64_MAX)),
		SQL_INT(MIN(query->to_slot, (uint64_t)INT64_MAX)),
		SQL_TEXT(query->tenant ? query->tenant : ""),
		SQL_TEXT(query->service ? query->service : ""),
	};

	if (!query->tenant)
		return sqlite_query_values(db, DAY_SQL_LIST, values, 3, ret_row);
	if (!query->service)
		return sqlite_query_values(db, DAY_SQL_LIST_TENANT, values, 4, ret_row);
	return sqlite_query_values(db, DAY_SQL_LIST_SERVICE, values, 5, ret_row);
}

int day_file_find(struct sqlite_db *db, const struct day_file_query *query, struct arena *arena,
		  struct segment_infos *infos)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = start_find(db, query, &row);

	while (r > 0) {
		struct segment_info info;

		r = read_info(row, arena, &info);
		if (r == 0)
			r = vec_push(infos, info);
		if (r == 0)
			r = sqlite_step(db, row);
	}
	return r;
}

static int compare_infos(const void *a, const void *b)
{
	return segment_info_order(a, b);
}

int day_file_find_hour(struct sqlite_db *db, const struct day_file_hour *found, struct arena *arena,
		       struct segment_infos *infos)
{
	scoped(segment_infos_release) struct segment_infos of_service = {};
	const uint64_t start = segment_info_hour(found->of) * SEGMENT_SLOTS_PER_HOUR;
	const struct day_file_query query = {
		.tenant = found->of->tenant,
		.service = found->of->service,
		.last_flush = found->last_flush,
		.from_slot = start,
		.to_slot = start + SEGMENT_SLOTS_PER_HOUR,
	};
	int r = day_file_find(db, &query, arena, &of_service);

	for (size_t i = 0; i < of_service.count && r == 0; i++)
		if (segment_info_same_hour(found->of, &of_service.items[i]))
			r = vec_push(infos, of_service.items[i]);
	if (r == 0 && infos->count > 0)
		qsort(infos->items, infos->count, sizeof(*infos->items), compare_infos);
	return r;
}

int day_file_content(struct sqlite_db *db, uint64_t id, struct bytes *out)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(db, DAY_SQL_CONTENT, &row, SQL_INT(id));
	struct bytes_view content;

	if (r <= 0)
		return r < 0 ? r : -EUCLEAN;
	content = sqlite_blob(row, 0);
	return bytes_append(out, content.data, content.size);
}
