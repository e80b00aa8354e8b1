/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the covered times of blocks. Rows of a block may be before the time that
 * its batch covers (a wait that began earlier), so coverage uses the times of the batch, which have
 * an index.
 */

#include "symbolizer/store/sqlite/read.h"

struct block_walk {
	const uint32_t *hosts;
	size_t n_hosts;
	const struct read_day *day;
	store_coverage_function on_coverage;
	void *arg; /* of on_coverage */
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

	r = sqlite_query(walk->day->db, SQL_BLOCK_COVERAGE, &row, SQL_INT(sender),
			 SQL_INT(walk->day->from_slot * SLOT_NS),
			 SQL_INT(walk->day->to_slot * SLOT_NS), SQL_INT(walk->day->max_span_ns));
	while (r > 0) {
		r = report_coverage(walk, host, row);
		if (r == 0)
			r = sqlite_step(walk->day->db, row);
	}
	return r;
}

static int cover_host(struct block_walk *walk, uint32_t host)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(walk->day->db, SQL_SENDERS_OF_HOST, &row, SQL_INT(host));
	while (r > 0) {
		r = cover_sender(walk, host, sqlite3_column_int64(row, 0));
		if (r == 0)
			r = sqlite_step(walk->day->db, row);
	}
	return r;
}

static int cover_day(void *arg, const struct read_day *day, int *ret_stopped)
{
	struct block_walk *walk = arg;
	int r = 0;

	walk->day = day;
	for (size_t i = 0; r == 0 && i < walk->n_hosts; i++)
		r = cover_host(walk, walk->hosts[i]);
	*ret_stopped = walk->stopped;
	return r;
}

int read_scan_coverage(struct connection_set *set, const uint32_t *hosts, size_t count,
		       uint64_t from_slot, uint64_t to_slot, store_coverage_function function,
		       void *arg)
{
	struct block_walk walk = {
		.hosts = hosts,
		.n_hosts = count,
		.on_coverage = function,
		.arg = arg,
	};
	const struct read_range range = { .from_slot = from_slot, .to_slot = to_slot };

	return count == 0 ? 0 : read_walk_days(set, &range, cover_day, &walk);
}
