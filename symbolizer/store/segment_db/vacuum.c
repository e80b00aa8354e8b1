/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite keeps the pages of deleted rows in the file, for new rows. They are returned to the file
 * system in steps, between which others get the lock: a step moves or cuts off a bounded number of
 * pages. A file that was created without auto_vacuum stays as it is.
 */

#include "symbolizer/store/segment_db/segment_db_private.h"

/* 16 MiB. */
#define DAY_STEP "PRAGMA incremental_vacuum(4096)"

/* 512 KiB: batches wait some milliseconds. */
#define INBOX_STEP "PRAGMA incremental_vacuum(128)"

/* 16 MiB, which the batches until the next flush use. */
#define INBOX_KEPT_PAGES 4096

struct vacuum {
	unsigned int count_statement;
	const char *step;
	int64_t n_kept; /* free pages that stay */
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

/* The caller holds the lock of the file. 1: there is more to do, 0: no. */
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
		/* Queries report the damage. */
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
