/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the rows of a batch to the day files, as one block per day; nearly all batches have one day.
 * The key of a block (agent, epoch, sequence, tenant) identifies a duplicate. Therefore each day
 * that the batch covers gets a block, even without rows. The block also records that the agent ran.
 */

#include "symbolizer/store/sqlite/write.h"

#include "common/log.h"

static uint64_t first_covered_slot(const struct batch *batch)
{
	return batch->opened_wall_ns / SLOT_NS;
}

static uint64_t last_covered_slot(const struct batch *batch)
{
	/* [opened, closed): a batch closed at midnight does not overlap the following day. */
	return (MAX(batch->closed_wall_ns, batch->opened_wall_ns + 1) - 1) / SLOT_NS;
}

int write_find_days(const struct batch *batch, struct write_days *ret_days)
{
	day_number first = day_of_slot(first_covered_slot(batch));
	day_number last = day_of_slot(last_covered_slot(batch));
	uint32_t with_rows = 0;
	day_number lowest = first;
	day_number highest = last;

	for (uint32_t i = 0; i < batch->n_rows; i++) {
		day_number day = day_of_slot(batch->rows[i].slot);

		lowest = MIN(lowest, day);
		highest = MAX(highest, day);
	}
	if (highest - lowest >= WRITE_MAX_DAYS)
		return -EINVAL;
	for (uint32_t i = 0; i < batch->n_rows; i++)
		with_rows |= 1u << (day_of_slot(batch->rows[i].slot) - lowest);
	static_assert(WRITE_MAX_DAYS <= 32, "one bit per day");

	ret_days->count = 0;
	for (day_number day = lowest; day <= highest; day++)
		if ((day >= first && day <= last) || with_rows >> (day - lowest) & 1)
			ret_days->days[ret_days->count++] = day;
	return 0;
}

int write_set_day_aside(struct sqlite_writer *writer, day_number day)
{
	const char *folder = writer->connections.folder;
	char name[DAY_FILE_NAME_SIZE], aside[DAY_FILE_ASIDE_SIZE];
	int r;

	store_state_take_day(writer->state, day);
	connection_set_close_days(&writer->connections);
	day_file_name(day, name);
	r = day_samples_set_aside(folder, day, clock_wall_ns(writer->clock), aside);
	if (r < 0)
		return log_error_errno(
			r, "'%s/%s' is damaged and cannot be renamed, its batches are refused: %m",
			folder, name);
	log_error("'%s/%s' is damaged, renamed it to '%s', its samples are missing from answers",
		  folder, name, aside);
	return 0;
}

static int find_block(struct sqlite_writer *writer, const char *tenant, const struct batch *batch,
		      day_number day)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct sqlite_db *db;
	int r;

	if (!store_state_has_day(writer->state, day) && !write_has_open_day(writer, day))
		return 0;
	r = connection_set_day(&writer->connections, day, &db);
	if (r < 0)
		return r;
	return sqlite_query(db, SQL_BLOCK_EXISTS, &row,
			    SQL_BLOB(batch->agent_id.bytes, sizeof(batch->agent_id.bytes)),
			    SQL_INT(batch->epoch), SQL_TEXT(tenant), SQL_INT(batch->sequence));
}

int write_is_stored(struct sqlite_writer *writer, const char *tenant, const struct batch *batch,
		    day_number day)
{
	int r = find_block(writer, tenant, batch, day);

	return r < 0 ? write_day_failed(writer, day, r) : r;
}

struct used_stack {
	uint64_t id;
	uint32_t ordinal;
};

/* The part of a batch that belongs to one day. */
struct day_share {
	day_number day;
	uint64_t first_slot, end_slot; /* of the day */
	/* Ascending by the store's series IDs. stack_index is the ordinal until index_stacks(). */
	struct block_row *rows;
	uint32_t n_rows;
	uint32_t n_without_series;
	uint64_t min_slot, max_slot; /* of the rows, and of the time that the batch covers */
	uint64_t *stacks;            /* [n_stacks] distinct IDs, ascending */
	uint32_t n_stacks;
};

static int compare_stacks(const void *a, const void *b)
{
	const struct used_stack *left = a;
	const struct used_stack *right = b;

	return left->id < right->id ? -1 : left->id > right->id;
}

static void take_run(const struct write *write, const struct row_run *run, struct day_share *share)
{
	const struct batch_row *rows = write->batch->rows;

	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		if (rows[i].slot < share->first_slot || rows[i].slot >= share->end_slot)
			continue;
		if (run->series == 0) {
			share->n_without_series++;
			continue;
		}
		share->rows[share->n_rows++] = (struct block_row){
			.series = run->series,
			.stack_index = write->row_stack[i],
			.slot = rows[i].slot,
			.value = rows[i].value,
		};
		share->min_slot = MIN(share->min_slot, rows[i].slot);
		share->max_slot = MAX(share->max_slot, rows[i].slot);
	}
}

/*
 * Sets min_slot and max_slot to the covered slots of this day, so that the day's max_span also
 * bounds the covered times of blocks. The batch may have rows of a day that it does not cover.
 */
static void cover_day(const struct batch *batch, struct day_share *share)
{
	uint64_t first = first_covered_slot(batch);
	uint64_t last = last_covered_slot(batch);

	share->min_slot = UINT64_MAX;
	share->max_slot = 0;
	if (first >= share->end_slot || last < share->first_slot)
		return;
	share->min_slot = MAX(first, share->first_slot);
	share->max_slot = MIN(last, share->end_slot - 1);
}

static int take_rows(struct write *write, struct day_share *share)
{
	share->rows = arena_alloc_array(write->scratch, write->batch->n_rows, sizeof(*share->rows));
	if (!share->rows)
		return -ENOMEM;
	cover_day(write->batch, share);
	for (size_t i = 0; i < write->runs.count; i++)
		take_run(write, &write->runs.items[i], share);
	if (share->min_slot > share->max_slot)
		share->min_slot = share->max_slot;
	return 0;
}

/* Replaces the ordinals in the rows by indexes into the stacks of this block. */
static int index_stacks(struct write *write, struct day_share *share)
{
	uint32_t n_all = (uint32_t)write->stack_numbers.count;
	uint32_t *index_of = arena_alloc_array(write->scratch, n_all, sizeof(*index_of));
	struct used_stack *used = arena_alloc_array(write->scratch, n_all, sizeof(*used));
	uint32_t n_used = 0;

	share->stacks = arena_alloc_array(write->scratch, n_all, sizeof(*share->stacks));
	if (!index_of || !used || !share->stacks)
		return -ENOMEM;
	for (uint32_t i = 0; i < share->n_rows; i++) {
		uint32_t ordinal = share->rows[i].stack_index;

		if (index_of[ordinal])
			continue;
		index_of[ordinal] = 1;
		used[n_used++] =
			(struct used_stack){ .id = write->stack_ids[ordinal], .ordinal = ordinal };
	}
	if (n_used > 0)
		qsort(used, n_used, sizeof(*used), compare_stacks);
	for (uint32_t i = 0; i < n_used; i++) {
		if (i == 0 || used[i].id != used[i - 1].id)
			share->stacks[share->n_stacks++] = used[i].id;
		index_of[used[i].ordinal] = share->n_stacks - 1;
	}
	for (uint32_t i = 0; i < share->n_rows; i++)
		share->rows[i].stack_index = index_of[share->rows[i].stack_index];
	return 0;
}

static int find_sender(struct write *write, struct sqlite_db *db, int64_t *ret_sender)
{
	const struct batch *batch = write->batch;
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(db, SQL_SENDER_FIND, &row,
			 SQL_BLOB(batch->agent_id.bytes, sizeof(batch->agent_id.bytes)),
			 SQL_INT(batch->epoch), SQL_TEXT(write->tenant));
	if (r > 0)
		*ret_sender = sqlite3_column_int64(row, 0);
	if (r != 0)
		return MIN(r, 0);
	r = sqlite_run(db, SQL_SENDER_ADD,
		       SQL_BLOB(batch->agent_id.bytes, sizeof(batch->agent_id.bytes)),
		       SQL_INT(batch->epoch), SQL_TEXT(write->tenant), SQL_INT(write->host));
	if (r == 0)
		*ret_sender = sqlite_last_id(db);
	return r;
}

/* Clips a time of the batch to this day. */
static uint64_t clip_to_day(uint64_t wall_ns, const struct day_share *share)
{
	return MIN(MAX(wall_ns, share->first_slot * SLOT_NS), share->end_slot * SLOT_NS);
}

/* The counters of a batch belong to the day in which it closed. */
static int add_counters(struct write *write, struct sqlite_db *db, const struct day_share *share,
			int64_t sender)
{
	const struct batch *batch = write->batch;
	const struct counted_batch counted = {
		.day = share->day,
		.sender = sender,
		.opened_ns = batch->opened_wall_ns,
		.closed_ns = MAX(batch->closed_wall_ns, batch->opened_wall_ns + 1),
	};
	uint64_t last = last_covered_slot(batch);

	if (last < share->first_slot || last >= share->end_slot)
		return 0;
	return write_counters(write, db, &counted);
}

static int add_block(struct write *write, struct sqlite_db *db, const struct day_share *share,
		     int64_t sender)
{
	const struct batch *batch = write->batch;
	const struct bytes *block = &write->writer->block;

	return sqlite_run(db, SQL_BLOCK_ADD, SQL_INT(sender), SQL_INT(batch->sequence),
			  SQL_INT(clip_to_day(batch->opened_wall_ns, share)),
			  SQL_INT(clip_to_day(batch->closed_wall_ns, share)),
			  SQL_INT(share->min_slot), SQL_INT(share->max_slot),
			  SQL_INT(share->n_rows), SQL_INT(share->n_without_series), SQL_BLOB("", 0),
			  SQL_BLOB(block->data, block->size));
}

static int add_activity(struct sqlite_db *db, const struct day_share *share)
{
	uint32_t i = 0;
	int r = 0;

	while (i < share->n_rows && r == 0) {
		uint32_t series = share->rows[i].series;
		uint64_t first = share->rows[i].slot;
		uint64_t last = first;

		for (; i < share->n_rows && share->rows[i].series == series; i++) {
			first = MIN(first, share->rows[i].slot);
			last = MAX(last, share->rows[i].slot);
		}
		r = sqlite_run(db, SQL_ACTIVITY_SET, SQL_INT(series), SQL_INT(first),
			       SQL_INT(last));
	}
	return r;
}

static int store_share(struct write *write, struct sqlite_db *db, const struct day_share *share,
		       bool first)
{
	int64_t sender = 0;
	int r;

	r = find_sender(write, db, &sender);
	if (r == 0)
		r = add_block(write, db, share, sender);
	/* The file has the block: the day was not listed when it was searched. */
	if (r == -EEXIST)
		return 0;
	if (r == 0)
		r = add_counters(write, db, share, sender);
	if (r == 0)
		r = add_activity(db, share);
	if (r == 0)
		r = sqlite_run(db, SQL_TOTAL_ADD, SQL_INT(first), SQL_INT(share->n_rows),
			       SQL_INT(share->max_slot - share->min_slot));
	return r < 0 ? r : 1;
}

static int encode_share(struct write *write, const struct day_share *share)
{
	struct block_rows rows = {
		.rows = share->rows,
		.n_rows = share->n_rows,
		.stacks = share->stacks,
		.n_stacks = share->n_stacks,
		.min_slot = share->min_slot,
	};
	struct bytes *block = &write->writer->block;

	bytes_clear(block);
	return share->n_rows ? block_encode(&rows, &write->writer->connections.scratch, block) : 0;
}

int write_append_day(struct write *write, day_number day, bool first)
{
	struct day_share share = {
		.day = day,
		.first_slot = day * SLOTS_PER_DAY,
		.end_slot = (day + 1) * SLOTS_PER_DAY,
	};
	struct sqlite_db *db;
	int r;

	r = take_rows(write, &share);
	if (r == 0)
		r = index_stacks(write, &share);
	if (r == 0)
		r = encode_share(write, &share);
	if (r < 0)
		return r;
	r = write_open_day(write->writer, day, &db);
	if (r == 0)
		r = store_share(write, db, &share, first);
	return r < 0 ? write_day_failed(write->writer, day, r) : r;
}
