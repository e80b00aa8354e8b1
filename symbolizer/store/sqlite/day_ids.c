/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/sqlite/day_ids.h"

#include "symbolizer/store/sqlite/block_read.h"

static int load_number(struct sqlite_db *db, unsigned int statement, uint64_t *ret_number)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(db, statement, &row);
	if (r > 0)
		*ret_number = (uint64_t)sqlite3_column_int64(row, 0);
	return MIN(r, 0);
}

int hearth_ids_load(struct sqlite_db *hearth, struct hearth_ids *ret_ids)
{
	struct hearth_ids ids = {};
	int r;

	r = load_number(hearth, SQL_SERIES_MAX, &ids.series);
	if (r == 0)
		r = load_number(hearth, SQL_STACK_MAX, &ids.stack);
	if (r < 0)
		return r;
	*ret_ids = ids;
	return 0;
}

/* 1 yes, 0 no. */
static int has_newer_stack(sqlite3_stmt *row, uint64_t max_stack, struct block_scratch *scratch)
{
	struct open_block block = {};
	int r;

	r = block_open(sqlite_blob(row, 0), (uint64_t)sqlite3_column_int64(row, 1), scratch,
		       &block);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	/* They are ascending. */
	return block.n_stacks > 0 && block.stack_ids[block.n_stacks - 1] > max_stack;
}

int day_is_newer(struct sqlite_db *day, const struct hearth_ids *ids, struct block_scratch *scratch)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	uint64_t max_series = 0;
	int r;

	r = load_number(day, SQL_ACTIVITY_MAX, &max_series);
	if (r < 0 || max_series > ids->series)
		return r < 0 ? r : 1;
	r = sqlite_query(day, SQL_BLOCK_LATEST, &row);
	while (r > 0) {
		r = has_newer_stack(row, ids->stack, scratch);
		if (r != 0)
			return r;
		r = sqlite_step(day, row);
	}
	return r;
}
