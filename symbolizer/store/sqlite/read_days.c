/* SPDX-License-Identifier: Apache-2.0 */
/* Visits the day files of a range. Retention may remove a file while it is read. */

#include "symbolizer/store/sqlite/read.h"

static int walk_day(struct connection_set *set, struct read_day *day, read_day_function function,
		    void *arg, int *ret_stopped)
{
	struct day_total total;
	int r;

	r = connection_set_day(set, day->day, &day->db);
	if (r == 0)
		r = day_db_total(day->db, &total);
	if (r < 0)
		return r;
	/* In files of earlier versions, max_span counts the rows of blocks only. */
	day->max_span_ns = MAX((total.max_span + 1) * SLOT_NS, 60 * NSEC_PER_SEC);
	return function(arg, day, ret_stopped);
}

int read_walk_days(struct connection_set *set, const struct read_range *range,
		   read_day_function function, void *arg)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct day_entry *days;
	int stopped = 0;
	size_t n_days;
	int r;

	if (range->from_slot >= range->to_slot)
		return 0;
	r = arena_new(MIB, &arena);
	if (r == 0)
		r = store_state_days(set->state, day_of_slot(range->from_slot),
				     day_of_slot(range->to_slot - 1), arena, &days, &n_days);
	for (size_t k = 0; r == 0 && k < n_days; k++) {
		day_number number = days[range->newest_first ? n_days - 1 - k : k].day;
		struct read_day day = {
			.day = number,
			/* Clipped to the day, so that sums in statements cannot overflow. */
			.from_slot = MAX(range->from_slot, number * SLOTS_PER_DAY),
			.to_slot = MIN(range->to_slot, (number + 1) * SLOTS_PER_DAY),
		};

		r = walk_day(set, &day, function, arg, &stopped);
		/* Retention removed the file after the list was made. */
		if (r < 0 && !stopped && r != -ENOMEM && !store_state_has_day(set->state, number))
			r = 0;
	}
	return r;
}

static int read_activity_of_day(struct connection_set *set, day_number day, uint64_t from_slot,
				uint64_t to_slot, activity_function function, void *arg)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct sqlite_db *db;
	int r;

	r = connection_set_day(set, day, &db);
	if (r == 0)
		r = sqlite_query(db, SQL_ACTIVITY_LIST, &row, SQL_INT(from_slot), SQL_INT(to_slot));
	while (r > 0) {
		r = function(arg, (uint32_t)sqlite3_column_int64(row, 0),
			     (uint64_t)sqlite3_column_int64(row, 1),
			     (uint64_t)sqlite3_column_int64(row, 2));
		if (r == 0)
			r = sqlite_step(db, row);
	}
	return r;
}

int read_activity(struct connection_set *set, const struct store_series_query *query,
		  struct arena *arena, activity_function function, void *arg)
{
	uint64_t to_slot = query->to_slot ? query->to_slot : INT64_MAX;
	struct day_entry *days;
	size_t n_days;
	int r;

	to_slot = MIN(to_slot, (uint64_t)INT64_MAX);
	r = store_state_days(set->state, day_of_slot(query->from_slot),
			     (day_number)MIN((to_slot - 1) / SLOTS_PER_DAY, (uint64_t)UINT32_MAX),
			     arena, &days, &n_days);
	for (size_t i = 0; r == 0 && i < n_days; i++) {
		r = read_activity_of_day(set, days[i].day, query->from_slot, to_slot, function,
					 arg);
		/* Retention removed the file after the list was made. */
		if (r < 0 && r != -ENOMEM && !store_state_has_day(set->state, days[i].day))
			r = 0;
	}
	return r < 0 ? r : (int)n_days;
}
