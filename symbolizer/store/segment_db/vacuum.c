/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite keeps the pages of deleted rows in the file, as free pages for new rows. The functions
 * below return free pages to the file system, by steps of a bounded size: incremental_vacuum(N)
 * moves at most N pages to free pages nearer to the beginning, and truncates the file. Between two
 * steps the lock is free for other threads. A file that was created without auto_vacuum keeps its
 * size.
 */

#include "symbolizer/store/segment_db/segment_db_private.h"

/* A step of at most 16 MiB. */
#define DAY_STEP "PRAGMA incremental_vacuum(4096)"

/* A step of at most 512 KiB. New batches wait until it ends, some milliseconds. */
#define INBOX_STEP "PRAGMA incremental_vacuum(128)"

/* 16 MiB, for the batches that arrive until the next flush. */
#define INBOX_KEPT_PAGES 4096

struct vacuum {
	unsigned int count_statement;
	const char *step;
	int64_t n_kept; /* free pages that stay in the file */
};

static int count_free(struct sqlite_db *file, const struct vacuum *vacuum, int64_t *ret_count)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query_values(file, vacuum->count_statement, NULL, 0, &row);

	if (r <= 0)
		return r < 0 ? r : -EUCLEAN;
	*ret_count = sqlite3_column_int64(row, 0);
	return 0;
}

/* The caller holds the lock of the file. 1: another step is needed; 0: none, or none would help. */
static int run_step(struct sqlite_db *file, const struct vacuum *vacuum)
{
	int64_t before = 0, after = 0;
	int r = count_free(file, vacuum, &before);

	if (r < 0 || before <= vacuum->n_kept)
		return r;
	r = sqlite_db_run(file, vacuum->step);
	if (r == 0)
		r = count_free(file, vacuum, &after);
	return r < 0 ? r : after < before && after > vacuum->n_kept;
}

static int run_day_step(struct segment_db *db, segment_day day)
{
	static const struct vacuum vacuum = { .count_statement = DAY_SQL_FREE_PAGES,
					      .step = DAY_STEP };
	scoped(sqlite_db_freep) struct sqlite_db *file = NULL;
	int r;

	if (day < db->oldest_day)
		return 0;
	r = day_file_open(db->folder, day, DAY_FILE_WRITE, &file);
	return r > 0 ? run_step(file, &vacuum) : r;
}

int vacuum_day(struct segment_db *db, segment_day day)
{
	int r;

	do {
		fair_lock_take(&db->files_lock);
		r = run_day_step(db, day);
		fair_lock_give(&db->files_lock);
	} while (r > 0);
	return r;
}

int vacuum_days(struct segment_db *db)
{
	scoped(segment_days_release) struct segment_days days = {};
	int r = day_files_list(db->folder, &days);

	for (size_t i = 0; i < days.count && r == 0; i++) {
		r = vacuum_day(db, days.items[i]);
		/* Queries of this day report the damage. */
		if (r == -EUCLEAN)
			r = 0;
	}
	return r;
}

int vacuum_inbox(struct segment_db *db)
{
	static const struct vacuum vacuum = { .count_statement = INBOX_SQL_FREE_PAGES,
					      .step = INBOX_STEP,
					      .n_kept = INBOX_KEPT_PAGES };
	int r;

	do {
		fair_lock_take(&db->inbox_lock);
		r = run_step(db->inbox, &vacuum);
		fair_lock_give(&db->inbox_lock);
	} while (r > 0);
	return r;
}
