/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The series are a table of the query, so that a query may have any number of them. The condition
 * on lanes, days and hours selects the ranges of the primary key.
 *
 * ClickHouse's UInt64 wraps, and sums saturate. So each sum is computed with floating point too: if
 * this one is above the largest UInt64, the item has the largest value.
 */

#include "symbolizer/store/clickhouse/sums.h"

#include <inttypes.h>

#include "common/limits.h"
#include "symbolizer/store/clickhouse/sql.h"
#include "symbolizer/store/sum_table.h"

/* Of the table of series, 33 bytes each. */
#define MAX_SERIES_BYTES (256 * MIB)

/* In a sum: (n, v, f, m, mf) of rows. */
#define SUM_COLUMNS                                                                                \
	"count() AS n, sum(amount * factor) AS v, "                                                \
	"sum(toFloat64(amount) * toFloat64(factor)) AS f, "                                        \
	"sum(amount * factor * marked) AS m, "                                                     \
	"sum(toFloat64(amount) * toFloat64(factor) * marked) AS mf"

struct answer {
	const struct sum_request *request;
	bool has_slots; /* the caller wants last_slot */
	bool has_steps; /* items have the number of a step instead of a stack */
	struct sum_table table;
	struct store_sums sums;
};

void sums_add_samples(struct bytes *sql, const struct slot_range *range, bool without_stacks)
{
	(void)bytes_append_format(
		sql,
		"SELECT series AS id, %s AS stack, hour * toUInt64(%" PRIu64 ") + part AS slot, "
		"amount FROM (SELECT hour, series, stacks, slots, amounts FROM samples WHERE ",
		without_stacks ? "toFixedString('', 16)" : "one_stack", (uint64_t)SLOTS_PER_HOUR);
	sql_add_days(sql, range);
	(void)bytes_append_format(
		sql,
		" AND lane IN (SELECT lane FROM wanted) AND hour >= %" PRIu64
		" AND hour <= %" PRIu64
		" AND series IN (SELECT id FROM wanted) AND last_slot >= %" PRIu64
		" AND first_slot <= %" PRIu64 " LIMIT 1 BY lane, hour, series, epoch, sequence) "
		"ARRAY JOIN stacks AS one_stack, slots AS part, amounts AS amount "
		"WHERE slot >= %" PRIu64 " AND slot <= %" PRIu64,
		range->from / SLOTS_PER_HOUR, range->last / SLOTS_PER_HOUR, range->from,
		range->last, range->from, range->last);
}

/* The expression for the third column of items: their stack, or the number of their step. */
static void add_item_key(struct bytes *sql, const struct store_sum_query *query)
{
	if (query->step_slots)
		(void)bytes_append_format(sql, "intDiv(slot - %" PRIu64 ", toUInt64(%" PRIu64 "))",
					  query->from_slot, query->step_slots);
	else
		(void)bytes_append_text(sql, "stack");
}

/* The rows of the answer: (item, stack or step, value, float, marked, float, last slot, rows). */
static int make_sql(const struct store_sum_query *query, const struct slot_range *range,
		    struct bytes *sql)
{
	bool last_only = query->policy == STORE_SUM_LAST;

	(void)bytes_append_text(sql, last_only ? "SELECT item, stack, argMax(v, slot), "
						 "argMax(f, slot), sum(m), sum(mf), max(slot), "
						 "sum(n) FROM (SELECT item, stack, slot, "
					       : "SELECT item, part, v, f, m, mf, s, n FROM "
						 "(SELECT item, ");
	if (!last_only) {
		add_item_key(sql, query);
		(void)bytes_append_text(sql, " AS part, max(slot) AS s, ");
	}
	(void)bytes_append_text(sql, SUM_COLUMNS " FROM (");
	sums_add_samples(sql, range, query->without_stacks);
	(void)bytes_append_text(sql,
				") AS chosen ALL INNER JOIN wanted USING (id) GROUP BY item, ");
	(void)bytes_append_text(sql, last_only ? "stack, slot) GROUP BY item, stack" : "part)");
	(void)bytes_append_text(sql, " FORMAT RowBinary");
	return sql_end(sql);
}

static double read_float(struct bytes_reader *row)
{
	uint64_t bits = row_read_u64(row);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* 2^64 as a double. */
static uint64_t saturate(uint64_t value, double approximate)
{
	return approximate >= 18446744073709551616.0 ? UINT64_MAX : value;
}

static int read_item(void *arg, struct bytes_reader *row)
{
	struct answer *answer = arg;
	uint32_t group = row_read_u32(row);
	const bool has_steps = answer->has_steps;
	uint64_t key = has_steps ? row_read_u64(row) : 0;
	struct hash128 stack = has_steps ? (struct hash128){} : row_read_hash(row);
	uint64_t value = row_read_u64(row);
	double value_float = read_float(row);
	uint64_t marked = row_read_u64(row);
	double marked_float = read_float(row);
	uint64_t last_slot = row_read_u64(row);
	uint64_t n_rows = row_read_u64(row);
	uint32_t number = 0, index;
	int r = 0;

	if (row->error < 0)
		return 0;
	if (!has_steps)
		r = id_table_number(answer->request->stacks, &stack, &number);
	if (r == 0)
		r = sum_table_find(&answer->table, group, has_steps ? key : number, &index);
	if (r < 0)
		return r;
	sum_table_put(&answer->table, index, answer->has_slots ? last_slot : 0,
		      saturate(value, value_float));
	answer->sums.n_rows += n_rows;
	answer->sums.marked_value =
		sum_saturating(answer->sums.marked_value, saturate(marked, marked_float));
	return 0;
}

static int add_series(const struct sum_request *request, const struct store_sum_query *query,
		      struct bytes *rows)
{
	for (size_t i = 0; i < query->n_series; i++) {
		const struct store_sum_series *series = &query->series[i];
		const struct sum_source *source = &request->sources[series->id];

		row_add_hash(rows, &source->id);
		row_add_u64(rows, source->lane);
		row_add_u32(rows, series->group);
		row_add_u64(rows, series->factor);
		row_add_u8(rows, series->marked);
	}
	return bytes_error(rows);
}

static int run_query(struct answer *answer, const struct store_sum_query *query,
		     const struct slot_range *range)
{
	const struct sum_request *request = answer->request;
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	scoped(bytes_release) struct bytes rows = { .ceiling = MAX_SERIES_BYTES,
						    .budget = request->memory };
	struct clickhouse_table wanted = {
		.name = "wanted",
		.structure = "id FixedString(16), lane UInt64, item UInt32, factor UInt64, "
			     "marked UInt8",
	};
	struct clickhouse_query sum = {
		.tables = &wanted,
		.n_tables = 1,
		.idempotent = true,
		.cancel = request->cancel,
		.read_row = read_item,
		.arg = answer,
	};
	int r;

	r = make_sql(query, range, &sql);
	if (r == 0)
		r = add_series(request, query, &rows);
	if (r < 0)
		return r;
	wanted.rows = bytes_view_of(&rows);
	sum.sql = (const char *)sql.data;
	return request->run(request->run_arg, &sum);
}

int sums_query(const struct sum_request *request, const struct store_sum_query *query,
	       struct store_sums *ret_sums)
{
	struct answer answer = {
		.request = request,
		.has_slots = query->last_slots || query->policy == STORE_SUM_LAST,
		.has_steps = query->step_slots != 0,
	};
	struct slot_range range;
	int r;

	r = sum_table_init(&answer.table, query, request->memory);
	if (r == 0 && query->n_series > 0 && query->from_slot < query->to_slot &&
	    slot_range_make(query->from_slot, query->to_slot, &range))
		r = run_query(&answer, query, &range);
	if (r == 0) {
		sum_table_take(&answer.table, &answer.sums);
		*ret_sums = answer.sums;
	}
	sum_table_release(&answer.table);
	return r;
}
