/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Visits the batches of a state day by day. The runs of a day are those of the day file and those
 * in memory. A name is compared with the names of the query once for each day file, and values of
 * other names are skipped without decoding them.
 */

#include "symbolizer/store/segment_db/batch_scan.h"

#include <string.h>

#include "common/limits.h"
#include "symbolizer/store/segment_db/batch_state.h"

/* A run on one day. */
struct scanned_run {
	size_t agent;
	uint64_t epoch;
	uint64_t newest_ms; /* closing of its newest batch */
	int64_t id;         /* in the day file; 0: none */
	size_t first, end;  /* its batches in memory, in state.batches */
};

struct scan {
	struct batch_state state;
	bool reads_counters;
	segment_db_batch_function function;
	void *arg;   /* of function */
	int stopped; /* negative result of the function */

	/* Of one day */
	segment_day day;
	struct sqlite_db *file; /* NULL: none */
	VEC_DEFINE(, struct scanned_run) runs;
	uint8_t index_of[COUNTER_NAMES_MAX]; /* index in query->names, by the number of a name */

	/* Of one block */
	struct batch_times_list times;
	struct bytes plain;
	uint64_t *values; /* [BATCH_BLOCK_MAX * query->n_names] */
};

static void scan_release(struct scan *scan)
{
	batch_state_release(&scan->state);
	vec_release(&scan->runs);
	vec_release(&scan->times);
	bytes_release(&scan->plain);
	free(scan->values);
}

static bool is_done(const struct scan *scan, size_t agent)
{
	return scan->state.agents.items[agent].n_left == 0;
}

/* The number of a run on a day, for the caller. */
static uint64_t number_of(const struct scan *scan, const struct scanned_run *run)
{
	const uint64_t key[] = { run->epoch, scan->day };

	return hash64_of(key, sizeof(key));
}

/* Visits one batch, if it overlaps the range. A negative result of the function, or 0. */
static int visit(struct scan *scan, const struct scanned_run *run, const struct batch_times *times,
		 const uint64_t *values)
{
	struct scanned_agent *agent = &scan->state.agents.items[run->agent];
	const struct segment_db_batch batch = {
		.agent_index = run->agent,
		.agent = agent->id,
		.run = number_of(scan, run),
		.sequence = times->sequence,
		.opened_wall_ns = times->opened_ms * NSEC_PER_MSEC,
		.closed_wall_ns = times->closed_ms * NSEC_PER_MSEC,
		.delay_ms = times->delay_ms,
		.values = values,
	};

	if (!batch_state_overlaps(&scan->state, times->opened_ms, times->closed_ms))
		return 0;
	if (scan->reads_counters)
		agent->n_left--;
	scan->stopped = MIN(scan->function(scan->arg, &batch), 0);
	return scan->stopped;
}

static void sum_logged_counters(struct scan *scan, const struct scanned_batch *scanned)
{
	struct bytes_reader in = bytes_reader_of(scanned->batch->counters);
	uint64_t value;
	uint32_t name;

	memset(scan->values, 0, scan->state.query->n_names * sizeof(*scan->values));
	while (logged_counter_next(&in, &name, &value))
		if (scanned->index_of[name] != NAME_NOT_ASKED)
			scan->values[scanned->index_of[name]] += value;
}

static int visit_logged(struct scan *scan, const struct scanned_run *run, size_t index)
{
	const struct scanned_batch *scanned = &scan->state.batches.items[index];
	const struct batch_times times = { .sequence = scanned->batch->sequence,
					   .opened_ms = scanned->batch->opened_ms,
					   .closed_ms = scanned->batch->closed_ms,
					   .delay_ms = scanned->batch->delay_ms };

	if (scan->reads_counters)
		sum_logged_counters(scan, scanned);
	return visit(scan, run, &times, scan->reads_counters ? scan->values : NULL);
}

/* Adds the values of one name to those of the batches. */
static int sum_values(struct scan *scan, size_t index, struct bytes_reader *column)
{
	const size_t n_names = scan->state.query->n_names;

	for (size_t i = 0; i < scan->times.count; i++)
		scan->values[i * n_names + index] += bytes_read_varint(column);
	return column->error;
}

static int sum_counters(struct scan *scan, struct bytes_view blob)
{
	struct bytes_reader in, column;
	uint32_t name;
	int r = batch_counters_open(blob, &scan->plain);

	if (r < 0)
		return r;
	memset(scan->values, 0,
	       scan->times.count * scan->state.query->n_names * sizeof(*scan->values));
	in = bytes_reader_of(bytes_view_of(&scan->plain));
	while ((r = batch_counters_next(&in, &name, &column)) > 0) {
		if (scan->index_of[name] == NAME_NOT_ASKED)
			continue;
		r = sum_values(scan, scan->index_of[name], &column);
		if (r < 0)
			return r;
	}
	return r;
}

/* Decodes a row of BLOCKS_NEWEST_FIRST or BLOCKS_OLDEST_FIRST. 0, -EBADMSG, -ENOMEM. */
static int read_block(struct scan *scan, sqlite3_stmt *row)
{
	const struct batch_head head = {
		.hour = batch_hour((uint64_t)sqlite3_column_int64(row, 0)),
		.count = (size_t)sqlite3_column_int64(row, 1),
	};
	int r;

	vec_clear(&scan->times);
	r = batch_times_decode(sqlite_blob(row, 2), &head, &scan->times);
	if (r < 0 || !scan->reads_counters)
		return r;
	return sum_counters(scan, sqlite_blob(row, 3));
}

static int visit_block(struct scan *scan, const struct scanned_run *run, sqlite3_stmt *row)
{
	const size_t n_names = scan->state.query->n_names;
	int r = read_block(scan, row);

	if (r == -EBADMSG)
		return 0;
	for (size_t i = 0; i < scan->times.count && r == 0 && !scan->reads_counters; i++)
		r = visit(scan, run, &scan->times.items[i], NULL);
	for (size_t i = scan->times.count; i > 0 && r == 0 && scan->reads_counters; i--) {
		if (is_done(scan, run->agent))
			break;
		r = visit(scan, run, &scan->times.items[i - 1], scan->values + (i - 1) * n_names);
	}
	return r;
}

static int visit_blocks(struct scan *scan, const struct scanned_run *run)
{
	const enum day_file_statement statement =
		scan->reads_counters ? DAY_SQL_BLOCKS_NEWEST_FIRST : DAY_SQL_BLOCKS_OLDEST_FIRST;
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(scan->file, statement, &row, SQL_INT(run->id),
			     SQL_INT(scan->state.from_ms), SQL_INT(scan->state.to_ms),
			     SQL_INT(scan->state.last_flush));

	while (r > 0) {
		r = visit_block(scan, run, row);
		if (r == 0 && !is_done(scan, run->agent))
			r = sqlite_step(scan->file, row);
	}
	return r;
}

/* Batches in memory are mostly newer than those in the file. */
static int visit_run(struct scan *scan, const struct scanned_run *run)
{
	int r = 0;

	if (cancel_is_requested(scan->state.query->cancel))
		return -ECANCELED;
	if (!scan->reads_counters) {
		if (run->id)
			r = visit_blocks(scan, run);
		for (size_t i = run->first; i < run->end && r == 0; i++)
			r = visit_logged(scan, run, i);
		return r;
	}
	for (size_t i = run->end; i > run->first && r == 0 && !is_done(scan, run->agent); i--)
		r = visit_logged(scan, run, i - 1);
	if (r == 0 && run->id && !is_done(scan, run->agent))
		r = visit_blocks(scan, run);
	return r;
}

/* Adds the run in a row of RUNS_OF_TENANT or RUNS_OF_AGENT. */
static int add_stored_run(struct scan *scan, sqlite3_stmt *row)
{
	const struct bytes_view id = sqlite_blob(row, 1);
	struct scanned_run run = { .id = sqlite3_column_int64(row, 0),
				   .epoch = (uint64_t)sqlite3_column_int64(row, 2),
				   .newest_ms = (uint64_t)sqlite3_column_int64(row, 3) };
	struct hash128 agent;
	int r;

	/* Runs of flushes that failed have no blocks. */
	if (id.size != sizeof(agent) || run.newest_ms <= scan->state.from_ms)
		return 0;
	memcpy(&agent, id.data, sizeof(agent));
	r = batch_state_find_agent(&scan->state, &agent, &run.agent);
	if (r <= 0 || is_done(scan, run.agent))
		return MIN(r, 0);
	return vec_push(&scan->runs, run);
}

/* @agent NULL: of all agents of the tenant. */
static int add_stored_runs(struct scan *scan, const struct hash128 *agent)
{
	const char *tenant = scan->state.query->tenant;
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = agent ? sqlite_query(scan->file, DAY_SQL_RUNS_OF_AGENT, &row, SQL_TEXT(tenant),
				     SQL_BLOB(agent, sizeof(*agent)))
		      : sqlite_query(scan->file, DAY_SQL_RUNS_OF_TENANT, &row, SQL_TEXT(tenant));

	while (r > 0) {
		r = add_stored_run(scan, row);
		if (r == 0)
			r = sqlite_step(scan->file, row);
	}
	return r;
}

static int add_file_runs(struct scan *scan)
{
	const struct segment_db_batch_query *query = scan->state.query;
	int r = 0;

	if (!query->agents)
		return add_stored_runs(scan, NULL);
	for (size_t i = 0; i < query->n_agents && r == 0; i++)
		if (!is_done(scan, i))
			r = add_stored_runs(scan, &query->agents[i]);
	return r;
}

/* The batches in memory [first, end) are those of the day. */
static int add_memory_runs(struct scan *scan, size_t first, size_t end)
{
	const struct scanned_batch *batches = scan->state.batches.items;
	struct scanned_run run;
	int r = 0;

	for (run.end = first; run.end < end && r == 0;) {
		const struct scanned_batch *batch = &batches[run.end];

		run = (struct scanned_run){ .agent = batch->agent,
					    .epoch = batch->epoch,
					    .first = run.end,
					    .end = run.end };
		while (run.end < end && batches[run.end].agent == run.agent &&
		       batches[run.end].epoch == run.epoch)
			run.newest_ms = batches[run.end++].batch->closed_ms;
		r = vec_push(&scan->runs, run);
	}
	return r;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_identities(const void *a, const void *b)
{
	const struct scanned_run *left = a, *right = b;
	int order = compare_numbers(left->agent, right->agent);

	return order ? order : compare_numbers(left->epoch, right->epoch);
}

static int compare_newest_first(const void *a, const void *b)
{
	const struct scanned_run *left = a, *right = b;
	int order = compare_numbers(left->agent, right->agent);

	if (order == 0)
		order = compare_numbers(right->newest_ms, left->newest_ms);
	return order ? order : compare_numbers(right->epoch, left->epoch);
}

/* A run that is in the file and in memory becomes one. */
static void join_runs(struct scan *scan)
{
	struct scanned_run *runs = scan->runs.items;
	size_t count = 0;

	if (scan->runs.count == 0)
		return;
	qsort(runs, scan->runs.count, sizeof(*runs), compare_identities);
	for (size_t i = 0; i < scan->runs.count; i++) {
		if (count == 0 || compare_identities(&runs[count - 1], &runs[i]) != 0) {
			runs[count++] = runs[i];
			continue;
		}
		runs[count - 1].newest_ms = MAX(runs[count - 1].newest_ms, runs[i].newest_ms);
		runs[count - 1].id = MAX(runs[count - 1].id, runs[i].id);
		runs[count - 1].first = MAX(runs[count - 1].first, runs[i].first);
		runs[count - 1].end = MAX(runs[count - 1].end, runs[i].end);
	}
	scan->runs.count = count;
	qsort(runs, count, sizeof(*runs), compare_newest_first);
}

static int map_names(struct scan *scan)
{
	const struct segment_db_batch_query *query = scan->state.query;
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	memset(scan->index_of, NAME_NOT_ASKED, sizeof(scan->index_of));
	scan->index_of[COUNTER_LEFT_OUT] = batch_state_index_of(query, STORE_COUNTERS_LEFT_OUT);
	r = sqlite_query(scan->file, DAY_SQL_COUNTER_NAMES, &row, SQL_TEXT(query->tenant));
	while (r > 0) {
		const int64_t number = sqlite3_column_int64(row, 0);

		if (number > COUNTER_LEFT_OUT && number < COUNTER_NAMES_MAX)
			scan->index_of[number] = batch_state_index_of(query, sqlite_text(row, 1));
		r = sqlite_step(scan->file, row);
	}
	return r;
}

/* The day is that of scan->file and of the batches in memory [first, end). */
static int visit_day(struct scan *scan, size_t first, size_t end)
{
	int r = 0;

	vec_clear(&scan->runs);
	if (scan->file && scan->reads_counters)
		r = map_names(scan);
	if (r == 0 && scan->file)
		r = add_file_runs(scan);
	if (r == 0)
		r = add_memory_runs(scan, first, end);
	join_runs(scan);
	for (size_t i = 0; i < scan->runs.count && r == 0; i++)
		if (!is_done(scan, scan->runs.items[i].agent))
			r = visit_run(scan, &scan->runs.items[i]);
	return r;
}

static segment_day day_of_batch(const struct scan *scan, size_t index)
{
	return batch_day(scan->state.batches.items[index].batch->closed_ms);
}

/* Visits all days of files and of memory, the newest first. */
static int visit_days(struct scan *scan)
{
	size_t n_files = scan->state.files.count, end = scan->state.batches.count;
	int r = 0;

	while (r == 0 && (n_files > 0 || end > 0)) {
		size_t first = end;

		scan->day = 0;
		scan->file = NULL;
		if (end > 0)
			scan->day = day_of_batch(scan, end - 1);
		if (n_files > 0)
			scan->day = MAX(scan->day, scan->state.files.items[n_files - 1].day);
		if (n_files > 0 && scan->state.files.items[n_files - 1].day == scan->day)
			scan->file = scan->state.files.items[--n_files].file;
		while (first > 0 && day_of_batch(scan, first - 1) == scan->day)
			first--;
		r = visit_day(scan, first, end);
		/* Queries of samples report the damage. */
		if (r == -EUCLEAN && !scan->stopped)
			r = 0;
		end = first;
	}
	return r;
}

static int run_scan(struct segment_db *db, const struct segment_db_batch_query *query,
		    struct scan *scan)
{
	int r;

	scan->plain = BYTES_INIT(0);
	scan->values = calloc(BATCH_BLOCK_MAX * (query->n_names + 1), sizeof(*scan->values));
	if (!scan->values)
		return -ENOMEM;
	r = batch_state_read(db, query, &scan->state);
	return r < 0 ? r : visit_days(scan);
}

int segment_db_scan_counters(struct segment_db *db, const struct segment_db_batch_query *query,
			     segment_db_batch_function function, void *arg)
{
	scoped(scan_release) struct scan scan = { .reads_counters = true,
						  .function = function,
						  .arg = arg };

	return query->max_batches == 0 ? 0 : run_scan(db, query, &scan);
}

int segment_db_scan_coverage(struct segment_db *db, const struct segment_db_batch_query *query,
			     segment_db_batch_function function, void *arg)
{
	struct segment_db_batch_query times = *query;
	scoped(scan_release) struct scan scan = { .function = function, .arg = arg };

	times.n_names = 0;
	times.max_batches = SIZE_MAX;
	return run_scan(db, &times, &scan);
}
