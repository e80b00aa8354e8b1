/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The snapshot of inbox.db has the number of the last committed flush, and the batches after it.
 * The snapshots of the day files, which are opened later, must have all segments up to that flush.
 * They may have segments of the next one, which a start removes: it makes them again from the
 * inbox. They have so if no other flush was committed when the last one was opened, because
 * compactions merge segments of committed flushes only.
 */

#include "symbolizer/store/segment_store/segment_backup.h"

#include <stdio.h>
#include <unistd.h>

#include "symbolizer/store/segment_db/day_file.h"

#define INBOX_FILE "inbox.db"

/* A flush follows another one after a minute, or in a large fleet after some seconds. */
#define MAX_ATTEMPTS 100

bool segment_backup_has_store(const char *folder)
{
	scoped_free char *path = NULL;

	return asprintf(&path, "%s/" INBOX_FILE, folder) >= 0 && access(path, F_OK) == 0;
}

static int add_days(struct snapshot_set *set, const char *folder)
{
	scoped(segment_days_release) struct segment_days days = {};
	int r = day_files_list(folder, &days);

	for (size_t i = 0; i < days.count && r == 0; i++) {
		char name[DAY_FILE_NAME_BYTES];

		day_file_name_of(days.items[i], name);
		r = snapshot_set_add(set, folder, name);
		/* Retention removed it. */
		if (r == -ENOENT)
			r = 0;
	}
	return r;
}

/* A snapshot has no prepared statements. */
static int last_flush_of(struct sqlite_db *inbox, uint64_t *ret_flush)
{
	sqlite3_stmt *row = NULL;
	int code = sqlite3_prepare_v2(inbox->handle, "SELECT last_flush FROM meta", -1, &row, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(row);
	if (code == SQLITE_ROW)
		*ret_flush = (uint64_t)sqlite3_column_int64(row, 0);
	(void)sqlite3_finalize(row);
	return code == SQLITE_ROW    ? 0
	       : code == SQLITE_DONE ? -EUCLEAN
				     : sqlite_db_error(inbox, code);
}

static int read_last_flush(const char *folder, uint64_t *ret_flush)
{
	scoped(snapshot_set_release) struct snapshot_set set = {};
	int r = snapshot_set_add(&set, folder, INBOX_FILE);

	return r < 0 ? r : last_flush_of(set.files.items[0].db, ret_flush);
}

/* 1; 0: a flush was committed meanwhile. */
static int add_once(struct snapshot_set *set, const char *folder)
{
	uint64_t before, after;
	int r = snapshot_set_add(set, folder, INBOX_FILE);

	if (r == 0)
		r = last_flush_of(set->files.items[set->files.count - 1].db, &before);
	if (r == 0)
		r = add_days(set, folder);
	if (r == 0)
		r = read_last_flush(folder, &after);
	return r < 0 ? r : before == after;
}

int segment_backup_add(struct snapshot_set *set, const char *folder)
{
	int r = 0;

	for (int i = 0; i < MAX_ATTEMPTS && r == 0; i++) {
		snapshot_set_clear(set);
		r = add_once(set, folder);
	}
	return r == 0 ? -EBUSY : MIN(r, 0);
}
