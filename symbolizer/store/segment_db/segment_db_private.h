/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parts of a segment_db, for the files of this folder.
 *
 * Two locks: files_lock is held by whoever changes day files, for as long as that takes.
 * inbox_lock is held for one commit to inbox.db, or for a change of the head. files_lock is taken
 * first. Both are fair, because long work is done in steps, between which a flush or a batch gets
 * its turn. delete_lock is held for the whole deletion of a service, and taken before both.
 */

#include "common/fair_lock.h"
#include "symbolizer/store/head/head.h"
#include "symbolizer/store/segment_db/batch_log.h"
#include "symbolizer/store/segment_db/day_file.h"
#include "symbolizer/store/segment_db/executable_rows.h"
#include "symbolizer/store/segment_db/host_table.h"
#include "symbolizer/store/segment_db/inbox.h"
#include "symbolizer/store/segment_db/label_names.h"
#include "symbolizer/store/segment_db/segment_db.h"

/* Memory for one segment while it is made: SEGMENT_MAX_ROWS rows, sorted, and their definitions. */
#define SEGMENT_ARENA_BYTES (2 * GIB)

/* A segment of a flush. */
struct flushed_segment {
	segment_day day;
	struct segment_info info;
	struct bytes content;
};

VEC_DEFINE(head_segments, struct head_segment);

/* A flush that is not committed yet. It is kept after an error of the disk, and repeated. */
struct flush {
	uint64_t number;
	uint64_t upto_id; /* it has the rows of all batches up to it */
	/* Taken from the head. Readers use them until the commit; changed under inbox_lock. */
	struct head_segments taken;
	struct arena *arena; /* of the texts of infos and labels */
	VEC_DEFINE(, struct flushed_segment) segments;
	struct label_names labels; /* of the segments */
	struct executable_rows executables;
};

struct deleted_service {
	const char *tenant, *service; /* NULL: none */
};

struct segment_db {
	struct segment_db_options options;
	char *folder;

	struct fair_lock delete_lock;

	struct fair_lock files_lock;
	struct sqlite_db *inbox_files; /* a connection to inbox.db for holders of files_lock */
	struct segment_codec codec;
	struct flush *flush; /* not committed yet; NULL: none */
	/*
	 * Batches of a flush that is not committed yet, or that failed; NULL: none. Changed under
	 * both locks. What it has does not change.
	 */
	struct batch_log *flushed_log;
	struct deleted_service deleted; /* its segments are being deleted: they are not merged */
	bool has_later_segments; /* day files may have segments of a flush that was not committed */

	struct fair_lock inbox_lock;
	struct sqlite_db *inbox;
	struct head *head;
	struct batch_log *log;    /* batches since the last flush_take() */
	struct host_table *hosts; /* has its own lock */
	struct inbox_state state;
	uint64_t generation;     /* number of the head: each has its own IDs of segments */
	bool head_is_incomplete; /* it lacks rows of batches in the inbox */
	_Atomic uint64_t n_refused_series;
	segment_day oldest_day; /* earlier days were removed; changed under both locks */
};

static inline int segment_db_new_head(const struct segment_db *db, struct head **ret_head)
{
	const struct head_options options = {
		.slots_per_segment = SEGMENT_SLOTS_PER_HOUR,
		.max_bytes = db->options.max_head_bytes,
		.max_numbers_bytes = db->options.max_numbers_bytes,
		.max_agents = db->options.max_agents,
		.max_all_numbers_bytes = db->options.max_all_numbers_bytes,
	};

	return head_new(&options, ret_head);
}

/*
 * segment_db.c: adds a batch that is in the inbox to the log and the hosts. The caller holds
 * inbox_lock.
 */
int segment_db_note_batch(struct segment_db *db, const char *tenant, const struct batch *batch,
			  uint64_t arrived_wall_ns);

/* Memory of rows and batches. The caller holds inbox_lock. */
static inline size_t segment_db_memory_bytes(const struct segment_db *db)
{
	return head_bytes(db->head) + batch_log_bytes(db->log);
}

/* Whether they must be flushed before more are added. The caller holds inbox_lock. */
static inline bool segment_db_is_full(const struct segment_db *db)
{
	return head_is_full(db->head) || segment_db_memory_bytes(db) >= db->options.max_head_bytes;
}

/* flush.c */
struct flush *flush_free(struct flush *flush);

/*
 * The steps of a flush; the caller holds files_lock, and for flush_take() and flush_commit() also
 * inbox_lock. flush_take() moves all rows of the head, which are those of the batches up to
 * @upto_id, to db->flush. If flush_take() or flush_encode() fails, these rows are only in the
 * inbox, and the caller sets head_is_incomplete. flush_prepare() collects the definitions.
 */
struct flush_epochs;
int flush_take(struct segment_db *db, uint64_t upto_id);
int flush_encode(struct segment_db *db);
int flush_write_days(struct segment_db *db, uint64_t now_wall_ns);
int flush_prepare(struct segment_db *db, struct flush_epochs **ret_epochs);
int flush_commit(struct segment_db *db, struct flush_epochs *epochs, uint64_t now_wall_ns);
struct flush_epochs *flush_epochs_free(struct flush_epochs *epochs);

/* All steps; the caller holds both locks. */
int flush_run(struct segment_db *db, uint64_t upto_id, uint64_t now_wall_ns);

/* Flushes all rows. The caller holds files_lock. */
int flush_all(struct segment_db *db, uint64_t now_wall_ns);

/*
 * flush_later.c: deletes segments of flushes that were not committed. The caller holds files_lock.
 */
int flush_delete_later(struct segment_db *db, uint64_t now_wall_ns);

/* The same with files_lock, which it takes; segment_db_flush() also makes inbox.db smaller. */
int flush_now(struct segment_db *db, uint64_t now_wall_ns);

/*
 * vacuum.c: returns the pages of deleted rows to the file system. The caller holds no lock. Of
 * inbox.db some stay, which the next batches use.
 */
int vacuum_day(struct segment_db *db, segment_day day);
int vacuum_days(struct segment_db *db); /* all; leaves out damaged ones */
int vacuum_inbox(struct segment_db *db);

/* replay.c: makes the head again from the inbox. The caller holds both locks. */
int replay(struct segment_db *db, uint64_t now_wall_ns);

DEFINE_SCOPED(struct flush *, flush_free);
DEFINE_SCOPED(struct flush_epochs *, flush_epochs_free);
