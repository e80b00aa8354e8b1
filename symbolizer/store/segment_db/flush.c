/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the commits, each of one file, makes a flush atomic (segment_db.h):
 *
 *   1. each day file: segments of earlier flushes that failed are deleted, those of this one added
 *   2. inbox.db: sequences and definitions of the batches, flushed_id, last_flush
 *   3. inbox.db, in small pieces: the payloads are deleted
 *
 * Encoding takes a second for many rows. Batches are accepted meanwhile, into an empty head.
 */

#include <inttypes.h>

#include "common/arena.h"
#include "common/log.h"
#include "symbolizer/store/segment_db/epoch.h"
#include "symbolizer/store/segment_db/segment_db_private.h"
#include "symbolizer/store/segment_db/sequence_set.h"

/* Texts of the infos of one flush. */
#define MAX_INFO_BYTES (256 * MIB)

/* Payloads deleted by one commit: a batch that waits for it waits some milliseconds. */
#define DELETED_PER_COMMIT 64

struct flush_epochs {
	VEC_DEFINE(, struct epoch_change) changes;
};

struct flush *flush_free(struct flush *flush)
{
	if (!flush)
		return NULL;
	for (size_t i = 0; i < flush->builders.count; i++)
		(void)segment_builder_free(flush->builders.items[i]);
	vec_release(&flush->builders);
	for (size_t i = 0; i < flush->segments.count; i++)
		bytes_release(&flush->segments.items[i].content);
	vec_release(&flush->segments);
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

int flush_take(struct segment_db *db, uint64_t upto_id)
{
	scoped(flush_freep) struct flush *flush = NULL;
	struct segment_builder *builder;
	int r;

	if (upto_id == db->state.flushed_id)
		return 0;
	flush = calloc(1, sizeof(*flush));
	if (!flush)
		return -ENOMEM;
	flush->number = db->state.last_flush + 1;
	flush->upto_id = upto_id;
	r = arena_new(MAX_INFO_BYTES, &flush->arena);
	while (r == 0 && head_take(db->head, UINT64_MAX, &builder) > 0) {
		r = vec_push(&flush->builders, builder);
		if (r < 0)
			(void)segment_builder_free(builder);
	}
	if (r == 0)
		db->flush = take_ptr(flush);
	return r;
}

static int encode_one(struct segment_db *db, struct flush *flush, struct segment_builder *builder)
{
	struct flushed_segment flushed = { .content = BYTES_INIT(SEGMENT_MAX_BYTES) };
	scoped(arena_freep) struct arena *arena = NULL;
	struct segment segment;
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

	while (flush->builders.count > 0) {
		struct segment_builder *builder = flush->builders.items[flush->builders.count - 1];
		int r = encode_one(db, flush, builder);

		if (r < 0)
			return r;
		(void)segment_builder_free(builder);
		flush->builders.count--;
	}
	if (flush->segments.count > 0)
		qsort(flush->segments.items, flush->segments.count, sizeof(*flush->segments.items),
		      compare_days);
	return 0;
}

/* Adds the segments [first, end), which are of one day. */
static int write_day(struct segment_db *db, size_t first, size_t end)
{
	const struct flushed_segment *segments = db->flush->segments.items;
	scoped(sqlite_db_freep) struct sqlite_db *day = NULL;
	int r = day_file_open(db->folder, segments[first].day, DAY_FILE_CREATE, &day);

	if (r < 0)
		return r;
	r = sqlite_begin(day);
	if (r == 0)
		r = day_file_delete_later(day, db->state.last_flush);
	for (size_t i = first; i < end && r == 0; i++)
		r = day_file_add(day, &segments[i].info, bytes_view_of(&segments[i].content));
	if (r == 0)
		return sqlite_commit(day);
	sqlite_rollback(day);
	return r;
}

int flush_write_days(struct segment_db *db, uint64_t now_wall_ns)
{
	const struct flush *flush = db->flush;
	size_t end;
	int r = flush_delete_later(db, now_wall_ns);

	for (size_t first = 0; first < flush->segments.count && r == 0; first = end) {
		segment_day day = flush->segments.items[first].day;

		for (end = first; end < flush->segments.count; end++)
			if (flush->segments.items[end].day != day)
				break;
		/* Rows of late batches, which would bring a removed day back. */
		if (day < db->oldest_day)
			continue;
		r = write_day(db, first, end);
		if (r == -EUCLEAN && day_file_set_aside(db->folder, day, now_wall_ns) == 0)
			r = write_day(db, first, end);
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
	scoped(bytes_release) struct bytes sequences = BYTES_INIT(SEGMENT_MAX_BYTES);
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
		r = sqlite_run(db->inbox, INBOX_SQL_META_SET, SQL_INT(flush->number),
			       SQL_INT(flush->upto_id));
	if (r == 0)
		r = sqlite_commit(db->inbox);
	else
		sqlite_rollback(db->inbox);
	if (r < 0)
		return r;
	db->state.last_flush = flush->number;
	db->state.flushed_id = flush->upto_id;
	db->flush = flush_free(db->flush);
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
		(void)pthread_mutex_lock(&db->inbox_lock);
	r = flush_commit(db, epochs, now_wall_ns);
	if (!locked)
		(void)pthread_mutex_unlock(&db->inbox_lock);
	return r;
}

int flush_run(struct segment_db *db, uint64_t upto_id, uint64_t now_wall_ns)
{
	int r = flush_take(db, upto_id);

	if (r == 0 && db->flush)
		r = flush_encode(db);
	if (r == 0 && db->flush)
		r = write_flush(db, true, now_wall_ns);
	return r;
}

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

/* Deletes payloads of batches that are in segments. */
static int delete_payloads(struct segment_db *db)
{
	int n_deleted = 1;
	int r = 0;

	while (r == 0 && n_deleted > 0) {
		(void)pthread_mutex_lock(&db->inbox_lock);
		r = sqlite_run(db->inbox, INBOX_SQL_INBOX_DELETE, SQL_INT(db->state.flushed_id),
			       SQL_INT(DELETED_PER_COMMIT));
		n_deleted = sqlite3_changes(db->inbox->handle);
		(void)pthread_mutex_unlock(&db->inbox_lock);
	}
	return r;
}

/* Makes db->flush of the rows of the head. The caller holds files_lock. */
static int begin_flush(struct segment_db *db, uint64_t now_wall_ns)
{
	int r = 0;

	(void)pthread_mutex_lock(&db->inbox_lock);
	if (db->head_is_incomplete)
		r = replay(db, now_wall_ns);
	if (r == 0) {
		r = flush_take(db, db->state.max_id);
		db->head_is_incomplete = r < 0;
	}
	(void)pthread_mutex_unlock(&db->inbox_lock);
	return r;
}

static int encode_flush(struct segment_db *db)
{
	int r = flush_encode(db);

	if (r == 0)
		return 0;
	db->flush = flush_free(db->flush);
	(void)pthread_mutex_lock(&db->inbox_lock);
	db->head_is_incomplete = true;
	(void)pthread_mutex_unlock(&db->inbox_lock);
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

int segment_db_flush(struct segment_db *db, uint64_t now_wall_ns)
{
	int r;

	(void)pthread_mutex_lock(&db->files_lock);
	r = flush_all(db, now_wall_ns);
	(void)pthread_mutex_unlock(&db->files_lock);
	return r;
}
