/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch is learned (definitions, check of its numbers) before its payload is in the inbox. Its
 * rows are added after the commit, because the head cannot remove rows again. If adding fails, the
 * head lacks rows that are durable, and is made again from the inbox before it is used.
 *
 * Definitions of a batch that is not committed are forgotten: a later batch that used them would
 * lack them after a restart.
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
	(void)batch_log_unref(db->log);
	(void)batch_log_unref(db->flushed_log);
	(void)host_table_free(db->hosts);
	(void)sqlite_db_free(db->inbox);
	(void)sqlite_db_free(db->inbox_files);
	segment_codec_release(&db->codec);
	fair_lock_release(&db->delete_lock);
	fair_lock_release(&db->files_lock);
	fair_lock_release(&db->inbox_lock);
	free(db->folder);
	free(db);
	return NULL;
}

/* The disk may be full at a start: reading, and removing old days, must be possible. */
static int recover(struct segment_db *db)
{
	const uint64_t now_wall_ns = db->options.now_wall_ns;
	int r = flush_delete_later(db, now_wall_ns);

	if (r == 0)
		r = replay(db, now_wall_ns);
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
	fair_lock_init(&db->delete_lock);
	fair_lock_init(&db->files_lock);
	fair_lock_init(&db->inbox_lock);
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
		r = batch_log_new(&db->log);
	if (r == 0)
		r = host_table_load(db->inbox, &db->hosts);
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
	bool is_learned; /* the memory may have definitions of the batch */
};

/*
 * Rows of a group of several batches, which take some MiB. The head is not full before a group, and
 * has room for one batch of any size; so a group adds either one batch, or few rows.
 */
#define GROUP_MAX_ROWS (256u << 10)

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

static uint64_t refused_series(const struct group_write *group_write)
{
	const struct segment_db_write *write = group_write->write;
	const struct numbers *numbers =
		head_numbers(group_write->db->head, write->tenant, write->batch);

	return numbers ? numbers->n_refused_series : 0;
}

/* Learns the definitions of the batch, and counts those of series that are refused. */
static int learn_counted(struct group_write *group_write)
{
	const struct segment_db_write *write = group_write->write;
	struct segment_db *db = group_write->db;
	const uint64_t before = refused_series(group_write);
	int r = head_learn(db->head, write->tenant, write->batch, write->arena, write->ret_missing);

	db->n_refused_series += refused_series(group_write) - before;
	return r;
}

static int learn(struct group_write *group_write)
{
	struct segment_db_write *write = group_write->write;
	struct head *head = group_write->db->head;
	int r;

	group_write->is_learned = has_definitions(write->batch);
	r = load_numbers(group_write);
	if (r == 0)
		r = learn_counted(group_write);
	if (r != -ENOSPC)
		return r;
	head_forget(head, write->tenant, write->batch);
	group_write->flags |= INBOX_RESETS;
	/* Only a batch in the inbox can drop the definitions of those before. */
	group_write->is_learned = true;
	r = learn_counted(group_write);
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
			  SQL_BLOB(write->payload.data, write->payload.size),
			  SQL_INT(group_write->now_wall_ns));
}

/* Whether all rows are of days that were removed, or will be. */
static bool is_too_old(const struct group_write *group_write)
{
	const struct batch *batch = group_write->write->batch;
	const segment_day first = MAX(group_write->db->oldest_day, group_write->write->first_day);

	for (uint32_t i = 0; i < batch->n_rows; i++)
		if (segment_day_of_slot(batch->rows[i].slot) >= first)
			return false;
	return batch->n_rows > 0 || segment_day_of_slot(batch->closed_wall_ns / SLOT_NS) < first;
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

/* The commit failed. Results that do not depend on it stay. */
static void fail_stored(struct segment_db *db, struct segment_db_write *writes, size_t count,
			int error)
{
	for (size_t i = 0; i < count; i++) {
		if (writes[i].result != STORE_STORED)
			continue;
		head_forget(db->head, writes[i].tenant, writes[i].batch);
		writes[i].result = error;
	}
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
	if (write->result != STORE_STORED && group_write.is_learned)
		head_forget(db->head, write->tenant, write->batch);
	if (!sqlite_in_transaction(db->inbox))
		return write->result < 0 ? write->result : -EIO;
	return write->result < 0 ? sqlite_undo_savepoint(db->inbox)
				 : sqlite_release_savepoint(db->inbox);
}

int segment_db_note_batch(struct segment_db *db, const char *tenant, const struct batch *batch,
			  uint64_t arrived_wall_ns)
{
	int r = batch_log_add(db->log, tenant, batch, arrived_wall_ns);

	return r < 0 ? r : host_table_note(db->hosts, tenant, batch);
}

/* Adds a batch that is durable to the memory. */
static int add_batch(struct segment_db *db, const struct segment_db_write *write,
		     uint64_t now_wall_ns)
{
	int r = segment_db_note_batch(db, write->tenant, write->batch, now_wall_ns);

	return r < 0 ? r : head_add_rows(db->head, write->tenant, write->batch);
}

/*
 * Batches with many definitions may fill a table of the head in the middle of a group. Then the
 * head is made again from the inbox, with flushes in between.
 */
static void add_batches(struct segment_db *db, const struct segment_db_write *writes, size_t count,
			uint64_t now_wall_ns)
{
	for (size_t i = 0; i < count && !db->head_is_incomplete; i++)
		if (writes[i].result == STORE_STORED)
			db->head_is_incomplete = head_has_full_table(db->head) ||
						 add_batch(db, &writes[i], now_wall_ns) < 0;
}

/* Whether the group of @writes[0..n) ends before @writes[n]. */
static bool group_ends(const struct segment_db_write *writes, size_t n)
{
	size_t n_rows = writes[n].batch->n_rows;

	for (size_t i = 0; i < n; i++)
		n_rows += writes[i].batch->n_rows;
	return n > 0 && (n_rows > GROUP_MAX_ROWS || has_epoch(writes, n, &writes[n]));
}

/* The caller holds inbox_lock. Returns the number of batches in the group. */
static size_t write_group(struct segment_db *db, struct segment_db_write *writes, size_t count,
			  uint64_t now_wall_ns)
{
	uint64_t id = db->state.max_id;
	size_t n = 0;
	int r = sqlite_begin(db->inbox);

	/* Definitions that are learned for this group must stay until its rows are added. */
	head_trim_numbers(db->head);
	count = MIN(count, MAX(db->options.max_agents / 2, (size_t)1));
	while (r == 0 && n < count && !group_ends(writes, n)) {
		r = write_one(db, &writes[n], id + 1, now_wall_ns);
		id += writes[n].result == STORE_STORED;
		n++;
	}
	if (r == 0)
		r = sqlite_commit(db->inbox);
	if (r < 0) {
		sqlite_rollback(db->inbox);
		fail_stored(db, writes, n, r);
		if (n == 0)
			writes[n++].result = r;
		return n;
	}
	db->state.max_id = id;
	add_batches(db, writes, n, now_wall_ns);
	return n;
}

/* Whether rows can be added to the head. The caller holds inbox_lock. */
static bool head_is_ready(const struct segment_db *db)
{
	return !db->head_is_incomplete && !segment_db_is_full(db);
}

size_t segment_db_write(struct segment_db *db, struct segment_db_write *writes, size_t count,
			uint64_t now_wall_ns)
{
	size_t n = 0;
	int r = 0;

	assert(count > 0);
	while (n == 0 && r == 0) {
		fair_lock_take(&db->inbox_lock);
		if (head_is_ready(db))
			n = write_group(db, writes, count, now_wall_ns);
		fair_lock_give(&db->inbox_lock);
		if (n == 0)
			r = flush_now(db, now_wall_ns);
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

	fair_lock_take(&db->inbox_lock);
	bytes = segment_db_memory_bytes(db);
	fair_lock_give(&db->inbox_lock);
	return bytes;
}

bool segment_db_is_half_full(struct segment_db *db)
{
	bool is_half_full;

	fair_lock_take(&db->inbox_lock);
	is_half_full = head_is_half_full(db->head) ||
		       segment_db_memory_bytes(db) >= db->options.max_head_bytes / 2;
	fair_lock_give(&db->inbox_lock);
	return is_half_full;
}

uint64_t segment_db_refused_series(const struct segment_db *db)
{
	return db->n_refused_series;
}

size_t segment_db_numbers_bytes(struct segment_db *db)
{
	size_t bytes;

	fair_lock_take(&db->inbox_lock);
	bytes = head_numbers_bytes(db->head);
	fair_lock_give(&db->inbox_lock);
	return bytes;
}

int segment_db_list_hosts(struct segment_db *db, const char *tenant, struct arena *arena,
			  struct segment_db_host **ret_hosts, size_t *ret_count)
{
	return host_table_list(db->hosts, tenant, arena, ret_hosts, ret_count);
}
