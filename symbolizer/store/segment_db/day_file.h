/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The files segments-YYYY-MM-DD.db: the segments of one UTC day, and the log of its batches
 * (log_file.h). Each segment is a row of the index (segment_info.h) and one blob.
 *
 * A connection is opened for each use, and closed after it: a flush, a compaction or a query. So a
 * removed file frees its space when the last of them ends.
 */

#include "common/vec.h"
#include "symbolizer/sqlite/sqlite_db.h"
#include "symbolizer/store/segment_db/segment_info.h"
#include "symbolizer/store/segment_db/day_file.def"

enum day_file_statement {
#define X(id, sql) DAY_SQL_##id,
	DAY_FILE_STATEMENTS(X)
#undef X
		DAY_FILE_STATEMENT_COUNT,
};

/* Days since 1970-01-01 (UTC). */
typedef uint32_t segment_day;

static inline segment_day segment_day_of_slot(uint64_t slot)
{
	return (segment_day)(slot / SEGMENT_SLOTS_PER_DAY);
}

VEC_DEFINE(segment_days, segment_day);

#define DAY_FILE_NAME_BYTES 64

/* The name of the file of a day. */
void day_file_name_of(segment_day day, char ret_name[DAY_FILE_NAME_BYTES]);

static inline void segment_days_release(struct segment_days *days)
{
	vec_release(days);
}

/* Appends the days that have a file, ascending. 0, negative errno. */
int day_files_list(const char *folder, struct segment_days *days);

enum day_file_mode {
	DAY_FILE_READ,   /* for one read transaction */
	DAY_FILE_WRITE,  /* an existing file */
	DAY_FILE_CREATE, /* creates the file if it does not exist */
};

/* 1; 0: the file does not exist, or, for reading, has no tables yet; negative errno. */
int day_file_open(const char *folder, segment_day day, enum day_file_mode mode,
		  struct sqlite_db **ret_db);

/* Removes the file, its WAL and its index. */
int day_file_remove(const char *folder, segment_day day);

/* Renames a damaged file to NAME.damaged-@wall_ns, for an administrator to examine, and logs it. */
int day_file_set_aside(const char *folder, segment_day day, uint64_t wall_ns);

/* Bytes of the file and its WAL. 0: it does not exist. */
uint64_t day_file_bytes(const char *folder, segment_day day);

/* These need an open transaction. */
int day_file_add(struct sqlite_db *db, const struct segment_info *info, struct bytes_view content);
int day_file_delete(struct sqlite_db *db, uint64_t id);
/* Deletes all segments and batches of flushes after @flush. */
int day_file_delete_later(struct sqlite_db *db, uint64_t flush);

/* The number of the last flush in the file. 0: none. */
int day_file_max_flush(struct sqlite_db *db, uint64_t *ret_flush);

VEC_DEFINE(segment_infos, struct segment_info);

static inline void segment_infos_release(struct segment_infos *infos)
{
	vec_release(infos);
}

/* Selects segments with rows in [from_slot, to_slot). */
struct day_file_query {
	const char *tenant;  /* NULL: all */
	const char *service; /* NULL: all */
	uint64_t last_flush; /* segments of later flushes are not selected */
	uint64_t from_slot, to_slot;
};

/* Appends the index entries, in no particular order. Their texts are in @arena. */
int day_file_find(struct sqlite_db *db, const struct day_file_query *query, struct arena *arena,
		  struct segment_infos *infos);

/* The segments of one service, event type and hour. */
struct day_file_hour {
	const struct segment_info *of; /* one of them, which may be deleted */
	uint64_t last_flush;           /* segments of later flushes are not selected */
};

/* Appends their index entries in order of segment_info_order(). Their texts are in @arena. */
int day_file_find_hour(struct sqlite_db *db, const struct day_file_hour *found, struct arena *arena,
		       struct segment_infos *infos);

/* Appends the content of a segment to @out. -EUCLEAN: it has none. */
int day_file_content(struct sqlite_db *db, uint64_t id, struct bytes *out);
