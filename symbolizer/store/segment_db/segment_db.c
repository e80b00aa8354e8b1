/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch is learned (definitions, check of its numbers) before its payload is in the inbox. Its
 * rows are added after the commit, because the head cannot remove rows again. If adding fails, the
 * head lacks rows that are durable, and is made again from the inbox before it is used.
 *
 * A group has one batch of an epoch at most: a second one could make the definitions full, which
 * would drop those of the first one before its rows are added.
 */

#include "symbolizer/store/segment_db/segment_db.h"

#include "common/log.h"
#include "symbolizer/store/segment_db/epoch.h"
#include "symbolizer/store/segment_db/segment_db_private.h"
#include "symbolizer/store/segment_db/sequence_set.h"

struct segment_db *segment_db_free(struct segment_db *db)
{
	if (!db)
		return NULL;
	(void)flush_free(db->flush);
	(void)head_free(db->head);
	(void)sqlite_db_free(db->inbox);
	(void)sqlite_db_free(db->inbox_files);
	segment_codec_release(&db->codec);
	(void)pthread_mutex_destroy(&db->files_lock);
	(void)pthread_mutex_destroy(&db->inbox_lock);
	free(db->folder);
	free(db);
	return NULL;
}

/* The disk may be full at a start: reading, and removing old days, must be possible. */
static int recover(struct segment_db *db)
{
	int r = flush_delete_later(db, 0);

	if (r == 0)
		r = replay(db, 0);
	if (r != -ENOSPC)
		return r;
	db->head_is_incomplete = true;
	(void)log_warn_errno(r,
			     "cannot read all batches of '%s/inbox.db': no batch is accepted "
			     "until there is space: %m",
			     db->folder);
	return 0;
}

int segment_db_open(const struct segment_db_options *options, struct segment_db **ret_db)
{
	scoped(segment_db_freep) struct segment_db *db = calloc(1, sizeof(*db));
	int r;

	if (!db)
		return -ENOMEM;
	(void)pthread_mutex_init(&db->files_lock, NULL);
	(void)pthread_mutex_init(&db->inbox_lock, NULL);
	db->options = *options;
	db->has_later_segments = true;
	db->folder = strdup(options->folder);
	if (!db->folder)
		return -ENOMEM;
	db->options.folder = db->folder;
	r = inbox_open(db->folder, &db->inbox);
	if (r == 0)
		r = inbox_open(db->folder, &db->inbox_files);
	if (r == 0)
		r = inbox_read_state(db->inbox, &db->state);
	if (r == 0)
		r = segment_db_new_head(db, &db->head);
	if (r == 0)
		r = recover(db);
	if (r < 0)
		return r;
	*ret_db = take_ptr(db);
	return 0;
}

/* A batch while its group is written. */
struct group_write {
	struct segment_db *db;
	struct segment_db_write *write;
	uint64_t now_wall_ns;
	int64_t epoch; /* row in inbox.db; 0: none yet */
	unsigned int flags;
};

static bool has_definitions(const struct batch *batch)
{
	return batch->n_executables || batch->n_code_objects || batch->n_processes ||
	       batch->n_series || batch->n_stacks || batch->n_named_frames;
}

/* Finds the epoch. 1 the batch was stored before, 0 not; -EFBIG: too many gaps. */
static int find_epoch(struct group_write *group_write)
{
	const struct batch *batch = group_write->write->batch;
	scoped(sequence_set_release) struct sequence_set set = {};
	struct sqlite_db *inbox = group_write->db->inbox;
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	scoped(sqlite_resetp) sqlite3_stmt *waiting = NULL;
	int r;

	r = sqlite_query(inbox, INBOX_SQL_EPOCH_FIND, &row, SQL_TEXT(group_write->write->tenant),
			 SQL_BLOB(&batch->agent_id, sizeof(batch->agent_id)),
			 SQL_INT(batch->epoch));
	if (r <= 0)
		return r;
	group_write->epoch = sqlite3_column_int64(row, 0);
	r = sequence_set_decode(sqlite_blob(row, 1), &set);
	if (r < 0)
		return r == -EBADMSG ? -EUCLEAN : r;
	if (sequence_set_has(&set, batch->sequence))
		return 1;
	if (!sequence_set_has_room(&set, batch->sequence))
		return -EFBIG;
	r = sqlite_query(inbox, INBOX_SQL_INBOX_HAS, &waiting, SQL_INT(group_write->epoch),
			 SQL_INT(batch->sequence));
	return r;
}

static int load_numbers(struct group_write *group_write)
{
	struct segment_db *db = group_write->db;
	struct segment_db_write *write = group_write->write;
	struct numbers *numbers;
	int r;

	if (group_write->epoch == 0 || head_knows(db->head, write->tenant, write->batch))
		return 0;
	r = epoch_load_numbers(db, db->inbox, group_write->epoch, db->state.max_id, &numbers);
	if (r < 0)
		return r;
	return head_set_numbers_take(db->head, write->tenant, write->batch, numbers);
}

static int learn(struct group_write *group_write)
{
	struct segment_db_write *write = group_write->write;
	struct head *head = group_write->db->head;
	int r;

	r = load_numbers(group_write);
	if (r == 0)
		r = head_learn(head, write->tenant, write->batch, write->arena, write->ret_missing);
	if (r != -ENOSPC)
		return r;
	head_forget(head, write->tenant, write->batch);
	group_write->flags |= INBOX_RESETS;
	r = head_learn(head, write->tenant, write->batch, write->arena, write->ret_missing);
	/* Only a batch in the inbox can drop the definitions of those before. */
	if (r != STORE_STORED)
		head_forget(head, write->tenant, write->batch);
	return r == -ENOSPC ? -EFBIG : r;
}

static int add_epoch(struct group_write *group_write)
{
	const struct batch *batch = group_write->write->batch;
	struct sqlite_db *inbox = group_write->db->inbox;
	int r;

	if (group_write->epoch != 0)
		return 0;
	r = sqlite_run(inbox, INBOX_SQL_EPOCH_ADD, SQL_TEXT(group_write->write->tenant),
		       SQL_BLOB(&batch->agent_id, sizeof(batch->agent_id)), SQL_INT(batch->epoch),
		       SQL_INT(group_write->now_wall_ns));
	if (r == 0)
		group_write->epoch = sqlite_last_id(inbox);
	return r;
}

static int add_payload(struct group_write *group_write, uint64_t id)
{
	const struct segment_db_write *write = group_write->write;

	if (has_definitions(write->batch))
		group_write->flags |= INBOX_DEFINES;
	return sqlite_run(group_write->db->inbox, INBOX_SQL_INBOX_ADD, SQL_INT(id),
			  SQL_INT(group_write->epoch), SQL_INT(write->batch->sequence),
			  SQL_INT(write->step_ns), SQL_INT(group_write->flags),
			  SQL_BLOB(write->payload.data, write->payload.size));
}

/* Whether all rows are of days that were removed. */
static bool is_too_old(const struct group_write *group_write)
{
	const struct batch *batch = group_write->write->batch;

	for (uint32_t i = 0; i < batch->n_rows; i++)
		if (segment_day_of_slot(batch->rows[i].slot) >= group_write->db->oldest_day)
			return false;
	return batch->n_rows > 0;
}

/* enum store_outcome or negative errno. */
static int put_in_inbox(struct group_write *group_write, uint64_t id)
{
	int r = find_epoch(group_write);

	if (r != 0)
		return r < 0 ? r : STORE_DUPLICATE;
	if (is_too_old(group_write))
		return STORE_TOO_OLD;
	r = learn(group_write);
	if (r != STORE_STORED)
		return r;
	r = add_epoch(group_write);
	if (r == 0)
		r = add_payload(group_write, id);
	return r < 0 ? r : STORE_STORED;
}

static bool is_same_epoch(const struct segment_db_write *a, const struct segment_db_write *b)
{
	return a->batch->epoch == b->batch->epoch &&
	       hash128_equal(&a->batch->agent_id, &b->batch->agent_id) &&
	       strcmp(a->tenant, b->tenant) == 0;
}

static bool has_epoch(const struct segment_db_write *writes, size_t count,
		      const struct segment_db_write *write)
{
	for (size_t i = 0; i < count; i++)
		if (is_same_epoch(&writes[i], write))
			return true;
	return false;
}

static void fail_all(struct segment_db_write *writes, size_t count, int error)
{
	for (size_t i = 0; i < count; i++)
		writes[i].result = error;
}

/* Results that do not depend on the commit stay. */
static void fail_stored(struct segment_db_write *writes, size_t count, int error)
{
	for (size_t i = 0; i < count; i++)
		if (writes[i].result == STORE_STORED)
			writes[i].result = error;
}

/*
 * Puts the batch into the open transaction, or leaves the transaction as it was. Some errors, as a
 * full disk, end the transaction: they are returned.
 */
static int write_one(struct segment_db *db, struct segment_db_write *write, uint64_t id,
		     uint64_t now_wall_ns)
{
	struct group_write group_write = { .db = db, .write = write, .now_wall_ns = now_wall_ns };
	int r = sqlite_savepoint(db->inbox);

	if (r < 0)
		return r;
	write->result = put_in_inbox(&group_write, id);
	if (!sqlite_in_transaction(db->inbox))
		return write->result < 0 ? write->result : -EIO;
	return write->result < 0 ? sqlite_undo_savepoint(db->inbox)
				 : sqlite_release_savepoint(db->inbox);
}

/* The rows of batches that are durable. */
static void add_rows(struct segment_db *db, const struct segment_db_write *writes, size_t count)
{
	for (size_t i = 0; i < count && !db->head_is_incomplete; i++)
		if (writes[i].result == STORE_STORED)
			db->head_is_incomplete =
				head_add_rows(db->head, writes[i].tenant, writes[i].batch) < 0;
}

/* The caller holds inbox_lock. Returns the number of batches in the group. */
static size_t write_group(struct segment_db *db, struct segment_db_write *writes, size_t count,
			  uint64_t now_wall_ns)
{
	uint64_t id = db->state.max_id;
	size_t n = 0;
	int r = sqlite_begin(db->inbox);

	count = MIN(count, MAX(db->options.max_agents / 2, (size_t)1));
	while (r == 0 && n < count && !has_epoch(writes, n, &writes[n])) {
		r = write_one(db, &writes[n], id + 1, now_wall_ns);
		id += writes[n].result == STORE_STORED;
		n++;
	}
	if (r == 0)
		r = sqlite_commit(db->inbox);
	if (r < 0) {
		sqlite_rollback(db->inbox);
		fail_stored(writes, n, r);
		if (n == 0)
			writes[n++].result = r;
		return n;
	}
	db->state.max_id = id;
	add_rows(db, writes, n);
	return n;
}

/* Whether rows can be added to the head. The caller holds inbox_lock. */
static bool head_is_ready(const struct segment_db *db)
{
	return !db->head_is_incomplete && !head_is_full(db->head);
}

size_t segment_db_write(struct segment_db *db, struct segment_db_write *writes, size_t count,
			uint64_t now_wall_ns)
{
	size_t n = 0;
	int r = 0;

	assert(count > 0);
	while (n == 0 && r == 0) {
		(void)pthread_mutex_lock(&db->inbox_lock);
		if (head_is_ready(db))
			n = write_group(db, writes, count, now_wall_ns);
		(void)pthread_mutex_unlock(&db->inbox_lock);
		if (n == 0)
			r = segment_db_flush(db, now_wall_ns);
	}
	if (r < 0) {
		fail_all(writes, count, r);
		return count;
	}
	return n;
}

size_t segment_db_head_bytes(struct segment_db *db)
{
	size_t bytes;

	(void)pthread_mutex_lock(&db->inbox_lock);
	bytes = head_bytes(db->head);
	(void)pthread_mutex_unlock(&db->inbox_lock);
	return bytes;
}
