/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the table of batches: the times that they cover, and their counters. A batch is a row of
 * the day on which it closed.
 */

#include "symbolizer/store/clickhouse/view_private.h"

#include <inttypes.h>

#include "symbolizer/store/clickhouse/rows.h"

/* 16 bytes for each host. */
#define MAX_WANTED_BYTES (16 * MIB)

/* Of a query that has the names of counters, each byte escaped. */
#define MAX_NAMES_SQL_BYTES (64 * KIB)

struct batch_scan {
	struct clickhouse_view *self;
	struct hash_table *indexes; /* u32 host -> u32 index in the caller's array */
	const uint32_t *hosts;
	store_coverage_function on_coverage;
	const struct store_counter_query *query;
	store_counters_function on_counters;
	void *arg;
};

static void batch_scan_release(struct batch_scan *scan)
{
	(void)hash_table_free(scan->indexes);
}

static int add_hosts(struct batch_scan *scan, size_t count, struct bytes *rows)
{
	int r = hash_table_new(sizeof(uint32_t), sizeof(uint32_t), 0, &scan->indexes);

	for (size_t i = 0; i < count && r >= 0; i++) {
		const struct hash128 *agent = id_table_id(scan->self->agents, scan->hosts[i]);
		uint32_t *index;

		if (!agent)
			continue;
		r = hash_table_insert(scan->indexes, &scan->hosts[i], (void **)&index);
		if (r <= 0)
			continue;
		*index = (uint32_t)i;
		row_add_hash(rows, agent);
	}
	return r < 0 ? r : bytes_error(rows);
}

/* NULL: not one of the hosts. */
static const uint32_t *index_of(const struct batch_scan *scan, const struct hash128 *agent)
{
	uint32_t number;

	if (id_table_number(scan->self->agents, agent, &number) < 0)
		return NULL;
	return hash_table_find(scan->indexes, &number);
}

/* The batches of the hosts that overlap the range. A batch may have the days of ROWS_MAX_DAYS. */
static void add_condition(const struct batch_scan *scan, const struct slot_range *range,
			  struct bytes *sql)
{
	(void)bytes_append_format(sql,
				  " FROM batches WHERE day >= %" PRIu64 " AND day <= %" PRIu64
				  " AND opened_ns < %" PRIu64 " AND closed_ns > %" PRIu64,
				  range->from / SLOTS_PER_DAY,
				  range->last / SLOTS_PER_DAY + ROWS_MAX_DAYS,
				  (range->last + 1) * SLOT_NS, range->from * SLOT_NS);
	sql_add_equal(sql, "tenant", scan->self->view.tenant);
	(void)bytes_append_text(sql, " AND agent IN (SELECT agent FROM wanted)");
}

static int run(const struct batch_scan *scan, struct bytes *sql, const struct bytes *rows,
	       int (*read_row)(void *arg, struct bytes_reader *row))
{
	const struct clickhouse_table wanted = { .name = "wanted",
						 .structure = "agent FixedString(16)",
						 .rows = bytes_view_of(rows) };
	struct clickhouse_query query = { .tables = &wanted,
					  .n_tables = 1,
					  .read_row = read_row,
					  .arg = (void *)(uintptr_t)scan };
	int r;

	(void)bytes_append_text(sql, " FORMAT RowBinary");
	r = sql_end(sql);
	query.sql = (const char *)sql->data;
	return r < 0 || rows->size == 0 ? r : clickhouse_view_run(scan->self, &query);
}

static int read_coverage(void *arg, struct bytes_reader *row)
{
	const struct batch_scan *scan = arg;
	struct hash128 agent = row_read_hash(row);
	uint64_t opened_ns = row_read_u64(row);
	uint64_t closed_ns = row_read_u64(row);
	const uint32_t *index;

	if (row->error < 0)
		return 0;
	index = index_of(scan, &agent);
	if (!index || opened_ns >= closed_ns)
		return 0;
	return scan->on_coverage(scan->arg, scan->hosts[*index], opened_ns / SLOT_NS,
				 (closed_ns - 1) / SLOT_NS);
}

int clickhouse_view_scan_coverage(struct store_view *view, const uint32_t *hosts, size_t count,
				  uint64_t from_slot, uint64_t to_slot,
				  store_coverage_function function, void *arg)
{
	scoped(batch_scan_release) struct batch_scan scan = { .self = clickhouse_view_of(view),
							      .hosts = hosts,
							      .on_coverage = function,
							      .arg = arg };
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	scoped(bytes_release) struct bytes rows = BYTES_INIT(MAX_WANTED_BYTES);
	struct slot_range range;
	int r;

	if (!slot_range_make(from_slot, to_slot, &range))
		return 0;
	r = add_hosts(&scan, count, &rows);
	if (r < 0)
		return r;
	(void)bytes_append_text(&sql, "SELECT agent, opened_ns, closed_ns");
	add_condition(&scan, &range, &sql);
	(void)bytes_append_text(&sql, " LIMIT 1 BY agent, epoch, sequence");
	return run(&scan, &sql, &rows, read_coverage);
}

/*
 * The counters that the query names, as arrays of 1 + their index in query->names and of their
 * values. The first name that matches decides.
 */
static void add_counters(const struct store_counter_query *query, struct bytes *sql)
{
	(void)bytes_append_text(sql, "arrayMap(n -> toUInt8(");
	for (size_t i = 0; i < query->n_names; i++) {
		(void)bytes_append_text(sql, i ? ", startsWith(n, " : "multiIf(startsWith(n, ");
		sql_add_string(sql, query->names[i], strlen(query->names[i]));
		(void)bytes_append_format(sql, "), %zu", i + 1);
	}
	(void)bytes_append_text(sql, query->n_names ? ", 0)" : "0");
	(void)bytes_append_text(sql, "), counter_names) AS all_keys, "
				     "arrayFilter(k -> k != 0, all_keys) AS keys, "
				     "arrayFilter((v, k) -> k != 0, counter_values, all_keys) "
				     "AS amounts");
}

static int visit(const struct batch_scan *scan, struct store_batch_counters *batch,
		 struct bytes_reader keys, struct bytes_reader amounts)
{
	uint64_t values[STORE_MAX_COUNTER_NAMES] = {};

	while (keys.next < keys.end) {
		uint8_t key = row_read_u8(&keys);
		uint64_t amount = row_read_u64(&amounts);

		if (key >= 1 && key <= scan->query->n_names)
			values[key - 1] += amount;
	}
	batch->values = values;
	return scan->on_counters(scan->arg, batch);
}

static uint64_t run_of(uint16_t day, const struct hash128 *agent, uint64_t epoch)
{
	struct {
		struct hash128 agent;
		uint64_t epoch, day;
	} parts = { .agent = *agent, .epoch = epoch, .day = day };

	return hash64_of(&parts, sizeof(parts));
}

static struct bytes_reader read_items(struct bytes_reader *row, size_t item_bytes)
{
	size_t count = row_read_count(row, item_bytes);
	struct bytes_reader items = *row;

	if (row->error < 0)
		return items;
	items.end = items.next + count * item_bytes;
	row->next = items.end;
	return items;
}

static int read_counters(void *arg, struct bytes_reader *row)
{
	const struct batch_scan *scan = arg;
	struct store_batch_counters batch = {};
	uint16_t day = row_read_u16(row);
	struct hash128 agent = row_read_hash(row);
	uint64_t epoch = row_read_u64(row), stored_ns;
	struct bytes_reader keys, amounts;
	const uint32_t *index;

	batch.sequence = row_read_u64(row);
	batch.opened_wall_ns = row_read_u64(row);
	batch.closed_wall_ns = row_read_u64(row);
	stored_ns = row_read_u64(row);
	keys = read_items(row, 1);
	amounts = read_items(row, sizeof(uint64_t));
	if (row->error < 0)
		return 0;
	index = index_of(scan, &agent);
	if (!index)
		return 0;
	batch.host_index = *index;
	batch.run = run_of(day, &agent, epoch);
	batch.delay_ms = (int64_t)(stored_ns - batch.closed_wall_ns) / (int64_t)NSEC_PER_MSEC;
	return visit(scan, &batch, keys, amounts);
}

int clickhouse_view_scan_counters(struct store_view *view, const struct store_counter_query *query,
				  store_counters_function function, void *arg)
{
	scoped(batch_scan_release) struct batch_scan scan = { .self = clickhouse_view_of(view),
							      .hosts = query->hosts,
							      .query = query,
							      .on_counters = function,
							      .arg = arg };
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_NAMES_SQL_BYTES);
	scoped(bytes_release) struct bytes rows = BYTES_INIT(MAX_WANTED_BYTES);
	struct slot_range range;
	int r;

	assert(query->n_names <= STORE_MAX_COUNTER_NAMES);
	if (!slot_range_make(query->from_slot, query->to_slot, &range))
		return 0;
	r = add_hosts(&scan, query->n_hosts, &rows);
	if (r < 0)
		return r;
	(void)bytes_append_text(&sql, "SELECT day, agent, epoch, sequence, opened_ns, closed_ns, "
				      "stored_ns, keys, amounts FROM (SELECT * FROM (SELECT day, "
				      "agent, epoch, sequence, opened_ns, closed_ns, stored_ns, ");
	add_counters(query, &sql);
	add_condition(&scan, &range, &sql);
	(void)bytes_append_format(&sql,
				  " ORDER BY closed_ns DESC LIMIT 1 BY agent, epoch, sequence) "
				  "ORDER BY closed_ns DESC LIMIT %zu BY agent) "
				  "ORDER BY day DESC, agent, epoch DESC, sequence",
				  query->max_batches);
	return run(&scan, &sql, &rows, read_counters);
}
