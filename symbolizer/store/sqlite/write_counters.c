/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the counters of a batch to its minute (counter_codec.h). Queries sum the counters of
 * hundreds of hosts: the entries of a minute lie in one row, so that they need not read each block.
 */

#include "symbolizer/store/sqlite/write.h"

#include "symbolizer/store/sqlite/counter_codec.h"

/* A row that is longer gets no further entry: it still fits into a page of 4 KiB. */
#define FULL_ROW_BYTES 2800

#define MINUTES_PER_DAY (24 * 60)

static int make_pairs(struct write *write, struct sqlite_db *db, struct bytes *pairs)
{
	const struct batch *batch = write->batch;
	uint64_t n_left_out = 0;

	for (uint32_t i = 0; i < batch->n_counters; i++) {
		uint32_t id;
		int r;

		r = counter_names_find(&write->writer->counter_names, db, write->tenant,
				       batch->counters[i].name, &id);
		if (r < 0)
			return r;
		if (id == COUNTER_LEFT_OUT)
			n_left_out++;
		else
			counter_add_pair(pairs, id, batch->counters[i].value);
	}
	if (n_left_out > 0)
		counter_add_pair(pairs, COUNTER_LEFT_OUT, n_left_out);
	return bytes_error(pairs);
}

/* Finds the row that gets the next entry of the minute: the last part, or a new one. */
static int find_part(struct sqlite_db *db, int64_t first_id, int64_t *ret_id, bool *ret_exists)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int64_t end_id = first_id + (int64_t)COUNTER_PARTS_PER_MINUTE;
	int r;

	r = sqlite_query(db, SQL_COUNTER_LAST_PART, &row, SQL_INT(first_id), SQL_INT(end_id));
	*ret_id = first_id;
	*ret_exists = false;
	if (r <= 0)
		return r;
	*ret_id = sqlite3_column_int64(row, 0);
	*ret_exists = sqlite3_column_int64(row, 1) < FULL_ROW_BYTES || *ret_id + 1 == end_id;
	if (!*ret_exists)
		++*ret_id;
	return 0;
}

static int add_to_minute(struct sqlite_db *db, int64_t first_id, const struct bytes *entry)
{
	int64_t id;
	bool exists;
	int r;

	r = find_part(db, first_id, &id, &exists);
	if (r < 0)
		return r;
	if (exists)
		return sqlite_run(db, SQL_COUNTER_APPEND, SQL_INT(id),
				  SQL_BLOB(entry->data, entry->size));
	return sqlite_run(db, SQL_COUNTER_ADD, SQL_INT(id), SQL_BLOB(entry->data, entry->size));
}

int write_counters(struct write *write, struct sqlite_db *db, const struct counted_batch *counted)
{
	struct sqlite_writer *writer = write->writer;
	uint64_t minute = counter_minute(counted->closed_ns);
	uint64_t now_ns = clock_wall_ns(writer->clock);
	struct bytes *pairs = &writer->buffer;
	struct counter_entry entry = {
		.sequence = write->batch->sequence,
		.opened_ns = counted->opened_ns,
		.closed_ns = counted->closed_ns,
		.delay_ms = (int64_t)(now_ns / NSEC_PER_MSEC) -
			    (int64_t)(write->batch->closed_wall_ns / NSEC_PER_MSEC),
	};
	int r;

	bytes_clear(pairs);
	bytes_clear(&writer->counters);
	r = counter_names_begin(&writer->counter_names, counted->day);
	if (r == 0)
		r = make_pairs(write, db, pairs);
	if (r < 0)
		return r;
	entry.pairs = bytes_view_of(pairs);
	counter_add_entry(&writer->counters, &entry, minute);
	r = bytes_error(&writer->counters);
	if (r < 0)
		return r;
	return add_to_minute(db, counter_row_id(counted->sender, minute % MINUTES_PER_DAY),
			     &writer->counters);
}
