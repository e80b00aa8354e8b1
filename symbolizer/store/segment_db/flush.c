/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the commits, each of one file, makes a flush atomic (segment_db.h):
 *
 *   1. each day file: segments and batches of earlier flushes that failed are deleted, those of
 *      this one added
 *   2. inbox.db: sequences and definitions of the batches, flushed_id, last_flush
 *   3. inbox.db, in small pieces: the payloads are deleted
 *
 * Encoding takes a second for many rows. Batches are accepted meanwhile, into an empty head.
 */

#include <inttypes.h>

#include "common/arena.h"
#include "common/limits.h"
#include "common/log.h"
#include "symbolizer/store/segment_db/epoch.h"
#include "symbolizer/store/segment_db/log_file.h"
#include "symbolizer/store/segment_db/segment_db_private.h"
#include "symbolizer/store/segment_db/sequence_set.h"

/* Texts of the infos of one flush, and names of their labels. */
#define MAX_INFO_BYTES (256 * MIB)

/* Tenant, service, event type and unit. */
static_assert(HEAD_MAX_SEGMENTS * 4 * BATCH_MAX_TEXT_BYTES <= MAX_INFO_BYTES / 2,
	      "infos of all segments of a head");

/* Payloads deleted by one commit: a batch that waits for it waits some milliseconds. */
#define DELETED_PER_COMMIT 64

struct flush_epochs {
	VEC_DEFINE(, struct epoch_change) changes;
};

struct flush *flush_free(struct flush *flush)
{
	if (!flush)
		return NULL;
	for (size_t i = 0; i < flush->taken.count; i++)
		(void)segment_builder_free(flush->taken.items[i].builder);
	vec_release(&flush->taken);
	for (size_t i = 0; i < flush->segments.count; i++)
		bytes_release(&flush->segments.items[i].content);
	vec_release(&flush->segments);
	label_names_release(&flush->labels);
	executable_rows_release(&flush->executables);
	(void)arena_free(flush->arena);
	free(flush);
	return NULL;
}

struct flush_epochs *flush_epochs_free(struct flush_epochs *epochs)
{
	if (!epochs)
		return NULL;
	for (size_t i = 0; i < epochs->changes.count; i++)
		epoch_change_release(&epochs->changes.items[i]);
	vec_release(&epochs->changes);
	free(epochs);
	return NULL;
}

static int take_log(struct segment_db *db)
{
	struct batch_log *log;
	int r = batch_log_new(&log);

	if (r < 0)
		return r;
	assert(!db->flushed_log); /* a flush that failed to encode is followed by replay() */
	db->flushed_log = db->log;
	db->log = log;
	return 0;
}

int flush_take(struct segment_db *db, uint64_t upto_id)
{
	scoped(flush_freep) struct flush *flush = NULL;
	struct head_segment segment;
	int r;

	if (upto_id == db->state.flushed_id)
		return 0;
	flush = calloc(1, sizeof(*flush));
	if (!flush)
		return -ENOMEM;
	flush->number = db->state.last_flush + 1;
	flush->upto_id = upto_id;
	r = arena_new(MAX_INFO_BYTES, &flush->arena);
	if (r == 0)
		r = take_log(db);
	while (r == 0 && head_take(db->head, UINT64_MAX, &segment) > 0) {
		r = vec_push(&flush->taken, segment);
		if (r < 0)
			(void)segment_builder_free(segment.builder);
	}
	if (r == 0)
		db->flush = take_ptr(flush);
	return r;
}

static int encode_one(struct segment_db *db, struct flush *flush,
		      const struct segment_builder *builder)
{
	struct flushed_segment flushed = { .content = BYTES_INIT(SEGMENT_DB_MAX_SEGMENT_BYTES) };
	scoped(arena_freep) struct arena *arena = NULL;
	struct segment segment;
	struct labeled_segment labeled;
	int r;

	r = arena_new(SEGMENT_ARENA_BYTES, &arena);
	if (r == 0)
		r = segment_builder_finish(builder, arena, &segment);
	if (r < 0 || segment.count[SEGMENT_ROW] == 0)
		return r;
	r = segment_info_of(&segment, flush->arena, &flushed.info);
	if (r == 0)
		r = segment_encode(&segment, &db->codec, &flushed.content);
	flushed.info.flush = flush->number;
	flushed.day = segment_day_of_slot(flushed.info.first_slot);
	labeled = (struct labeled_segment){ .day = flushed.day,
					    .tenant = flushed.info.tenant,
					    .segment = &segment };
	if (r == 0)
		r = label_names_add(&flush->labels, &labeled, flush->arena);
	if (r == 0)
		r = executable_rows_add(&flush->executables, &labeled);
	if (r == 0)
		r = vec_push(&flush->segments, flushed);
	if (r < 0)
		bytes_release(&flushed.content);
	return r;
}

static int compare_days(const void *a, const void *b)
{
	const struct flushed_segment *left = a, *right = b;

	return (left->day > right->day) - (left->day < right->day);
}

int flush_encode(struct segment_db *db)
{
	struct flush *flush = db->flush;

	for (size_t i = 0; i < flush->taken.count; i++) {
		int r = encode_one(db, flush, flush->taken.items[i].builder);

		if (r < 0)
			return r;
	}
	if (flush->segments.count > 0)
		qsort(flush->segments.items, flush->segments.count, sizeof(*flush->segments.items),
		      compare_days);
	return 0;
}

/* The segments [first, end) of the flush, which are those of one day. There may be none. */
struct flushed_day {
	segment_day day;
	size_t first, end;
};

/* Adds the segments and batches of a day. */
static int write_day(struct segment_db *db, const struct flushed_day *flushed)
{
	const struct flushed_segment *segments = db->flush->segments.items;
	scoped(sqlite_db_freep) struct sqlite_db *day = NULL;
	int r = day_file_open(db->folder, flushed->day, DAY_FILE_CREATE, &day);

	if (r < 0)
		return r;
	r = sqlite_begin(day);
	if (r == 0)
		r = day_file_delete_later(day, db->state.last_flush);
	for (size_t i = flushed->first; i < flushed->end && r == 0; i++)
		r = day_file_add(day, &segments[i].info, bytes_view_of(&segments[i].content));
	if (r == 0)
		r = log_file_add(day, db->flushed_log, flushed->day, db->flush->number);
	if (r == 0)
		r = label_names_write(&db->flush->labels, flushed->day, day);
	if (r == 0)
		r = executable_rows_write(&db->flush->executables, flushed->day, day);
	if (r == 0)
		return sqlite_commit(day);
	sqlite_rollback(day);
	return r;
}

static int compare_day_numbers(const void *a, const void *b)
{
	segment_day left = *(const segment_day *)a, right = *(const segment_day *)b;

	return (left > right) - (left < right);
}

/* The days of segments and batches, ascending. A day may be there several times. */
static int find_days(const struct segment_db *db, struct segment_days *days)
{
	const struct flush *flush = db->flush;
	int r = log_days(db->flushed_log, days);

	for (size_t i = 0; i < flush->segments.count && r == 0; i++)
		r = vec_push(days, flush->segments.items[i].day);
	if (r == 0 && days->count > 0)
		qsort(days->items, days->count, sizeof(*days->items), compare_day_numbers);
	return r;
}

/* Moves on to @day, which is later. */
static void next_day(const struct flush *flush, segment_day day, struct flushed_day *flushed)
{
	flushed->day = day;
	flushed->first = flushed->end;
	while (flushed->end < flush->segments.count &&
	       flush->segments.items[flushed->end].day == day)
		flushed->end++;
}

int flush_write_days(struct segment_db *db, uint64_t now_wall_ns)
{
	scoped(segment_days_release) struct segment_days days = {};
	struct flushed_day flushed = {};
	int r = flush_delete_later(db, now_wall_ns);

	if (r == 0)
		r = find_days(db, &days);
	for (size_t i = 0; i < days.count && r == 0; i++) {
		if (i > 0 && days.items[i] == days.items[i - 1])
			continue;
		next_day(db->flush, days.items[i], &flushed);
		/* Rows of late batches, which would bring a removed day back. */
		if (flushed.day < db->oldest_day)
			continue;
		r = write_day(db, &flushed);
		if (r == -EUCLEAN && day_file_set_aside(db->folder, flushed.day, now_wall_ns) == 0)
			r = write_day(db, &flushed);
	}
	return r;
}

static int prepare_epoch(struct segment_db *db, int64_t epoch, struct flush_epochs *epochs)
{
	struct epoch_change change;
	int r = epoch_make_chunk(db, db->inbox_files, epoch, db->flush->upto_id, &change);

	if (r == 0)
		r = vec_push(&epochs->changes, change);
	if (r < 0)
		epoch_change_release(&change);
	return r;
}

int flush_prepare(struct segment_db *db, struct flush_epochs **ret_epochs)
{
	scoped(flush_epochs_freep) struct flush_epochs *epochs = calloc(1, sizeof(*epochs));
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	if (!epochs)
		return -ENOMEM;
	r = sqlite_query(db->inbox_files, INBOX_SQL_INBOX_EPOCHS, &row,
			 SQL_INT(db->state.flushed_id), SQL_INT(db->flush->upto_id));
	while (r > 0) {
		r = prepare_epoch(db, sqlite3_column_int64(row, 0), epochs);
		if (r == 0)
			r = sqlite_step(db->inbox_files, row);
	}
	if (r < 0)
		return r;
	*ret_epochs = take_ptr(epochs);
	return 0;
}

static int read_sequences(struct segment_db *db, int64_t epoch, struct sequence_set *set)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(db->inbox, INBOX_SQL_EPOCH_SEQUENCES, &row, SQL_INT(epoch));

	if (r <= 0)
		return r < 0 ? r : -EUCLEAN;
	return sequence_set_decode(sqlite_blob(row, 0), set);
}

static int add_sequences(struct segment_db *db, int64_t epoch, struct sequence_set *set)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(db->inbox, INBOX_SQL_INBOX_SEQUENCES, &row, SQL_INT(epoch),
			     SQL_INT(db->state.flushed_id), SQL_INT(db->flush->upto_id));

	while (r > 0) {
		r = sequence_set_add(set, (uint64_t)sqlite3_column_int64(row, 0));
		if (r == 0)
			r = sqlite_step(db->inbox, row);
	}
	return r;
}

static int save_epoch(struct segment_db *db, const struct epoch_change *change,
		      uint64_t now_wall_ns)
{
	scoped(sequence_set_release) struct sequence_set set = {};
	scoped(bytes_release) struct bytes sequences = BYTES_INIT(SEGMENT_DB_MAX_SEGMENT_BYTES);
	int r = read_sequences(db, change->epoch, &set);

	if (r == 0)
		r = add_sequences(db, change->epoch, &set);
	if (r == 0)
		r = sequence_set_encode(&set, &sequences);
	if (r == 0)
		r = sqlite_run(db->inbox, INBOX_SQL_EPOCH_SET, SQL_INT(change->epoch),
			       SQL_BLOB(sequences.data, sequences.size), SQL_INT(now_wall_ns));
	if (r == 0 && change->replaces_chunks)
		r = sqlite_run(db->inbox, INBOX_SQL_CHUNK_DELETE, SQL_INT(change->epoch));
	if (r == 0 && change->chunk.size > 0)
		r = sqlite_run(db->inbox, INBOX_SQL_CHUNK_ADD, SQL_INT(change->epoch),
			       SQL_BLOB(change->chunk.data, change->chunk.size));
	return r;
}

int flush_commit(struct segment_db *db, struct flush_epochs *epochs, uint64_t now_wall_ns)
{
	const struct flush *flush = db->flush;
	int r = sqlite_begin(db->inbox);

	for (size_t i = 0; i < epochs->changes.count && r == 0; i++)
		r = save_epoch(db, &epochs->changes.items[i], now_wall_ns);
	if (r == 0)
		r = host_table_save(db->hosts, db->inbox);
	if (r == 0)
		r = sqlite_run(db->inbox, INBOX_SQL_META_SET, SQL_INT(flush->number),
			       SQL_INT(flush->upto_id));
	if (r == 0)
		r = sqlite_commit(db->inbox);
	else
		sqlite_rollback(db->inbox);
	if (r < 0)
		return r;
	host_table_saved(db->hosts);
	db->state.last_flush = flush->number;
	db->state.flushed_id = flush->upto_id;
	db->flush = flush_free(db->flush);
	db->flushed_log = batch_log_unref(db->flushed_log);
	return 0;
}

/* Writes db->flush. *@locked: the caller holds inbox_lock; else it is taken for the commit. */
static int write_flush(struct segment_db *db, bool locked, uint64_t now_wall_ns)
{
	scoped(flush_epochs_freep) struct flush_epochs *epochs = NULL;
	int r;

	r = flush_write_days(db, now_wall_ns);
	if (r == 0)
		r = flush_prepare(db, &epochs);
	if (r < 0)
		return r;
	if (!locked)
		fair_lock_take(&db->inbox_lock);
	r = flush_commit(db, epochs, now_wall_ns);
	if (!locked)
		fair_lock_give(&db->inbox_lock);
	return r;
}

/*
 * A part of the segments must not be committed: the payloads of the others would be deleted. The
 * caller holds inbox_lock.
 */
static void drop_flush(struct segment_db *db)
{
	db->flush = flush_free(db->flush);
	db->head_is_incomplete = true;
}

int flush_run(struct segment_db *db, uint64_t upto_id, uint64_t now_wall_ns)
{
	int r = flush_take(db, upto_id);

	if (r == 0 && db->flush)
		r = flush_encode(db);
	if (r < 0) {
		drop_flush(db);
		return r;
	}
	return db->flush ? write_flush(db, true, now_wall_ns) : 0;
}

/* Deletes payloads of batches that are in segments. */
static int delete_payloads(struct segment_db *db)
{
	int n_deleted = 1;
	int r = 0;

	while (r == 0 && n_deleted > 0) {
		fair_lock_take(&db->inbox_lock);
		r = sqlite_run(db->inbox, INBOX_SQL_INBOX_DELETE, SQL_INT(db->state.flushed_id),
			       SQL_INT(DELETED_PER_COMMIT));
		n_deleted = sqlite3_changes(db->inbox->handle);
		fair_lock_give(&db->inbox_lock);
	}
	return r;
}

/* Makes db->flush of the rows of the head. The caller holds files_lock. */
static int begin_flush(struct segment_db *db, uint64_t now_wall_ns)
{
	int r = 0;

	fair_lock_take(&db->inbox_lock);
	if (db->head_is_incomplete)
		r = replay(db, now_wall_ns);
	if (r == 0) {
		r = flush_take(db, db->state.max_id);
		db->head_is_incomplete = r < 0;
	}
	fair_lock_give(&db->inbox_lock);
	return r;
}

static int encode_flush(struct segment_db *db)
{
	int r = flush_encode(db);

	if (r == 0)
		return 0;
	fair_lock_take(&db->inbox_lock);
	drop_flush(db);
	fair_lock_give(&db->inbox_lock);
	return r;
}

int flush_all(struct segment_db *db, uint64_t now_wall_ns)
{
	int r = 0;

	/* The one that failed before. */
	if (db->flush)
		r = write_flush(db, false, now_wall_ns);
	if (r == 0)
		r = begin_flush(db, now_wall_ns);
	if (r == 0 && db->flush)
		r = encode_flush(db);
	if (r == 0 && db->flush)
		r = write_flush(db, false, now_wall_ns);
	return r < 0 ? r : delete_payloads(db);
}

int flush_now(struct segment_db *db, uint64_t now_wall_ns)
{
	int r;

	fair_lock_take(&db->files_lock);
	r = flush_all(db, now_wall_ns);
	fair_lock_give(&db->files_lock);
	return r;
}

int segment_db_flush(struct segment_db *db, uint64_t now_wall_ns)
{
	int r = flush_now(db, now_wall_ns);

	/* The rows are written. If there is no space for this, a later flush does it. */
	if (r == 0)
		(void)vacuum_inbox(db);
	return r;
}
