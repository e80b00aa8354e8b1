/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parts of a segment_db, for the files of this folder.
 *
 * Two locks: files_lock is held by whoever changes day files, for as long as that takes.
 * inbox_lock is held for one commit to inbox.db, or for a change of the head. files_lock is taken
 * first.
 */

#include <pthread.h>

#include "symbolizer/store/head/head.h"
#include "symbolizer/store/segment_db/day_file.h"
#include "symbolizer/store/segment_db/inbox.h"
#include "symbolizer/store/segment_db/segment_db.h"

/* Memory for one segment while it is made: SEGMENT_MAX_ROWS rows, sorted, and their definitions. */
#define SEGMENT_ARENA_BYTES (2 * GIB)

/* Largest encoded segment: the most bytes of an SQLite blob. */
#define SEGMENT_MAX_BYTES (900 * MIB)

/* A segment of a flush. */
struct flushed_segment {
	segment_day day;
	struct segment_info info;
	struct bytes content;
};

VEC_DEFINE(segment_builders, struct segment_builder *);

/* A flush that is not committed yet. It is kept after an error of the disk, and repeated. */
struct flush {
	uint64_t number;
	uint64_t upto_id;                 /* it has the rows of all batches up to it */
	struct segment_builders builders; /* taken from the head, not encoded yet */
	struct arena *arena;              /* of the texts of infos */
	VEC_DEFINE(, struct flushed_segment) segments;
};

struct segment_db {
	struct segment_db_options options;
	char *folder;

	pthread_mutex_t files_lock;
	struct sqlite_db *inbox_files; /* a connection to inbox.db for holders of files_lock */
	struct segment_codec codec;
	struct flush *flush;     /* not committed yet; NULL: none */
	bool has_later_segments; /* day files may have segments of a flush that was not committed */

	pthread_mutex_t inbox_lock;
	struct sqlite_db *inbox;
	struct head *head;
	struct inbox_state state;
	bool head_is_incomplete; /* it lacks rows of batches in the inbox */
	segment_day oldest_day;  /* earlier days were removed; changed under both locks */
};

static inline int segment_db_new_head(const struct segment_db *db, struct head **ret_head)
{
	const struct head_options options = { .slots_per_segment = SEGMENT_SLOTS_PER_HOUR,
					      .max_bytes = db->options.max_head_bytes,
					      .max_numbers_bytes = db->options.max_numbers_bytes,
					      .max_agents = db->options.max_agents };

	return head_new(&options, ret_head);
}

/* Returns pages of deleted segments to the file system: at most 64 MiB. */
#define SEGMENT_VACUUM "PRAGMA incremental_vacuum(16384)"

/* remove.c. The caller holds no lock; holders of one read the field. */
segment_day segment_db_oldest_day(struct segment_db *db);

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

/* Deletes segments of flushes that were not committed. The caller holds files_lock. */
int flush_delete_later(struct segment_db *db, uint64_t now_wall_ns);

/* replay.c: makes the head again from the inbox. The caller holds both locks. */
int replay(struct segment_db *db, uint64_t now_wall_ns);

DEFINE_SCOPED(struct flush *, flush_free);
DEFINE_SCOPED(struct flush_epochs *, flush_epochs_free);
