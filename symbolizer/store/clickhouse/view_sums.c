/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and scans of samples. */

#include "symbolizer/store/clickhouse/view_private.h"

#include <stdlib.h>

/* Series of a scan, 24 bytes each. */
#define MAX_SERIES_BYTES (64 * MIB)

int clickhouse_view_sum(struct store_view *view, const struct store_sum_query *query,
			struct store_sums *ret_sums)
{
	struct clickhouse_view *self = clickhouse_view_of(view);
	const struct sum_request request = {
		.run = clickhouse_view_run,
		.run_arg = self,
		.sources = self->sources.items,
		.stacks = self->stacks,
		.memory = view->memory,
	};
	struct slot_range range;

	for (size_t i = 0; i < query->n_series; i++)
		assert(query->series[i].id < self->sources.count);
	(void)clickhouse_view_add_range(self, query->from_slot, query->to_slot, &range);
	return sums_query(&request, query, ret_sums);
}

struct scan {
	struct clickhouse_view *self;
	const struct store_range *range;
	store_row_function function;
	void *arg;
};

static int compare_numbers(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static int read_sample(void *arg, struct bytes_reader *row)
{
	const struct scan *scan = arg;
	struct hash128 id = row_read_hash(row);
	struct hash128 stack = row_read_hash(row);
	uint64_t slot = row_read_u64(row);
	uint64_t value = row_read_u64(row);
	uint32_t series, stack_number;
	const uint64_t *found;
	uint64_t number;
	int r;

	if (row->error < 0)
		return 0;
	r = id_table_number(scan->self->series, &id, &series);
	if (r == 0)
		r = id_table_number(scan->self->stacks, &stack, &stack_number);
	if (r < 0)
		return r;
	number = series;
	found = bsearch(&number, scan->range->series_ids, scan->range->n_series, sizeof(number),
			compare_numbers);
	return found ? scan->function(scan->arg, (uint32_t)(found - scan->range->series_ids),
				      stack_number, slot, value)
		     : 0;
}

static void add_series(const struct scan *scan, struct bytes *rows)
{
	for (size_t i = 0; i < scan->range->n_series; i++) {
		uint64_t number = scan->range->series_ids[i];

		if (number == 0 || number >= scan->self->sources.count)
			continue;
		row_add_hash(rows, &scan->self->sources.items[number].id);
		row_add_u64(rows, scan->self->sources.items[number].lane);
	}
}

int clickhouse_view_scan(struct store_view *view, const struct store_range *range,
			 store_row_function function, void *arg)
{
	struct clickhouse_view *self = clickhouse_view_of(view);
	struct scan scan = { .self = self, .range = range, .function = function, .arg = arg };
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	scoped(bytes_release) struct bytes rows = { .ceiling = MAX_SERIES_BYTES,
						    .budget = view->memory };
	struct clickhouse_table wanted = { .name = "wanted",
					   .structure = "id FixedString(16), lane UInt64" };
	struct clickhouse_query query = {
		.tables = &wanted, .n_tables = 1, .read_row = read_sample, .arg = &scan
	};
	struct slot_range slots;
	int r;

	if (range->n_series == 0 ||
	    !clickhouse_view_add_range(self, range->from_slot, range->to_slot, &slots))
		return 0;
	sums_add_samples(&sql, &slots, false);
	(void)bytes_append_text(&sql, " FORMAT RowBinary");
	add_series(&scan, &rows);
	r = sql_end(&sql);
	if (r == 0)
		r = bytes_error(&rows);
	if (r < 0)
		return r;
	wanted.rows = bytes_view_of(&rows);
	query.sql = (const char *)sql.data;
	return clickhouse_view_run(self, &query);
}
