/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the counters of batches from the rows of table counter_minute. A name is compared with the
 * names of the query once per day file, not once per batch. Blocks that were written in format 1 of
 * a day file have their counters as texts.
 */

#include "symbolizer/store/sqlite/read.h"

#include "symbolizer/store/sqlite/codec.h"
#include "symbolizer/store/sqlite/counter_codec.h"

#define DAY_FORMAT_WITH_TABLES 2
#define MINUTES_PER_DAY        (24 * 60)

/* Entry of a map for names that the query does not ask for. */
#define NOT_ASKED UINT8_MAX
static_assert(STORE_MAX_COUNTER_NAMES < NOT_ASKED, "an index fits into a byte");

struct counter_walk {
	const struct store_counter_query *query;
	store_counters_function function;
	void *arg; /* of function */
	struct arena *arena;
	size_t *n_left; /* [query->n_hosts] batches that may still be visited; 0: no further row */

	const struct read_day *day;
	uint8_t *index_of; /* [n_ids] index in query->names, by the ID of a name */
	size_t n_ids;
	int64_t last_text_block; /* blocks up to this ID have their counters as texts */
	uint64_t values[STORE_MAX_COUNTER_NAMES];
	int stopped;
};

static uint8_t index_of_name(const struct store_counter_query *query, const char *name,
			     size_t length)
{
	for (size_t i = 0; i < query->n_names; i++) {
		size_t asked = strlen(query->names[i]);

		if (asked <= length && memcmp(query->names[i], name, asked) == 0)
			return (uint8_t)i;
	}
	return NOT_ASKED;
}

/*
 * Returns 1 if visited, 0 if the batch is outside the range, < 0 if the function stopped the scan.
 */
static int visit(struct counter_walk *walk, struct store_batch_counters *batch)
{
	if (batch->closed_wall_ns <= walk->day->from_slot * SLOT_NS ||
	    batch->opened_wall_ns >= walk->day->to_slot * SLOT_NS)
		return 0;
	walk->n_left[batch->host_index] -= walk->n_left[batch->host_index] > 0;
	batch->values = walk->values;
	walk->stopped = walk->function(walk->arg, batch);
	return walk->stopped < 0 ? walk->stopped : 1;
}

static void sum_pairs(struct counter_walk *walk, struct bytes_view pairs)
{
	struct bytes_reader reader = bytes_reader_of(pairs);
	uint64_t id, value;

	memset(walk->values, 0, walk->query->n_names * sizeof(walk->values[0]));
	while (counter_next_pair(&reader, &id, &value)) {
		uint8_t index = id < walk->n_ids ? walk->index_of[id] : NOT_ASKED;

		if (index != NOT_ASKED)
			walk->values[index] += value;
	}
}

static int visit_minute(struct counter_walk *walk, struct store_batch_counters *batch,
			sqlite3_stmt *row)
{
	uint64_t minute = walk->day->day * (uint64_t)MINUTES_PER_DAY +
			  counter_row_minute(sqlite3_column_int64(row, 0));
	struct bytes_reader reader = bytes_reader_of(sqlite_blob(row, 1));
	struct counter_entry entry;

	while (counter_next_entry(&reader, minute, &entry) > 0) {
		int r;

		batch->sequence = entry.sequence;
		batch->opened_wall_ns = entry.opened_ns;
		batch->closed_wall_ns = entry.closed_ns;
		batch->delay_ms = entry.delay_ms;
		sum_pairs(walk, entry.pairs);
		r = visit(walk, batch);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_minutes(struct counter_walk *walk, struct store_batch_counters *batch,
			int64_t sender)
{
	const struct read_day *day = walk->day;
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	uint64_t first_ns = day->day * SLOTS_PER_DAY * SLOT_NS;
	uint64_t first = (day->from_slot * SLOT_NS - first_ns) / COUNTER_MINUTE_NS;
	uint64_t last =
		(day->to_slot * SLOT_NS + day->max_span_ns - first_ns - 1) / COUNTER_MINUTE_NS;
	int r;

	if (walk->n_ids == 0)
		return 0;
	last = MIN(last, (uint64_t)MINUTES_PER_DAY - 1);
	r = sqlite_query(day->db, SQL_COUNTER_SCAN, &row, SQL_INT(counter_row_id(sender, first)),
			 SQL_INT(counter_row_id(sender, last + 1)));
	while (r > 0) {
		r = visit_minute(walk, batch, row);
		if (r == 0 && walk->n_left[batch->host_index] > 0)
			r = sqlite_step(day->db, row);
	}
	return r;
}

static int sum_text(void *arg, struct bytes_view name, uint64_t value)
{
	struct counter_walk *walk = arg;
	uint8_t index = index_of_name(walk->query, (const char *)name.data, name.size);

	if (index != NOT_ASKED)
		walk->values[index] += value;
	return 0;
}

static int visit_text(struct counter_walk *walk, struct store_batch_counters *batch,
		      sqlite3_stmt *row)
{
	batch->sequence = (uint64_t)sqlite3_column_int64(row, 0);
	batch->opened_wall_ns = (uint64_t)sqlite3_column_int64(row, 1);
	batch->closed_wall_ns = (uint64_t)sqlite3_column_int64(row, 2);
	batch->delay_ms = INT64_MAX;
	memset(walk->values, 0, walk->query->n_names * sizeof(walk->values[0]));
	if (codec_walk_counters(sqlite_blob(row, 3), sum_text, walk) < 0)
		memset(walk->values, 0, walk->query->n_names * sizeof(walk->values[0]));
	return MIN(visit(walk, batch), 0);
}

static int read_texts(struct counter_walk *walk, struct store_batch_counters *batch, int64_t sender)
{
	const struct read_day *day = walk->day;
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	if (walk->last_text_block == 0)
		return 0;
	r = sqlite_query(day->db, SQL_BLOCK_COUNTERS, &row, SQL_INT(sender),
			 SQL_INT(day->from_slot * SLOT_NS), SQL_INT(day->to_slot * SLOT_NS),
			 SQL_INT(day->max_span_ns), SQL_INT(walk->last_text_block));
	while (r > 0) {
		r = visit_text(walk, batch, row);
		if (r == 0 && walk->n_left[batch->host_index] > 0)
			r = sqlite_step(day->db, row);
	}
	return r;
}

static int count_host(struct counter_walk *walk, size_t host_index)
{
	struct sqlite_db *db = walk->day->db;
	struct store_batch_counters batch = { .host_index = host_index };
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(db, SQL_SENDERS_NEWEST_FIRST, &row,
			 SQL_INT(walk->query->hosts[host_index]));
	while (r > 0) {
		int64_t sender = sqlite3_column_int64(row, 0);

		batch.run = (uint64_t)walk->day->day << 32 | (uint64_t)sender;
		r = read_minutes(walk, &batch, sender);
		if (r == 0 && walk->n_left[host_index] > 0)
			r = read_texts(walk, &batch, sender);
		if (r == 0 && walk->n_left[host_index] > 0)
			r = sqlite_step(db, row);
	}
	return r;
}

/* Fills index_of. Rows of the table are in order of their IDs. */
static int map_names(struct counter_walk *walk)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct sqlite_db *db = walk->day->db;
	int r;

	r = sqlite_query(db, SQL_COUNTER_NAME_MAX, &row);
	if (r <= 0)
		return r < 0 ? r : -EIO;
	walk->n_ids = (size_t)sqlite3_column_int64(row, 0) + 1;
	sqlite_resetp(&row);
	row = NULL;
	walk->index_of = arena_alloc(walk->arena, walk->n_ids);
	if (!walk->index_of)
		return -ENOMEM;
	memset(walk->index_of, NOT_ASKED, walk->n_ids);
	walk->index_of[COUNTER_LEFT_OUT] = index_of_name(walk->query, STORE_COUNTERS_LEFT_OUT,
							 strlen(STORE_COUNTERS_LEFT_OUT));
	r = sqlite_query(db, SQL_COUNTER_NAMES, &row);
	while (r > 0) {
		size_t id = (size_t)sqlite3_column_int64(row, 0);
		const char *name = sqlite_text(row, 1);

		if (id < walk->n_ids)
			walk->index_of[id] = index_of_name(walk->query, name, strlen(name));
		r = sqlite_step(db, row);
	}
	return r;
}

static int find_formats(struct counter_walk *walk)
{
	scoped(sqlite_resetp) sqlite3_stmt *version = NULL;
	scoped(sqlite_resetp) sqlite3_stmt *text = NULL;
	int r;

	walk->n_ids = 0;
	walk->last_text_block = INT64_MAX;
	r = sqlite_query(walk->day->db, SQL_DAY_VERSION, &version);
	if (r <= 0 || sqlite3_column_int(version, 0) < DAY_FORMAT_WITH_TABLES)
		return MIN(r, 0);
	r = sqlite_query(walk->day->db, SQL_COUNTER_TEXT, &text);
	if (r <= 0)
		return r < 0 ? r : -EIO;
	walk->last_text_block = sqlite3_column_int64(text, 0);
	return map_names(walk);
}

static int read_day_counters(void *arg, const struct read_day *day, int *ret_stopped)
{
	struct counter_walk *walk = arg;
	int r;

	walk->day = day;
	r = find_formats(walk);
	for (size_t i = 0; r == 0 && i < walk->query->n_hosts; i++)
		if (walk->n_left[i] > 0)
			r = count_host(walk, i);
	*ret_stopped = walk->stopped;
	return r;
}

int read_scan_counters(struct connection_set *set, const struct store_counter_query *query,
		       store_counters_function function, void *arg)
{
	const struct read_range range = {
		.from_slot = query->from_slot,
		.to_slot = query->to_slot,
		.newest_first = true,
	};
	struct counter_walk walk = { .query = query, .function = function, .arg = arg };
	scoped(arena_freep) struct arena *arena = NULL;
	int r;

	assert(query->n_names <= STORE_MAX_COUNTER_NAMES);
	if (query->n_hosts == 0)
		return 0;
	r = arena_new(64 * MIB, &arena);
	if (r < 0)
		return r;
	walk.arena = arena;
	walk.n_left = arena_alloc_array(arena, query->n_hosts, sizeof(*walk.n_left));
	if (!walk.n_left)
		return -ENOMEM;
	for (size_t i = 0; i < query->n_hosts; i++)
		walk.n_left[i] = query->max_batches;
	return read_walk_days(set, &range, read_day_counters, &walk);
}
