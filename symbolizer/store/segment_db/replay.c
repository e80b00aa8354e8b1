/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the head again: after a start, and after an error left it without some rows. Batches are
 * added in the order in which they were accepted. If they do not fit into the head, the first ones
 * are flushed.
 */

#include <inttypes.h>

#include "common/arena.h"
#include "common/limits.h"
#include "common/log.h"
#include "symbolizer/store/segment_db/epoch.h"
#include "symbolizer/store/segment_db/segment_db_private.h"

/* The batch that is added next. */
struct replayed {
	uint64_t id;
	int64_t epoch;
	unsigned int flags;
	uint64_t arrived_wall_ns;
	char *tenant; /* in @arena */
	struct batch batch;
	struct arena *arena;
};

static int decode_row(const struct segment_db *db, sqlite3_stmt *row, struct replayed *replayed)
{
	const struct segment_db_decoder *decoder = &db->options.decoder;
	const char *tenant = sqlite_text(row, 5);

	arena_clear(replayed->arena);
	replayed->id = (uint64_t)sqlite3_column_int64(row, 0);
	replayed->epoch = sqlite3_column_int64(row, 1);
	replayed->flags = (unsigned int)sqlite3_column_int(row, 3);
	replayed->arrived_wall_ns = (uint64_t)sqlite3_column_int64(row, 6);
	replayed->tenant = arena_copy_text(replayed->arena, tenant, strlen(tenant));
	if (!replayed->tenant)
		return -ENOMEM;
	return decoder->decode(decoder->arg, sqlite_blob(row, 4), sqlite3_column_int64(row, 2),
			       replayed->arena, &replayed->batch);
}

/* 1 a batch, 0 none. Batches that cannot be decoded, because the disk damaged them, are skipped. */
static int next_batch(struct segment_db *db, struct replayed *replayed)
{
	int r;

	do {
		scoped(sqlite_resetp) sqlite3_stmt *row = NULL;

		r = sqlite_query(db->inbox, INBOX_SQL_INBOX_NEXT, &row, SQL_INT(replayed->id));
		if (r <= 0)
			return r;
		r = decode_row(db, row, replayed);
		if (r == -EBADMSG)
			log_error("batch %" PRIu64 " in '%s/inbox.db' is damaged: its samples are "
				  "lost",
				  replayed->id, db->folder);
	} while (r == -EBADMSG);
	return r < 0 ? r : 1;
}

/* Loads the definitions of all batches of the epoch up to this one. */
static int load_numbers(struct segment_db *db, const struct replayed *replayed)
{
	struct numbers *numbers;
	int r = epoch_load_numbers(db, db->inbox, replayed->epoch, replayed->id, &numbers);

	if (r < 0)
		return r;
	return head_set_numbers_take(db->head, replayed->tenant, &replayed->batch, numbers);
}

/* Learns the definitions of the batch. enum store_outcome or negative errno. */
static int learn(struct segment_db *db, struct replayed *replayed)
{
	struct store_missing missing;
	int r = 0;

	if (replayed->flags & INBOX_RESETS)
		head_forget(db->head, replayed->tenant, &replayed->batch);
	if (!head_knows(db->head, replayed->tenant, &replayed->batch))
		r = load_numbers(db, replayed);
	if (r == 0)
		r = head_learn(db->head, replayed->tenant, &replayed->batch, replayed->arena,
			       &missing);
	if (r != -ENOSPC)
		return r;
	/* The definitions need more than the limit that is now configured. */
	r = load_numbers(db, replayed);
	if (r == 0)
		r = head_learn(db->head, replayed->tenant, &replayed->batch, replayed->arena,
			       &missing);
	return r;
}

static int add_batch(struct segment_db *db, struct replayed *replayed)
{
	int r = segment_db_note_batch(db, replayed->tenant, &replayed->batch,
				      replayed->arrived_wall_ns);

	head_trim_numbers(db->head);
	if (r == 0)
		r = learn(db, replayed);
	if (r == STORE_NEEDS_NUMBERS) {
		log_error("batch %" PRIu64 " in '%s/inbox.db' uses definitions that are not there: "
			  "its samples are lost",
			  replayed->id, db->folder);
		return 0;
	}
	return r < 0 ? r : head_add_rows(db->head, replayed->tenant, &replayed->batch);
}

static int add_batches(struct segment_db *db, struct replayed *replayed, uint64_t now_wall_ns)
{
	uint64_t last_id;
	int r;

	replayed->id = db->state.flushed_id;
	for (;;) {
		last_id = replayed->id;
		r = next_batch(db, replayed);
		if (r <= 0)
			return r;
		if (segment_db_is_full(db))
			r = flush_run(db, last_id, now_wall_ns);
		if (r >= 0)
			r = add_batch(db, replayed);
		if (r < 0)
			return r;
	}
}

int replay(struct segment_db *db, uint64_t now_wall_ns)
{
	struct replayed replayed = {};
	struct batch_log *log;
	struct head *head;
	int r;

	r = batch_log_new(&log);
	if (r < 0)
		return r;
	r = segment_db_new_head(db, &head);
	if (r < 0) {
		(void)batch_log_unref(log);
		return r;
	}
	(void)head_free(db->head);
	db->head = head;
	(void)batch_log_unref(db->log);
	db->log = log;
	db->flushed_log = batch_log_unref(db->flushed_log);
	db->generation++;
	db->head_is_incomplete = true;
	/* Its rows are in the inbox. A part of it may be in day files. */
	if (db->flush)
		db->has_later_segments = true;
	db->flush = flush_free(db->flush);
	r = arena_new(BATCH_MAX_DECODED_BYTES, &replayed.arena);
	if (r == 0)
		r = add_batches(db, &replayed, now_wall_ns);
	(void)arena_free(replayed.arena);
	if (r == 0)
		db->head_is_incomplete = false;
	return r;
}
