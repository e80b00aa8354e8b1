/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds series with three queries: the series that have samples in the hours of the range, joined
 * with their definitions; their processes; the hosts of the tenant.
 */

#include "symbolizer/store/clickhouse/view_private.h"

#include <inttypes.h>
#include <stdlib.h>

#include "symbolizer/store/clickhouse/rows.h"

struct series_search {
	struct clickhouse_view *self;
	const struct store_series_query *query;
	struct arena *arena;
	VEC_DEFINE(, struct store_series) found;
	VEC_DEFINE(, uint64_t) processes;
	struct hash_table *by_number; /* u32 process -> struct store_process * */
};

static void series_search_release(struct series_search *search)
{
	vec_release(&search->found);
	vec_release(&search->processes);
	(void)hash_table_free(search->by_number);
}

void clickhouse_view_add_series_of(const struct clickhouse_view *self,
				   const struct store_series_query *query,
				   const struct slot_range *range, struct bytes *sql)
{
	(void)bytes_append_text(sql, " FROM series WHERE ");
	sql_add_days(sql, range);
	sql_add_equal(sql, "tenant", self->view.tenant);
	sql_add_equal(sql, "service", query->service);
	sql_add_equal(sql, "event", clickhouse_view_event_name(self, query->type));
}

/* The primary key of samples begins with the lane. */
static void add_lanes(const struct clickhouse_view *self, const struct store_series_query *query,
		      const struct slot_range *range, struct bytes *sql)
{
	const char *event = clickhouse_view_event_name(self, query->type);

	if (query->service && event) {
		(void)bytes_append_format(sql, " AND lane = toUInt64(%" PRIu64 ")",
					  rows_lane(self->view.tenant, query->service, event));
		return;
	}
	(void)bytes_append_text(sql, " AND lane IN (SELECT lane");
	clickhouse_view_add_series_of(self, query, range, sql);
	(void)bytes_append_text(sql, ")");
}

void clickhouse_view_add_active(const struct clickhouse_view *self,
				const struct store_series_query *query,
				const struct slot_range *range, struct bytes *sql)
{
	(void)bytes_append_text(sql, "SELECT series AS id, min(first_slot) AS first_seen, "
				     "max(last_slot) AS last_seen FROM samples WHERE ");
	sql_add_days(sql, range);
	add_lanes(self, query, range, sql);
	(void)bytes_append_format(sql,
				  " AND hour >= %" PRIu64 " AND hour <= %" PRIu64
				  " AND last_slot >= %" PRIu64 " AND first_slot <= %" PRIu64
				  " GROUP BY id",
				  range->from / SLOTS_PER_HOUR, range->last / SLOTS_PER_HOUR,
				  range->from, range->last);
}

static int make_sql(const struct series_search *search, const struct slot_range *range,
		    struct bytes *sql)
{
	(void)bytes_append_text(sql, "SELECT id, lane, process, event, unit, event_kind, tid, "
				     "thread_name, cpu_plus_one, period_ns, first_seen, last_seen, "
				     "label_names, label_values FROM (");
	clickhouse_view_add_active(search->self, search->query, range, sql);
	(void)bytes_append_text(sql, ") AS active ALL INNER JOIN (SELECT id, lane, process, event, "
				     "unit, event_kind, tid, thread_name, cpu_plus_one, period_ns, "
				     "label_names, label_values");
	clickhouse_view_add_series_of(search->self, search->query, range, sql);
	(void)bytes_append_text(sql, " LIMIT 1 BY id) AS defined USING (id) FORMAT RowBinary");
	return sql_end(sql);
}

/* A row of the answer. */
struct series_row {
	struct hash128 id, process;
	uint64_t lane;
	struct bytes_view event, unit, thread_name;
	uint8_t kind;
	struct row_texts names, values;
};

/* The view's table of sources has the series at its number. */
static int add_source(struct clickhouse_view *self, const struct series_row *row,
		      uint32_t *ret_number)
{
	const struct sum_source source = { .id = row->id, .lane = row->lane };
	int r = id_table_number(self->series, &row->id, ret_number);

	while (r == 0 && self->sources.count <= *ret_number)
		r = vec_push(&self->sources, (struct sum_source){});
	if (r == 0)
		self->sources.items[*ret_number] = source;
	return r;
}

static int describe_event(struct series_search *search, const struct series_row *row,
			  struct store_series *series)
{
	struct event_type_info info, *copy;
	int r = clickhouse_view_event_type(search->self, row->event, row->unit, row->kind, &info);

	if (r < 0)
		return r;
	series->type = info.type;
	series->event = event_type_info(info.type);
	if (series->event)
		return 0;
	/* The texts live as long as the view, and the caller's arena may live longer. */
	copy = arena_copy(search->arena, &info, sizeof(info));
	if (!copy)
		return -ENOMEM;
	copy->name = row_copy_text(row->event, search->arena);
	copy->unit = row_copy_text(row->unit, search->arena);
	series->event = copy;
	return copy->name && copy->unit ? 0 : -ENOMEM;
}

static int add_series(struct series_search *search, const struct series_row *row,
		      struct store_series series)
{
	struct clickhouse_view *self = search->self;
	uint32_t number, process;
	int r = add_source(self, row, &number);

	if (r == 0)
		r = id_table_number(self->processes, &row->process, &process);
	if (r == 0)
		r = describe_event(search, row, &series);
	if (r == 0)
		r = row_copy_labels(row->names, row->values, search->arena, &series.labels,
				    &series.n_labels);
	if (r == 0)
		r = vec_push(&search->processes, process);
	if (r < 0)
		return r;
	series.id = number;
	series.thread_name = row_copy_text(row->thread_name, search->arena);
	return series.thread_name ? vec_push(&search->found, series) : -ENOMEM;
}

static int read_series(void *arg, struct bytes_reader *reader)
{
	struct series_search *search = arg;
	struct store_series series = {};
	struct series_row row;

	row.id = row_read_hash(reader);
	row.lane = row_read_u64(reader);
	row.process = row_read_hash(reader);
	row.event = row_read_string(reader);
	row.unit = row_read_string(reader);
	row.kind = row_read_u8(reader);
	series.tid = row_read_u32(reader);
	row.thread_name = row_read_string(reader);
	series.cpu = (int)row_read_u32(reader) - 1;
	series.period_ns = row_read_u64(reader);
	series.first_slot = row_read_u64(reader);
	series.last_slot = row_read_u64(reader);
	row.names = row_read_texts(reader);
	row.values = row_read_texts(reader);
	return reader->error < 0 ? 0 : add_series(search, &row, series);
}

static int compare_series(const void *left, const void *right)
{
	const struct store_series *a = left, *b = right;

	return a->id < b->id ? -1 : a->id > b->id;
}

/* A series whose process has no definition is left out. */
static int complete(struct series_search *search)
{
	const char *tenant = arena_copy_text(search->arena, search->self->view.tenant,
					     strlen(search->self->view.tenant));
	size_t n = 0;

	if (!tenant)
		return -ENOMEM;
	for (size_t i = 0; i < search->found.count; i++) {
		const uint32_t number = (uint32_t)search->processes.items[i];
		struct store_process **process = hash_table_find(search->by_number, &number);

		if (!process)
			continue;
		search->found.items[n] = search->found.items[i];
		search->found.items[n].process = *process;
		search->found.items[n++].tenant = tenant;
	}
	search->found.count = n;
	if (n > 0)
		qsort(search->found.items, n, sizeof(*search->found.items), compare_series);
	return 0;
}

static int search_series(struct series_search *search, const struct slot_range *range)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	struct clickhouse_query query = { .read_row = read_series, .arg = search };
	int r = make_sql(search, range, &sql);

	query.sql = (const char *)sql.data;
	if (r == 0)
		r = clickhouse_view_run(search->self, &query);
	if (r == 0)
		r = clickhouse_view_load_processes(search->self, search->processes.items,
						   search->processes.count, search->arena,
						   &search->by_number);
	return r < 0 ? r : complete(search);
}

int clickhouse_view_find_series(struct store_view *view, const struct store_series_query *query,
				struct arena *arena, struct store_series **ret_series,
				size_t *ret_count)
{
	struct clickhouse_view *self = clickhouse_view_of(view);
	scoped(series_search_release) struct series_search search = { .self = self,
								      .query = query,
								      .arena = arena };
	struct store_series *series;
	struct slot_range range;
	int r = 0;

	if (clickhouse_view_add_range(self, query->from_slot, query->to_slot, &range) &&
	    (query->type == EVENT_NONE || clickhouse_view_event_name(self, query->type)))
		r = search_series(&search, &range);
	if (r < 0)
		return r;
	series = arena_copy(arena, search.found.items,
			    search.found.count * sizeof(*search.found.items));
	if (!series)
		return -ENOMEM;
	*ret_series = series;
	*ret_count = search.found.count;
	return 0;
}
