/* SPDX-License-Identifier: Apache-2.0 */
/* Removes from day files what a flush that was not committed has left there. */

#include <inttypes.h>

#include "common/log.h"
#include "symbolizer/store/segment_db/segment_db_private.h"

static int delete_later_of_day(struct segment_db *db, segment_day day)
{
	scoped(sqlite_db_freep) struct sqlite_db *file = NULL;
	uint64_t flush;
	int r = day_file_open(db->folder, day, DAY_FILE_WRITE, &file);

	if (r <= 0)
		return r;
	r = day_file_max_flush(file, &flush);
	if (r < 0 || flush <= db->state.last_flush)
		return r;
	/* One flush at most was not committed. */
	if (flush > db->state.last_flush + 1)
		return log_error_errno(ESTALE,
				       "'%s/inbox.db' has %" PRIu64 " flushes, but the samples of "
				       "a day are of flush %" PRIu64 ": inbox.db is an older one, "
				       "which would store batches twice; restore all files of "
				       "one backup: %m",
				       db->folder, db->state.last_flush, flush);
	r = sqlite_begin(file);
	if (r == 0)
		r = day_file_delete_later(file, db->state.last_flush);
	if (r == 0)
		return sqlite_commit(file);
	sqlite_rollback(file);
	return r;
}

int flush_delete_later(struct segment_db *db, uint64_t now_wall_ns)
{
	scoped(segment_days_release) struct segment_days days = {};
	int r;

	if (!db->has_later_segments)
		return 0;
	r = day_files_list(db->folder, &days);
	for (size_t i = 0; i < days.count && r == 0; i++) {
		r = delete_later_of_day(db, days.items[i]);
		if (r == -EUCLEAN)
			r = day_file_set_aside(db->folder, days.items[i], now_wall_ns);
	}
	if (r == 0)
		db->has_later_segments = false;
	return r;
}
