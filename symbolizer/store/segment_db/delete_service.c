/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletes the samples of a service. SQLite visits each page of a deleted blob, so a GB takes
 * seconds. files_lock is held for one step: flushes, for which batches wait when the memory for
 * rows is full, get it in between.
 *
 * All samples that were stored before the call are in segments of flushes up to a number. Later
 * samples stay, so these segments must not be merged with those of later flushes meanwhile.
 */

#include "common/vec.h"
#include "symbolizer/store/segment_db/segment_db_private.h"

/* Encoded segments of one step. A step has one segment at least. */
#define BYTES_PER_STEP (8 * MIB)

VEC_DEFINE(segment_ids, uint64_t);

struct deletion {
	struct segment_db *db;
	const char *tenant, *service;
	uint64_t last_flush; /* with samples to delete */
	bool had_segments;
};

static int find_ids(struct sqlite_db *file, const struct deletion *deletion,
		    struct segment_ids *ids)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	uint64_t n_bytes = 0;
	int r = sqlite_query(file, DAY_SQL_SEGMENTS_OF_SERVICE, &row, SQL_TEXT(deletion->tenant),
			     SQL_TEXT(deletion->service), SQL_INT(deletion->last_flush));

	while (r > 0 && n_bytes < BYTES_PER_STEP) {
		n_bytes += (uint64_t)sqlite3_column_int64(row, 1);
		r = vec_push(ids, (uint64_t)sqlite3_column_int64(row, 0));
		if (r == 0)
			r = sqlite_step(file, row);
	}
	return MIN(r, 0);
}

/* 1: segments were deleted, and there may be more; 0: there were none. */
static int delete_some(struct sqlite_db *file, const struct deletion *deletion)
{
	struct segment_ids ids = {};
	int r = find_ids(file, deletion, &ids);
	const bool found = ids.count > 0;

	for (size_t i = 0; i < ids.count && r == 0; i++)
		r = day_file_delete(file, ids.items[i]);
	vec_release(&ids);
	return r < 0 ? r : found;
}

/* The caller holds files_lock. */
static int run_step(struct deletion *deletion, segment_day day)
{
	scoped(sqlite_db_freep) struct sqlite_db *file = NULL;
	int committed, r;

	if (day < deletion->db->oldest_day)
		return 0;
	r = day_file_open(deletion->db->folder, day, DAY_FILE_WRITE, &file);
	if (r <= 0)
		return r;
	r = sqlite_begin(file);
	if (r == 0)
		r = delete_some(file, deletion);
	if (r <= 0) {
		sqlite_rollback(file);
		return r;
	}
	committed = sqlite_commit(file);
	deletion->had_segments |= committed == 0;
	return committed < 0 ? committed : 1;
}

static int delete_in_day(struct deletion *deletion, segment_day day)
{
	int r;

	do {
		fair_lock_take(&deletion->db->files_lock);
		r = run_step(deletion, day);
		fair_lock_give(&deletion->db->files_lock);
	} while (r > 0);
	return r;
}

static int begin(struct deletion *deletion, uint64_t now_wall_ns)
{
	struct segment_db *db = deletion->db;
	int r;

	fair_lock_take(&db->files_lock);
	r = flush_all(db, now_wall_ns);
	deletion->last_flush = db->state.last_flush;
	db->deleted = (struct deleted_service){ deletion->tenant, deletion->service };
	fair_lock_give(&db->files_lock);
	return r;
}

static void end(struct deletion *deletion)
{
	fair_lock_take(&deletion->db->files_lock);
	deletion->db->deleted = (struct deleted_service){};
	fair_lock_give(&deletion->db->files_lock);
}

int segment_db_delete_service(struct segment_db *db, const char *tenant, const char *service,
			      uint64_t now_wall_ns)
{
	struct deletion deletion = { .db = db, .tenant = tenant, .service = service };
	scoped(segment_days_release) struct segment_days days = {};
	int r;

	fair_lock_take(&db->delete_lock);
	r = begin(&deletion, now_wall_ns);
	if (r == 0)
		r = day_files_list(db->folder, &days);
	for (size_t i = 0; i < days.count && r == 0; i++)
		r = delete_in_day(&deletion, days.items[i]);
	end(&deletion);
	fair_lock_give(&db->delete_lock);
	if (r == 0)
		r = vacuum_days(db);
	return r < 0 ? r : deletion.had_segments;
}
