/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flush does not compress small blocks, because the merge of their hour replaces them soon.
 */

#include "symbolizer/store/segment_db/log_file.h"

#include "common/hash_table.h"
#include "common/log.h"

/* Smaller blocks of a flush gain less than a third. */
#define COMPRESSED_BATCHES 60

/* Blobs of a block. */
#define MAX_BLOB_BYTES (256 * MIB)

#define MS_PER_DAY (24 * BATCH_HOUR_MS)

static segment_day day_of(uint64_t closed_ms)
{
	return (segment_day)((closed_ms - 1) / MS_PER_DAY);
}

static int add_day(struct segment_days *days, segment_day day)
{
	size_t i = days->count;
	int r;

	/* Nearly all batches of a log are of the last day or two. */
	while (i > 0 && days->items[i - 1] > day)
		i--;
	if (i > 0 && days->items[i - 1] == day)
		return 0;
	r = vec_push(days, day);
	if (r < 0)
		return r;
	memmove(&days->items[i + 1], &days->items[i], (days->count - 1 - i) * sizeof(*days->items));
	days->items[i] = day;
	return 0;
}

static int add_days_of_run(const struct log_run *run, struct segment_days *days)
{
	const struct logged_batch *batch;
	struct log_cursor cursor = {};
	int r = 0;

	while (r == 0 && (batch = log_run_next(run, &cursor)))
		r = add_day(days, day_of(batch->closed_ms));
	return r;
}

int log_days(const struct batch_log *log, struct segment_days *days)
{
	const struct log_tenant *tenant;
	size_t cursor = 0;
	int r = 0;

	while ((tenant = batch_log_next(log, &cursor)))
		for (size_t i = 0; i < tenant->n_runs && r == 0; i++)
			r = add_days_of_run(tenant->runs[i], days);
	return r;
}

/* Adds the batches of a log to a day file. */
struct addition {
	struct sqlite_db *file;
	segment_day day;
	uint64_t flush;
	const struct log_tenant *tenant;
	uint32_t number_of[COUNTER_NAMES_MAX]; /* in the file, by the number in the log */
	struct batch_block block;
	struct bytes times, counters;
};

static void addition_release(struct addition *addition)
{
	batch_block_release(&addition->block);
	bytes_release(&addition->times);
	bytes_release(&addition->counters);
}

/* Loads the names of the tenant: hash of the name -> number. Returns the largest number. */
static int load_names(struct addition *addition, struct hash_table *known)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int last = 0;
	int r = sqlite_query(addition->file, DAY_SQL_COUNTER_NAMES, &row,
			     SQL_TEXT(addition->tenant->name));

	while (r > 0) {
		const char *name = sqlite_text(row, 1);
		const struct hash128 hash = hash128_of(name, strlen(name));
		uint32_t *number;

		last = sqlite3_column_int(row, 0);
		if (last <= COUNTER_LEFT_OUT || last >= COUNTER_NAMES_MAX)
			return -EUCLEAN;
		r = hash_table_insert(known, &hash, (void **)&number);
		if (r < 0)
			return r;
		*number = (uint32_t)last;
		r = sqlite_step(addition->file, row);
	}
	return r < 0 ? r : last;
}

static int add_name(struct addition *addition, const char *name, uint32_t number)
{
	if (number == COUNTER_NAMES_MAX - 1)
		log_warn("agents of tenant '%s' have sent %d names of counters in a day, counters "
			 "with further names are left out",
			 addition->tenant->name, COUNTER_NAMES_MAX);
	return sqlite_run(addition->file, DAY_SQL_COUNTER_NAME_ADD,
			  SQL_TEXT(addition->tenant->name), SQL_INT(number), SQL_TEXT(name));
}

/* Fills number_of. */
static int map_names(struct addition *addition)
{
	const struct log_names *names = &addition->tenant->names;
	scoped(hash_table_freep) struct hash_table *known = NULL;
	int last;
	int r = hash_table_new(sizeof(struct hash128), sizeof(uint32_t), 0, &known);

	if (r < 0)
		return r;
	last = load_names(addition, known);
	if (last < 0)
		return last;
	addition->number_of[COUNTER_LEFT_OUT] = COUNTER_LEFT_OUT;
	for (uint32_t i = 1; i < names->count && r == 0; i++) {
		const struct hash128 hash = hash128_of(names->names[i], strlen(names->names[i]));
		const uint32_t *number = hash_table_find(known, &hash);

		addition->number_of[i] = number ? *number : COUNTER_LEFT_OUT;
		if (number || last + 1 >= COUNTER_NAMES_MAX)
			continue;
		addition->number_of[i] = (uint32_t)++last;
		r = add_name(addition, names->names[i], (uint32_t)last);
	}
	return r;
}

static int collect_counters(struct addition *addition, const struct logged_batch *batch)
{
	struct bytes_reader in = bytes_reader_of(batch->counters);
	struct batch_value value = { .batch = (uint32_t)addition->block.times.count };
	uint32_t name;
	int r = 0;

	while (r == 0 && logged_counter_next(&in, &name, &value.value)) {
		value.name = addition->number_of[name];
		/* One more counter is left out, because the file has no room for its name. */
		if (value.name == COUNTER_LEFT_OUT && name != COUNTER_LEFT_OUT)
			value.value = 1;
		r = vec_push(&addition->block.values, value);
	}
	return r;
}

/* Puts the batches of the day into the block, sorted. */
static int collect_run(struct addition *addition, const struct log_run *run)
{
	struct batch_block *block = &addition->block;
	const struct logged_batch *batch;
	struct log_cursor cursor = {};
	int r = 0;

	batch_block_clear(block);
	while (r == 0 && (batch = log_run_next(run, &cursor))) {
		const struct batch_times times = { .sequence = batch->sequence,
						   .opened_ms = batch->opened_ms,
						   .closed_ms = batch->closed_ms,
						   .delay_ms = batch->delay_ms,
						   .index = block->times.count };

		if (day_of(batch->closed_ms) != addition->day)
			continue;
		r = collect_counters(addition, batch);
		if (r == 0)
			r = vec_push(&block->times, times);
	}
	batch_block_sort(block);
	return r;
}

static int find_run(struct addition *addition, const struct log_run *run, int64_t *ret_id)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(addition->file, DAY_SQL_RUN_FIND, &row,
			     SQL_TEXT(addition->tenant->name),
			     SQL_BLOB(&run->agent, sizeof(run->agent)), SQL_INT(run->epoch));

	if (r > 0)
		*ret_id = sqlite3_column_int64(row, 0);
	if (r != 0)
		return MIN(r, 0);
	r = sqlite_run(addition->file, DAY_SQL_RUN_ADD, SQL_TEXT(addition->tenant->name),
		       SQL_BLOB(&run->agent, sizeof(run->agent)), SQL_INT(run->epoch));
	*ret_id = sqlite_last_id(addition->file);
	return r;
}

/* What a new row has beside the block. */
struct new_row {
	int64_t run;
	uint64_t flush;
	bool is_merged;
};

static int add_row(struct addition *addition, const struct new_row *row, struct batch_range range)
{
	const struct batch_block *block = &addition->block;
	const bool compress = row->is_merged || range.end - range.first >= COMPRESSED_BATCHES;
	uint64_t opened_ms = UINT64_MAX;
	int r;

	for (size_t i = range.first; i < range.end; i++)
		opened_ms = MIN(opened_ms, block->times.items[i].opened_ms);
	bytes_clear(&addition->times);
	bytes_clear(&addition->counters);
	r = batch_times_encode(block, range, compress, &addition->times);
	if (r == 0)
		r = batch_counters_encode(block, range, compress, &addition->counters);
	if (r < 0)
		return r;
	return sqlite_run(addition->file, DAY_SQL_BLOCK_ADD, SQL_INT(row->flush), SQL_INT(row->run),
			  SQL_INT(opened_ms), SQL_INT(block->times.items[range.end - 1].closed_ms),
			  SQL_INT(range.end - range.first), SQL_INT(row->is_merged),
			  SQL_BLOB(addition->times.data, addition->times.size),
			  SQL_BLOB(addition->counters.data, addition->counters.size));
}

/* Adds a row for each range of the block. */
static int add_rows(struct addition *addition, const struct new_row *row)
{
	struct batch_range range = {};

	while (range.end < addition->block.times.count) {
		int r;

		range = batch_block_range(&addition->block, range.end);
		r = add_row(addition, row, range);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_run(struct addition *addition, const struct log_run *run)
{
	struct new_row row = { .flush = addition->flush };
	int r = collect_run(addition, run);

	if (r < 0 || addition->block.times.count == 0)
		return r;
	r = find_run(addition, run, &row.run);
	return r < 0 ? r : add_rows(addition, &row);
}

static int add_tenant(struct addition *addition)
{
	int r = map_names(addition);

	for (size_t i = 0; i < addition->tenant->n_runs && r == 0; i++)
		r = add_run(addition, addition->tenant->runs[i]);
	return r;
}

int log_file_add(struct sqlite_db *file, const struct batch_log *log, segment_day day,
		 uint64_t flush)
{
	scoped(addition_release) struct addition addition = {
		.file = file,
		.day = day,
		.flush = flush,
		.times = BYTES_INIT(MAX_BLOB_BYTES),
		.counters = BYTES_INIT(MAX_BLOB_BYTES),
	};
	size_t cursor = 0;
	int r = 0;

	while (r == 0 && (addition.tenant = batch_log_next(log, &cursor)))
		r = add_tenant(&addition);
	return r;
}

int log_file_delete_tenant(struct sqlite_db *file, const char *tenant)
{
	static const enum day_file_statement statements[] = {
		DAY_SQL_BLOCK_DELETE_TENANT,
		DAY_SQL_RUN_DELETE_TENANT,
		DAY_SQL_COUNTER_NAME_DELETE_TENANT,
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(statements) && r == 0; i++)
		r = sqlite_run(file, statements[i], SQL_TEXT(tenant));
	return r;
}

/* The blocks of one hour of a run that become one. */
struct merged_hour {
	int64_t run;
	uint64_t hour;
	uint64_t flush; /* of all their batches */
	VEC_DEFINE(, int64_t) ids;
};

static void merged_hour_release(struct merged_hour *hour)
{
	vec_release(&hour->ids);
}

/* Reads the row of BLOCKS_OF_HOUR. */
static int read_block(sqlite3_stmt *row, uint64_t hour, struct batch_block *block)
{
	const struct batch_head head = { .hour = hour,
					 .count = (size_t)sqlite3_column_int64(row, 2) };
	const size_t first = block->times.count;
	int r = batch_times_decode(sqlite_blob(row, 3), &head, &block->times);

	return r < 0 ? r
		     : batch_counters_decode(sqlite_blob(row, 4), head.count, first,
					     &block->values);
}

/* Collects the IDs of the blocks, and what they have. -EBADMSG: one is damaged; all IDs are set. */
static int read_hour(struct sqlite_db *file, uint64_t last_flush, struct merged_hour *hour,
		     struct batch_block *block)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int damaged = 0;
	int r = sqlite_query(file, DAY_SQL_BLOCKS_OF_HOUR, &row, SQL_INT(hour->run),
			     SQL_INT(hour->hour * BATCH_HOUR_MS),
			     SQL_INT((hour->hour + 1) * BATCH_HOUR_MS), SQL_INT(last_flush));

	batch_block_clear(block);
	while (r > 0) {
		r = vec_push(&hour->ids, sqlite3_column_int64(row, 0));
		hour->flush = MAX(hour->flush, (uint64_t)sqlite3_column_int64(row, 1));
		if (r == 0)
			r = read_block(row, hour->hour, block);
		if (r == -EBADMSG) {
			damaged = r;
			r = 0;
		}
		if (r == 0)
			r = sqlite_step(file, row);
	}
	return r < 0 ? r : damaged;
}

/* Queries skip damaged blocks. */
static int keep_blocks(struct sqlite_db *file, const struct merged_hour *hour)
{
	int r = 0;

	log_error("'%s' has damaged counters of an hour, ignoring",
		  sqlite3_db_filename(file->handle, "main"));
	for (size_t i = 0; i < hour->ids.count && r == 0; i++)
		r = sqlite_run(file, DAY_SQL_BLOCK_SET_MERGED, SQL_INT(hour->ids.items[i]));
	return r;
}

static int merge_hour(struct addition *addition, struct log_merge *merge, struct merged_hour *hour)
{
	int r = read_hour(addition->file, merge->last_flush, hour, &addition->block);

	if (r == -EBADMSG)
		return keep_blocks(addition->file, hour);
	for (size_t i = 0; i < hour->ids.count && r == 0; i++)
		r = sqlite_run(addition->file, DAY_SQL_BLOCK_DELETE, SQL_INT(hour->ids.items[i]));
	if (r < 0)
		return r;
	merge->n_merged += hour->ids.count;
	batch_block_sort(&addition->block);
	return add_rows(
		addition,
		&(struct new_row){ .run = hour->run, .flush = hour->flush, .is_merged = true });
}

/* Finds the next hour of a run with a block that is not merged. 1 or 0; moves the cursor. */
static int next_hour(struct sqlite_db *file, struct log_merge *merge, struct merged_hour *ret_hour)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(file, DAY_SQL_BLOCK_NEXT_UNMERGED, &row, SQL_INT(merge->run),
			     SQL_INT(merge->block_closed_ms),
			     SQL_INT(merge->closed_ms - merge->closed_ms % BATCH_HOUR_MS),
			     SQL_INT(merge->last_flush));

	if (r <= 0)
		return r;
	*ret_hour = (struct merged_hour){
		.run = sqlite3_column_int64(row, 0),
		.hour = batch_hour((uint64_t)sqlite3_column_int64(row, 1)),
	};
	merge->run = ret_hour->run;
	merge->block_closed_ms = (ret_hour->hour + 1) * BATCH_HOUR_MS;
	return 1;
}

int log_file_needs_merge(struct sqlite_db *file, const struct log_merge *merge)
{
	struct log_merge copy = *merge;
	struct merged_hour hour;

	return next_hour(file, &copy, &hour);
}

/* Hours of one step: some milliseconds each. */
#define HOURS_PER_STEP 64

int log_file_merge(struct sqlite_db *file, struct log_merge *merge)
{
	scoped(addition_release) struct addition addition = {
		.file = file,
		.times = BYTES_INIT(MAX_BLOB_BYTES),
		.counters = BYTES_INIT(MAX_BLOB_BYTES),
	};
	int r = 1;

	for (int i = 0; i < HOURS_PER_STEP && r > 0; i++) {
		scoped(merged_hour_release) struct merged_hour hour = {};

		r = next_hour(file, merge, &hour);
		if (r > 0)
			r = merge_hour(&addition, merge, &hour);
		else
			return r;
		r = r < 0 ? r : 1;
	}
	return r;
}

int log_file_check(struct sqlite_db *file, uint64_t last_flush, size_t *ret_damaged)
{
	scoped(batch_block_release) struct batch_block block = {};
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	size_t n_damaged = 0;
	int r = sqlite_query(file, DAY_SQL_BLOCKS, &row, SQL_INT(last_flush));

	while (r > 0) {
		batch_block_clear(&block);
		r = read_block(row, batch_hour((uint64_t)sqlite3_column_int64(row, 1)), &block);
		n_damaged += r == -EBADMSG;
		if (r == 0 || r == -EBADMSG)
			r = sqlite_step(file, row);
	}
	if (r < 0)
		return r;
	*ret_damaged = n_damaged;
	return 0;
}
