/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scan reads from each day file of the range those blocks that belong to a host of the selected
 * series and overlap the range. The index is on (sender, max_slot). No block of a file spans more
 * than max_span slots, so blocks with max_slot beyond the end of the range + max_span are not read.
 */

#include "symbolizer/store/sqlite/read.h"

#include <limits.h>

#include "common/log.h"

/* A scan calls a function for each row; a sum adds the rows in place. */
struct day_scan {
	struct connection_set *set;
	struct sqlite_db *db;
	day_number day;
	const struct hash_table *hosts;
	uint64_t max_span;
	struct block_scan rows; /* its range is also that of @sum */
	struct block_sum *sum;  /* NULL: a scan */
	const struct cancel *cancel;
	uint64_t n_damaged;
	int stopped;
};

static int read_block(struct day_scan *scan, sqlite3_stmt *row)
{
	const uint64_t min_slot = (uint64_t)sqlite3_column_int64(row, 1);
	const uint64_t n_rows = (uint64_t)sqlite3_column_int64(row, 2);

	if (!scan->sum)
		return block_scan_rows(sqlite_blob(row, 3), min_slot, n_rows, &scan->rows,
				       &scan->set->scratch, &scan->stopped);
	return block_sum_rows(sqlite_blob(row, 3), min_slot, (uint64_t)sqlite3_column_int64(row, 4),
			      n_rows, scan->sum, &scan->set->scratch);
}

/* Returns 0, or a negative value if the file cannot be read or the function ended the scan. */
static int scan_block(struct day_scan *scan, sqlite3_stmt *row)
{
	int r;

	if (cancel_is_requested(scan->cancel))
		return scan->stopped = -ECANCELED;
	r = read_block(scan, row);
	if (scan->stopped < 0)
		return scan->stopped;
	if (r == -EBADMSG) {
		char name[DAY_FILE_NAME_SIZE];

		scan->n_damaged++;
		day_file_name(scan->day, name);
		log_error("block %lld of '%s/%s' is damaged, its samples are missing from answers",
			  (long long)sqlite3_column_int64(row, 0), scan->set->folder, name);
		return 0;
	}
	return r;
}

static int scan_sender(struct day_scan *scan, int64_t sender)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(scan->db, SQL_BLOCK_SCAN, &row, SQL_INT(sender),
			 SQL_INT(scan->rows.from_slot), SQL_INT(scan->rows.to_slot),
			 SQL_INT(scan->max_span));
	while (r > 0) {
		r = scan_block(scan, row);
		if (r == 0)
			r = sqlite_step(scan->db, row);
	}
	return r;
}

static int scan_host(struct day_scan *scan, uint32_t host)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(scan->db, SQL_SENDERS_OF_HOST, &row, SQL_INT(host));
	while (r > 0) {
		r = scan_sender(scan, sqlite3_column_int64(row, 0));
		if (r == 0)
			r = sqlite_step(scan->db, row);
	}
	return r;
}

static int scan_day(struct day_scan *scan)
{
	struct day_total total;
	const void *host;
	size_t cursor = 0;
	void *unused;
	int r;

	r = connection_set_day(scan->set, scan->day, &scan->db);
	if (r == 0)
		r = day_db_total(scan->db, &total);
	if (r < 0)
		return r;
	scan->max_span = total.max_span;
	while (r == 0 && hash_table_next(scan->hosts, &cursor, &host, &unused))
		r = scan_host(scan, *(const uint32_t *)host);
	return r;
}

/* Ignores the error if retention has removed the file; logs it otherwise. */
static int tolerate_day(const struct day_scan *scan, int error)
{
	char name[DAY_FILE_NAME_SIZE];

	if (scan->stopped < 0 || error == -ENOMEM ||
	    !store_state_has_day(scan->set->state, scan->day))
		return scan->stopped < 0 || error == -ENOMEM ? error : 0;
	day_file_name(scan->day, name);
	return log_error_errno(error, "cannot read samples from '%s/%s', the answer fails: %m",
			       scan->set->folder, name);
}

/*
 * Reads the day files of the range, for the hosts of the selected series. Returns 0 or negative
 * errno.
 */
static int scan_days(struct day_scan *scan, uint64_t from_slot, uint64_t to_slot)
{
	scoped(hash_table_freep) struct hash_table *hosts = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct day_entry *days;
	size_t n_days;
	int r;

	if (scan->rows.n_series == 0 || from_slot >= to_slot)
		return 0;
	r = hash_table_new(sizeof(uint32_t), 0, 0, &hosts);
	if (r == 0)
		r = arena_new(MIB, &arena);
	if (r == 0)
		r = store_state_hosts_of(scan->set->state, scan->rows.series_ids,
					 scan->rows.n_series, hosts);
	if (r == 0)
		r = store_state_days(scan->set->state, day_of_slot(from_slot),
				     day_of_slot(to_slot - 1), arena, &days, &n_days);
	scan->hosts = hosts;
	for (size_t i = 0; r == 0 && i < n_days; i++) {
		scan->day = days[i].day;
		/* Clipped to the day, so that the sums in the statement cannot overflow. */
		scan->rows.from_slot = MAX(from_slot, scan->day * SLOTS_PER_DAY);
		scan->rows.to_slot = MIN(to_slot, (scan->day + 1) * SLOTS_PER_DAY);
		if (scan->sum) {
			scan->sum->from_slot = scan->rows.from_slot;
			scan->sum->to_slot = scan->rows.to_slot;
		}
		r = scan_day(scan);
		if (r < 0)
			r = tolerate_day(scan, r);
	}
	return r;
}

int read_scan(struct connection_set *set, const struct store_view *view,
	      const struct store_range *range, store_row_function function, void *arg)
{
	scoped_free uint32_t *ids = calloc(range->n_series + 1, sizeof(*ids));
	struct day_scan scan = {
		.set = set,
		.cancel = view->cancel,
		.rows = { .series_ids = ids,
			  .n_series = range->n_series,
			  .function = function,
			  .arg = arg },
	};
	int r;

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < range->n_series; i++)
		ids[i] = (uint32_t)range->series_ids[i];
	r = scan_days(&scan, range->from_slot, range->to_slot);
	return r < 0 ? r : (int)MIN(scan.n_damaged, (uint64_t)INT_MAX);
}

int read_sum(struct connection_set *set, const struct store_view *view,
	     const struct store_sum_query *query, struct store_sums *ret_sums)
{
	scoped_free uint32_t *ids = calloc(query->n_series + 1, sizeof(*ids));
	struct block_sum sum = { .query = query };
	struct day_scan scan = {
		.set = set,
		.cancel = view->cancel,
		.rows = { .series_ids = ids, .n_series = query->n_series },
		.sum = &sum,
	};
	int r;

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < query->n_series; i++)
		ids[i] = (uint32_t)query->series[i].id;
	r = sum_table_init(&sum.table, query, view->memory);
	if (r == 0)
		r = scan_days(&scan, query->from_slot, query->to_slot);
	if (r == 0) {
		*ret_sums = (struct store_sums){
			.n_rows = sum.n_rows,
			.marked_value = sum.marked_value,
			.n_damaged_blocks = scan.n_damaged,
		};
		sum_table_take(&sum.table, ret_sums);
	}
	sum_table_release(&sum.table);
	return r;
}
