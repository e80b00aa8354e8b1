/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Durable segments: accepted batches in an inbox, and the segments that are made of them in one
 * file a day.
 *
 *   inbox.db               the payload of each accepted batch until its rows are in segments; which
 *                          batches were accepted; the definitions of the epochs (epoch.h)
 *   segments-YYYY-MM-DD.db the segments with samples of that UTC day, an index of them, and lists
 *                          of their executables and names of labels
 *
 * A batch is accepted when its payload is committed to the inbox. One commit serves a group of
 * batches. Its rows are added to the head (store/head/), in memory.
 *
 * A flush writes all rows of the head as segments. Flushes are numbered. Flush N first commits its
 * segments, with the number N, to the day files. Then one transaction of inbox.db removes the
 * batches and sets last_flush = N. Until then nobody reads segments of flush N. After a crash in
 * between, the next start removes them, and makes the head again from the inbox. So a row is in the
 * inbox or in a segment, never in both and never in none, without a transaction over several files.
 *
 * All functions are thread-safe. Errors are negative errno, as those of sqlite_db.h. After -ENOSPC
 * all accepted batches are intact, and the call can be repeated when there is space.
 */

#include "common/bytes.h"
#include "common/cancel.h"
#include "symbolizer/store/segment_db/segment_info.h"
#include "symbolizer/store/store.h"

struct segment_db;

/* How a payload becomes a batch. The functions are those of ingest. All have @arg. */
struct segment_db_decoder {
	/* Decodes a payload into @arena, with its times moved by @step_ns. */
	int (*decode)(void *arg, struct bytes_view payload, int64_t step_ns, struct arena *arena,
		      struct batch *ret_batch);

	/* Appends the definitions of the payload, not compressed, to @out. */
	int (*extract_definitions)(void *arg, struct bytes_view payload, struct bytes *out);

	/* Decodes what extract_definitions() has appended. */
	int (*decode_definitions)(void *arg, struct bytes_view definitions, struct arena *arena,
				  struct batch *ret_batch);
	void *arg;
};

struct segment_db_options {
	const char *folder;
	uint64_t now_wall_ns; /* of the open; names damaged files that it sets aside */
	struct segment_db_decoder decoder;
	/* Rows and counters in memory. At this size a write flushes them first. */
	size_t max_head_bytes;
	size_t max_numbers_bytes; /* definitions of one epoch (epoch.h) */
	size_t max_agents; /* epochs with definitions in memory: more than batches in one group */
	/*
	 * Of all definitions in memory. One group of batches may exceed it. Others are read from
	 * disk when their next batch arrives. 0: no limit.
	 */
	size_t max_all_numbers_bytes;
};

/*
 * Opens or creates the files, and makes the head from the inbox. -ESTALE: inbox.db is older than
 * the day files, for example from a backup; -ENOTSUP: a file has a later format. Both are logged.
 */
int segment_db_open(const struct segment_db_options *options, struct segment_db **ret_db);

/* Does not flush: the inbox has the rows. */
struct segment_db *segment_db_free(struct segment_db *db);

/* A batch to store. */
struct segment_db_write {
	const char *tenant;
	const struct batch *batch; /* decoded from @payload, and moved by @step_ns */
	struct bytes_view payload; /* as received */
	int64_t step_ns;
	/* STORE_TOO_OLD if all rows are of days before it, or before segment_db_first_day(). */
	uint32_t first_day;
	struct arena *arena; /* of ret_missing */
	struct store_missing *ret_missing;
	int result; /* enum store_outcome or negative errno */
};

/*
 * Stores the first batches of the group with one commit, and sets their results. Returns their
 * number, at least 1: a group ends before the second batch of an epoch, and when it has many rows.
 * -EFBIG: the batch, or the number of gaps between the batches of its epoch, exceeds a limit.
 */
size_t segment_db_write(struct segment_db *db, struct segment_db_write *writes, size_t count,
			uint64_t now_wall_ns);

/* Writes all rows of the head as segments. */
int segment_db_flush(struct segment_db *db, uint64_t now_wall_ns);

/* Memory of rows and counters that are not flushed. */
size_t segment_db_head_bytes(struct segment_db *db);

/*
 * Whether half of a limit is reached at which a write flushes first: of memory, or of rows or texts
 * of one segment. A caller flushes in the background then, so that writes need not wait.
 */
bool segment_db_is_half_full(struct segment_db *db);

/*
 * Definitions of series since the start whose rows are not stored, because their agent describes
 * more than NUMBERS_MAX_EVENT_TYPES event types.
 */
uint64_t segment_db_refused_series(const struct segment_db *db);

/* Memory of the definitions of all epochs. */
size_t segment_db_numbers_bytes(struct segment_db *db);

/* Selects segments. Fields that are NULL do not restrict the result. */
struct segment_db_query {
	const char *tenant, *service, *event;
	uint64_t from_slot, to_slot; /* with rows in [from_slot, to_slot) */
	/*
	 * Visit the roll-up instead of the samples of an hour, if the hour is completely in the
	 * range, and the roll-up has all its samples.
	 */
	bool prefer_rollups;
	bool index_only; /* without the content */
	const struct cancel *cancel;
};

/*
 * Called with one segment, whose index entry and bytes are valid during the call. A result < 0 ends
 * the scan with it.
 */
typedef int (*segment_db_function)(void *arg, const struct segment_info *info,
				   struct bytes_view content);

/*
 * Visits the segments of one state of the files: all segments of a flush or none, and either the
 * segments before a compaction or those after it. Rows in the head are not visited. @ret_damaged is
 * the number of segments and day files that could not be read. 0 or negative errno.
 */
int segment_db_scan(struct segment_db *db, const struct segment_db_query *query,
		    segment_db_function function, void *arg, size_t *ret_damaged);

/* A host, as its latest batch describes it. */
struct segment_db_host {
	struct hash128 agent;
	struct batch_host host;
	uint64_t first_seen_ns, last_seen_ns; /* opening of the first batch, closing of the last */
};

/*
 * Lists the hosts of a tenant with samples of days that are kept, in order of their agent IDs.
 * ret_hosts[*ret_count] is in @arena.
 */
int segment_db_list_hosts(struct segment_db *db, const char *tenant, struct arena *arena,
			  struct segment_db_host **ret_hosts, size_t *ret_count);

/* One run of an agent. */
struct segment_db_epoch {
	const char *tenant;
	struct hash128 agent;
	uint64_t epoch;
};

struct segment_db_executables {
	struct store_executable *items; /* [count] */
	size_t count;
};

/*
 * The last @max executables with an identity that the agent defined in the epoch, the newest
 * first, in @arena. Their IDs are 0.
 */
int segment_db_agent_executables(struct segment_db *db, const struct segment_db_epoch *epoch,
				 size_t max, struct arena *arena,
				 struct segment_db_executables *ret_executables);

struct segment_db_compaction {
	/* Hours that end before or at it are closed: they get roll-ups. */
	uint64_t closed_slot;
	/*
	 * Memory of the segment that is being made. It takes as much again when it is finished, and
	 * each source takes at most as much. At most SEGMENT_MAX_TEXT_BYTES, so that no table of a
	 * segment gets full.
	 */
	size_t max_merge_bytes;
	const struct cancel *cancel;
};

/*
 * Merges small segments of an hour, and makes the roll-ups of closed hours, also again if there are
 * new samples. Each hour of a service is one transaction, between which flushes run. @ret_changed
 * is the number of these transactions. Also merges the log of batches of closed hours. -ECANCELED,
 * -ENOSPC: hours that are done stay.
 */
int segment_db_compact(struct segment_db *db, const struct segment_db_compaction *options,
		       size_t *ret_changed);

/*
 * Removes the files of all days before the day of @before_wall_ns. Batches that have no later rows
 * get STORE_TOO_OLD from then on, until a restart.
 */
int segment_db_prune(struct segment_db *db, uint64_t before_wall_ns, size_t *ret_removed);

/*
 * The bytes that the days may have if all files may have @max_bytes. Removing days does not make
 * the inbox smaller, so that a large inbox must not remove them all: they may have half of
 * @max_bytes in any case.
 */
uint64_t segment_db_max_day_bytes(uint64_t max_bytes, uint64_t inbox_bytes);

/* Removes the oldest days until the others have at most as much. The newest day is kept. */
int segment_db_prune_to_bytes(struct segment_db *db, uint64_t max_bytes, size_t *ret_removed);

/* Days since 1970-01-01 (UTC). Days before this one were removed. 0: none was, since the start. */
uint32_t segment_db_first_day(struct segment_db *db);

/* Bytes of inbox.db and its WAL. */
uint64_t segment_db_inbox_bytes(const char *folder);

/* Bytes of all files. */
int segment_db_disk_bytes(struct segment_db *db, uint64_t *ret_bytes);

/*
 * Removes the samples of days that end before or at @before_wall_ns, and keeps the roll-ups of
 * their hours. *ret_removed: hours of services whose samples were removed; *ret_left: those that
 * have no roll-up yet, so that another call is needed.
 */
int segment_db_remove_samples(struct segment_db *db, uint64_t before_wall_ns, size_t *ret_removed,
			      size_t *ret_left);

/*
 * Deletes all samples of a service that were stored before the call. 1 deleted, 0 there were none.
 * After an error a part may be deleted: call it again.
 */
int segment_db_delete_service(struct segment_db *db, const char *tenant, const char *service,
			      uint64_t now_wall_ns);

/*
 * The same for a tenant, with its definitions, hosts, and log of batches; returns 0. Which batches
 * were stored is remembered.
 */
int segment_db_delete_tenant(struct segment_db *db, const char *tenant, uint64_t now_wall_ns);

/*
 * Forgets epochs whose last batch was flushed before @before_wall_ns: their definitions, and which
 * batches were stored. No batch of them must arrive later. A spool keeps batches for some days.
 */
int segment_db_drop_silent_epochs(struct segment_db *db, uint64_t before_wall_ns);

/* Definitions of an ended epoch are kept for so long after its last batch was flushed. */
#define SEGMENT_DB_SUPERSEDED_NS (24 * 3600 * NSEC_PER_SEC)

/*
 * Drops the definitions of epochs whose last batch was flushed before @before_wall_ns, if the agent
 * has begun a newer epoch. Only a spool can have further batches of them. Such a batch is lost if
 * it uses definitions from before: it gets STORE_NEEDS_NUMBERS, which an agent that has ended
 * cannot answer. So an agent that is started again after its server was away for longer than
 * SEGMENT_DB_SUPERSEDED_NS may lose a part of its spool, if this runs after the first batch of the
 * new epoch was stored, and before the first one of the spool. Which batches were stored is
 * remembered: a retry is still a duplicate. A few seconds for 100 000 epochs, in pieces of some
 * milliseconds.
 */
int segment_db_drop_superseded(struct segment_db *db, uint64_t before_wall_ns);

/*
 * Reads all files: SQLite's check, the checksum of each segment, and whether its index entry is
 * right. Logs the faults, and returns their number.
 */
int segment_db_check(struct segment_db *db, size_t *ret_faults);

#include "common/scoped.h"
DEFINE_SCOPED(struct segment_db *, segment_db_free);
