/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A check reads every byte. It holds no lock: each day file is checked in one read transaction.
 */

#include <inttypes.h>

#include "common/arena.h"
#include "common/log.h"
#include "symbolizer/store/segment_db/log_file.h"
#include "symbolizer/store/segment_db/segment_db_private.h"

/* Index entries of one day. */
#define MAX_INDEX_BYTES (256 * MIB)

struct check {
	struct segment_db *db;
	struct segment_codec codec;
	uint64_t last_flush;
	size_t n_faults;
};

/* What to do about a file, and about a part of it. */
#define FILE_REMEDY                                                                                \
	"restore the data folder from a backup, or move a damaged file of segments away: without " \
	"it the samples of its day are lost, and no others"
#define PART_REMEDY                                                                                \
	"queries leave it out; restore the data folder from a backup, or wait until retention "    \
	"removes its day"

static int count_fault(struct check *check, const char *path, const char *fault, const char *remedy)
{
	check->n_faults++;
	log_error("'%s': %s; %s", path, fault, remedy);
	return 0;
}

static const char *path_of(const struct sqlite_db *file)
{
	return sqlite3_db_filename(file->handle, "main");
}

static int check_integrity(struct check *check, struct sqlite_db *file, unsigned int statement)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query_values(file, statement, NULL, 0, &row);

	if (r == -EUCLEAN)
		return count_fault(check, path_of(file), "the file is damaged", FILE_REMEDY);
	if (r <= 0)
		return r;
	if (strcmp(sqlite_text(row, 0), "ok") != 0)
		return count_fault(check, path_of(file), sqlite_text(row, 0), FILE_REMEDY);
	return 0;
}

/* The times of series are those of their rows. Segments of samples of format 1 have none. */
static int check_ranges(const struct segment *segment, struct arena *arena)
{
	static const enum segment_column columns[] = { TOTAL_SERIES, TOTAL_FIRST_SLOT,
						       TOTAL_LAST_SLOT };
	const size_t count = segment->count[SEGMENT_TOTAL];
	struct segment made = *segment;
	int r;

	if (segment->column[HEAD_KIND][0] != SEGMENT_SAMPLES || count == 0)
		return 0;
	r = segment_make_ranges(&made, arena);
	if (r < 0)
		return r;
	if (made.count[SEGMENT_TOTAL] != count)
		return -EBADMSG;
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (memcmp(made.column[columns[i]], segment->column[columns[i]],
			   count * sizeof(uint64_t)) != 0)
			return -EBADMSG;
	return 0;
}

/* 0, -EBADMSG: the segment is damaged, or differs from its index entry. */
static int check_content(struct check *check, const struct segment_info *info,
			 struct bytes_view content)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct segment_info found;
	struct segment segment;
	int r = arena_new(SEGMENT_ARENA_BYTES, &arena);

	if (r == 0)
		r = segment_decode(content, SEGMENT_ALL, &check->codec, arena, &segment);
	if (r == 0)
		r = segment_info_of(&segment, arena, &found);
	if (r == 0)
		r = check_ranges(&segment, arena);
	if (r < 0)
		return r;
	found.n_bytes = content.size;
	return segment_info_equal(info, &found) ? 0 : -EBADMSG;
}

static int check_segment(struct check *check, struct sqlite_db *file,
			 const struct segment_info *info)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(SEGMENT_DB_MAX_SEGMENT_BYTES);
	int r = day_file_content(file, info->id, &content);

	if (r == 0)
		r = check_content(check, info, bytes_view_of(&content));
	if (r != -EBADMSG && r != -EUCLEAN)
		return r;
	check->n_faults++;
	log_error("'%s': segment %" PRIu64 " of service '%s' is damaged; " PART_REMEDY,
		  path_of(file), info->id, info->service);
	return 0;
}

/* Contents without an index entry would never be deleted. */
static int check_orphans(struct check *check, struct sqlite_db *file)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query_values(file, DAY_SQL_ORPHANS, NULL, 0, &row);

	if (r > 0 && sqlite3_column_int64(row, 0) > 0)
		return count_fault(check, path_of(file), "contents without an index entry",
				   "they take space until retention removes their day");
	return MIN(r, 0);
}

static int check_segments(struct check *check, struct sqlite_db *file)
{
	const struct day_file_query all = { .last_flush = check->last_flush,
					    .to_slot = UINT64_MAX };
	scoped(segment_infos_release) struct segment_infos infos = {};
	scoped(arena_freep) struct arena *arena = NULL;
	int r = arena_new(MAX_INDEX_BYTES, &arena);

	if (r == 0)
		r = day_file_find(file, &all, arena, &infos);
	for (size_t i = 0; i < infos.count && r == 0; i++)
		r = check_segment(check, file, &infos.items[i]);
	return r < 0 ? r : check_orphans(check, file);
}

static int check_batches(struct check *check, struct sqlite_db *file)
{
	size_t n_damaged;
	int r = log_file_check(file, check->last_flush, &n_damaged);

	if (r == 0 && n_damaged > 0)
		return count_fault(check, path_of(file), "times or counters of batches are damaged",
				   PART_REMEDY);
	return r;
}

static int check_executables(struct check *check, struct sqlite_db *file)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query_values(file, DAY_SQL_EXECUTABLES_DAMAGED, NULL, 0, &row);

	if (r > 0 && sqlite3_column_int64(row, 0) > 0)
		return count_fault(check, path_of(file), "descriptions of executables are damaged",
				   PART_REMEDY);
	return MIN(r, 0);
}

static int check_day(struct check *check, segment_day day)
{
	scoped(sqlite_db_freep) struct sqlite_db *file = NULL;
	int r = day_file_open(check->db->folder, day, DAY_FILE_READ, &file);

	if (r > 0) {
		r = sqlite_db_run(file, "BEGIN");
		if (r == 0)
			r = check_integrity(check, file, DAY_SQL_INTEGRITY);
		if (r == 0)
			r = check_segments(check, file);
		if (r == 0)
			r = check_batches(check, file);
		if (r == 0)
			r = check_executables(check, file);
	}
	if (r != -EUCLEAN)
		return MIN(r, 0);
	check->n_faults++;
	log_error("'%s': the file of day %" PRIu32 " since 1970 is damaged; " FILE_REMEDY,
		  check->db->folder, day);
	return 0;
}

static int check_days(struct check *check)
{
	scoped(segment_days_release) struct segment_days days = {};
	int r = day_files_list(check->db->folder, &days);

	for (size_t i = 0; i < days.count && r == 0; i++)
		r = check_day(check, days.items[i]);
	return r;
}

int segment_db_check(struct segment_db *db, size_t *ret_faults)
{
	scoped(sqlite_db_freep) struct sqlite_db *inbox = NULL;
	struct check check = { .db = db };
	int r = inbox_open(db->folder, &inbox);

	fair_lock_take(&db->inbox_lock);
	check.last_flush = db->state.last_flush;
	fair_lock_give(&db->inbox_lock);
	if (r == 0)
		r = check_integrity(&check, inbox, INBOX_SQL_INTEGRITY);
	if (r == 0)
		r = check_days(&check);
	segment_codec_release(&check.codec);
	if (r == 0)
		*ret_faults = check.n_faults;
	return r;
}
