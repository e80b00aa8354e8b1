/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forgets epochs, or only their definitions, in commits of a bounded number of epochs: batches wait
 * for each of them.
 */

#include "symbolizer/store/segment_db/segment_db_private.h"

/* Epochs deleted by one commit. */
#define EPOCHS_PER_COMMIT 64

/* Epochs that one piece of work looks at, if it deletes fewer: some milliseconds. */
#define EPOCHS_PER_LOOK 512

/*
 * Drops the definitions in memory of an epoch: else batches would be accepted with definitions that
 * only the memory has. The columns of @row from @first on are tenant, agent and epoch.
 */
static int forget(struct segment_db *db, sqlite3_stmt *row, int first)
{
	const struct bytes_view agent = sqlite_blob(row, first + 1);
	struct batch batch = {};

	if (agent.size != sizeof(batch.agent_id))
		return -EUCLEAN;
	memcpy(&batch.agent_id, agent.data, agent.size);
	batch.epoch = (uint64_t)sqlite3_column_int64(row, first + 2);
	head_forget(db->head, sqlite_text(row, first), &batch);
	return 0;
}

/* Deletes the first silent epoch. 1, or 0: there is none. */
static int drop_epoch(struct segment_db *db, uint64_t before_wall_ns)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int64_t epoch;
	int r = sqlite_query(db->inbox, INBOX_SQL_EPOCH_SILENT, &row, SQL_INT(before_wall_ns));

	if (r <= 0)
		return r;
	epoch = sqlite3_column_int64(row, 0);
	r = forget(db, row, 1);
	sqlite_resetp(&row);
	if (r < 0)
		return r;
	r = sqlite_run(db->inbox, INBOX_SQL_CHUNK_DELETE, SQL_INT(epoch));
	if (r == 0)
		r = sqlite_run(db->inbox, INBOX_SQL_EPOCH_DELETE, SQL_INT(epoch));
	return r < 0 ? r : 1;
}

/* The caller holds inbox_lock. Returns the number of dropped epochs. */
static int drop_some_epochs(struct segment_db *db, uint64_t before_wall_ns)
{
	int n = 0;
	int r = sqlite_begin(db->inbox);

	if (r < 0)
		return r;
	do {
		r = drop_epoch(db, before_wall_ns);
		n += r > 0;
	} while (r > 0 && n < EPOCHS_PER_COMMIT);
	if (r >= 0)
		r = sqlite_commit(db->inbox);
	else
		sqlite_rollback(db->inbox);
	return r < 0 ? r : n;
}

int segment_db_drop_silent_epochs(struct segment_db *db, uint64_t before_wall_ns)
{
	int r;

	do {
		fair_lock_take(&db->inbox_lock);
		r = drop_some_epochs(db, before_wall_ns);
		fair_lock_give(&db->inbox_lock);
	} while (r > 0);
	return r;
}

/* A walk over the epochs that have definitions on disk. */
struct superseded_walk {
	struct segment_db *db;
	uint64_t before_wall_ns;
	int64_t epoch; /* of the last one */
	size_t n_dropped;
};

/* Moves to the next epoch. 1, or 0: there is none. */
static int next_epoch(struct superseded_walk *walk)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(walk->db->inbox, INBOX_SQL_CHUNK_NEXT_EPOCH, &row,
			     SQL_INT(walk->epoch));

	if (r <= 0 || sqlite3_column_type(row, 0) == SQLITE_NULL)
		return MIN(r, 0);
	walk->epoch = sqlite3_column_int64(row, 0);
	return 1;
}

static int drop_if_superseded(struct superseded_walk *walk)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(walk->db->inbox, INBOX_SQL_EPOCH_SUPERSEDED, &row,
			     SQL_INT(walk->epoch), SQL_INT(walk->before_wall_ns));

	if (r <= 0)
		return r;
	r = forget(walk->db, row, 0);
	sqlite_resetp(&row);
	if (r == 0)
		r = sqlite_run(walk->db->inbox, INBOX_SQL_CHUNK_DELETE, SQL_INT(walk->epoch));
	walk->n_dropped++;
	return r;
}

/* The caller holds inbox_lock. 1: there are more epochs, 0: no. */
static int drop_some_superseded(struct superseded_walk *walk)
{
	int r = sqlite_begin(walk->db->inbox);
	bool has_more = true;

	if (r < 0)
		return r;
	walk->n_dropped = 0;
	for (size_t i = 0; i < EPOCHS_PER_LOOK && walk->n_dropped < EPOCHS_PER_COMMIT; i++) {
		r = next_epoch(walk);
		has_more = r > 0;
		if (r > 0)
			r = drop_if_superseded(walk);
		if (r < 0 || !has_more)
			break;
	}
	if (r >= 0)
		r = sqlite_commit(walk->db->inbox);
	else
		sqlite_rollback(walk->db->inbox);
	return r < 0 ? r : has_more;
}

int segment_db_drop_superseded(struct segment_db *db, uint64_t before_wall_ns)
{
	struct superseded_walk walk = { .db = db, .before_wall_ns = before_wall_ns };
	int r;

	do {
		fair_lock_take(&db->inbox_lock);
		r = drop_some_superseded(&walk);
		fair_lock_give(&db->inbox_lock);
	} while (r > 0);
	return r;
}
