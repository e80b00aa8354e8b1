/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the covered times and the counters of blocks. Rows of a block may be before the time that
 * its batch covers (a wait that began earlier), so coverage uses the times of the batch, which have
 * an index.
 */

#include "symbolizer/store/sqlite/read.h"

#include "common/log.h"
#include "symbolizer/store/sqlite/codec.h"

struct block_walk {
	struct connection_set *set;
	struct sqlite_db *db;
	uint64_t from_slot, to_slot; /* within one day */
	uint64_t max_span_ns;
	size_t n_left; /* batches that the visitor may still get */
	store_coverage_function on_coverage;
	void *arg; /* of on_coverage */
	const struct store_counter_visitor *visitor;
	int stopped;
};

static int report_coverage(struct block_walk *walk, uint32_t host, sqlite3_stmt *row)
{
	uint64_t opened_ns = (uint64_t)sqlite3_column_int64(row, 0);
	uint64_t closed_ns = (uint64_t)sqlite3_column_int64(row, 1);

	/* The day has rows of the batch, but the batch does not cover it. */
	if (opened_ns >= closed_ns)
		return 0;
	walk->stopped =
		walk->on_coverage(walk->arg, host, opened_ns / SLOT_NS, (closed_ns - 1) / SLOT_NS);
	return walk->stopped;
}

static int cover_sender(struct block_walk *walk, uint32_t host, int64_t sender)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(walk->db, SQL_BLOCK_COVERAGE, &row, SQL_INT(sender),
			 SQL_INT(walk->from_slot * SLOT_NS), SQL_INT(walk->to_slot * SLOT_NS),
			 SQL_INT(walk->max_span_ns));
	while (r > 0) {
		r = report_coverage(walk, host, row);
		if (r == 0)
			r = sqlite_step(walk->db, row);
	}
	return r;
}

/* Damaged counters are skipped. */
static int report_counters(struct block_walk *walk, sqlite3_stmt *row)
{
	const struct store_counter_visitor *visitor = walk->visitor;
	int r;

	walk->stopped = visitor->batch(visitor->arg, (uint64_t)sqlite3_column_int64(row, 0),
				       (uint64_t)sqlite3_column_int64(row, 1));
	if (walk->stopped < 0)
		return walk->stopped;
	r = codec_walk_counters(sqlite_blob(row, 2), visitor->counter, visitor->arg);
	if (r == -EBADMSG)
		return 0;
	walk->stopped = r;
	return r;
}

static int count_sender(struct block_walk *walk, int64_t sender)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(walk->db, SQL_BLOCK_COUNTERS, &row, SQL_INT(sender),
			 SQL_INT(walk->from_slot * SLOT_NS), SQL_INT(walk->to_slot * SLOT_NS),
			 SQL_INT(walk->n_left));
	while (r > 0) {
		walk->n_left--;
		r = report_counters(walk, row);
		if (r == 0)
			r = sqlite_step(walk->db, row);
	}
	return r;
}

static int walk_host(struct block_walk *walk, uint32_t host)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(walk->db, walk->visitor ? SQL_SENDERS_NEWEST_FIRST : SQL_SENDERS_OF_HOST,
			 &row, SQL_INT(host));
	while (r > 0) {
		int64_t sender = sqlite3_column_int64(row, 0);

		r = walk->visitor ? count_sender(walk, sender) : cover_sender(walk, host, sender);
		if (r == 0)
			r = sqlite_step(walk->db, row);
	}
	return r;
}

static int walk_day(struct block_walk *walk, day_number day, const uint32_t *hosts, size_t count)
{
	struct day_total total;
	int r;

	r = connection_set_day(walk->set, day, &walk->db);
	if (r == 0)
		r = day_db_total(walk->db, &total);
	if (r < 0)
		return r;
	/* In files of earlier versions, max_span counts the rows of blocks only. */
	walk->max_span_ns = MAX((total.max_span + 1) * SLOT_NS, 60 * NSEC_PER_SEC);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = walk_host(walk, hosts[i]);
	return r;
}

static int walk_days(struct block_walk *walk, const uint32_t *hosts, size_t count,
		     uint64_t from_slot, uint64_t to_slot)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct day_entry *days;
	size_t n_days;
	int r;

	if (count == 0 || from_slot >= to_slot)
		return 0;
	r = arena_new(MIB, &arena);
	if (r == 0)
		r = store_state_days(walk->set->state, day_of_slot(from_slot),
				     day_of_slot(to_slot - 1), arena, &days, &n_days);
	for (size_t k = 0; r == 0 && k < n_days; k++) {
		size_t i = walk->visitor ? n_days - 1 - k : k;

		/* Clipped to the day, so that the sums in the statements cannot overflow. */
		walk->from_slot = MAX(from_slot, days[i].day * SLOTS_PER_DAY);
		walk->to_slot = MIN(to_slot, (days[i].day + 1) * SLOTS_PER_DAY);
		r = walk_day(walk, days[i].day, hosts, count);
		/* Retention removed the file after the list was made. */
		if (r < 0 && !walk->stopped && r != -ENOMEM &&
		    !store_state_has_day(walk->set->state, days[i].day))
			r = 0;
	}
	return r;
}

int read_scan_coverage(struct connection_set *set, const uint32_t *hosts, size_t count,
		       uint64_t from_slot, uint64_t to_slot, store_coverage_function function,
		       void *arg)
{
	struct block_walk walk = { .set = set, .on_coverage = function, .arg = arg };

	return walk_days(&walk, hosts, count, from_slot, to_slot);
}

int read_scan_counters(struct connection_set *set, const struct store_counter_query *query,
		       const struct store_counter_visitor *visitor)
{
	struct block_walk walk = {
		.set = set,
		.n_left = query->max_batches,
		.visitor = visitor,
	};

	return walk_days(&walk, query->hosts, query->n_hosts, query->from_slot, query->to_slot);
}
