/* SPDX-License-Identifier: Apache-2.0 */
/* Services with samples, and names and times for messages about data that was not found. */

#include "symbolizer/store/clickhouse/view_private.h"

#include <inttypes.h>
#include <stdlib.h>

#include "symbolizer/store/clickhouse/schema.h"

struct service_list {
	struct arena *arena;
	struct store_service *services; /* [max] */
	size_t count, max;
};

static int read_service(void *arg, struct bytes_reader *row)
{
	struct service_list *list = arg;
	struct bytes_view name = row_read_string(row);
	uint8_t flags = row_read_u8(row);
	struct store_service service = { .without_stacks = flags & CLICKHOUSE_WITHOUT_STACKS };

	if (row->error < 0)
		return 0;
	if (list->count == list->max)
		return -EBADMSG;
	service.name = row_copy_text(name, list->arena);
	list->services[list->count++] = service;
	return service.name ? 0 : -ENOMEM;
}

int clickhouse_view_list_services(struct store_view *view, size_t max, struct arena *arena,
				  struct store_service **ret_services, size_t *ret_count)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	struct service_list list = {
		.arena = arena,
		.services = arena_alloc_array(arena, max, sizeof(*list.services)),
		.max = max,
	};
	struct clickhouse_query query = { .read_row = read_service, .arg = &list };
	int r;

	if (!list.services)
		return -ENOMEM;
	(void)bytes_append_text(&sql, "SELECT name, min(flags) FROM processes WHERE day >= 0");
	sql_add_equal(&sql, "tenant", view->tenant);
	(void)bytes_append_format(&sql, " GROUP BY name ORDER BY name LIMIT %zu FORMAT RowBinary",
				  max);
	r = sql_end(&sql);
	query.sql = (const char *)sql.data;
	if (r == 0)
		r = clickhouse_view_run(clickhouse_view_of(view), &query);
	if (r < 0)
		return r;
	*ret_services = list.services;
	*ret_count = list.count;
	return 0;
}

struct active_list {
	struct clickhouse_view *self;
	struct arena *arena;
	VEC_DEFINE(, struct store_active_service) services;
};

static void active_list_release(struct active_list *list)
{
	vec_release(&list->services);
}

static int add_active(struct active_list *list, struct store_active_service service,
		      const struct event_type_info *info)
{
	struct event_type_info *copy;

	service.type = info->type;
	service.event = event_type_info(info->type);
	if (!service.event) {
		copy = arena_copy(list->arena, info, sizeof(*info));
		if (!copy)
			return -ENOMEM;
		copy->name = arena_copy_text(list->arena, info->name, strlen(info->name));
		copy->unit = arena_copy_text(list->arena, info->unit, strlen(info->unit));
		if (!copy->name || !copy->unit)
			return -ENOMEM;
		service.event = copy;
	}
	return vec_push(&list->services, service);
}

static int read_active(void *arg, struct bytes_reader *row)
{
	struct active_list *list = arg;
	struct bytes_view name = row_read_string(row), event = row_read_string(row);
	struct bytes_view unit = row_read_string(row);
	uint8_t kind = row_read_u8(row);
	struct store_active_service service = {};
	struct event_type_info info;
	int r;

	service.n_hosts = (uint32_t)row_read_u64(row);
	service.n_processes = (uint32_t)row_read_u64(row);
	service.first_slot = row_read_u64(row);
	service.last_slot = row_read_u64(row);
	if (row->error < 0)
		return 0;
	r = clickhouse_view_event_type(list->self, event, unit, kind, &info);
	if (r < 0)
		return r;
	service.name = row_copy_text(name, list->arena);
	return service.name ? add_active(list, service, &info) : -ENOMEM;
}

static int make_active_sql(const struct clickhouse_view *self,
			   const struct store_series_query *query, const struct slot_range *range,
			   struct bytes *sql)
{
	(void)bytes_append_text(sql, "SELECT service, event, any(unit), any(event_kind), "
				     "uniqExact(agent), uniqExact(process), min(first_seen), "
				     "max(last_seen) FROM (SELECT process, service, event, unit, "
				     "event_kind, first_seen, last_seen FROM (");
	clickhouse_view_add_active(self, query, range, sql);
	(void)bytes_append_text(sql, ") AS active ALL INNER JOIN (SELECT id, process, service, "
				     "event, unit, event_kind");
	clickhouse_view_add_series_of(self, query, range, sql);
	(void)bytes_append_text(sql, " LIMIT 1 BY id) AS defined USING (id)) AS used "
				     "ALL INNER JOIN (SELECT id AS process, agent, flags FROM "
				     "processes WHERE ");
	sql_add_days(sql, range);
	sql_add_equal(sql, "tenant", self->view.tenant);
	(void)bytes_append_format(sql,
				  " ORDER BY changed_ns DESC LIMIT 1 BY id) AS known USING "
				  "(process) WHERE bitAnd(flags, %d) = 0 GROUP BY service, event "
				  "FORMAT RowBinary",
				  CLICKHOUSE_WITHOUT_STACKS);
	return sql_end(sql);
}

int clickhouse_view_active_services(struct store_view *view, const struct store_series_query *query,
				    struct arena *arena, struct store_active_service **ret_services,
				    size_t *ret_count)
{
	struct clickhouse_view *self = clickhouse_view_of(view);
	scoped(active_list_release) struct active_list list = { .self = self, .arena = arena };
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	struct clickhouse_query select = { .read_row = read_active, .arg = &list };
	struct store_active_service *services;
	struct slot_range range;
	int r = 0;

	if (clickhouse_view_add_range(self, query->from_slot, query->to_slot, &range)) {
		r = make_active_sql(self, query, &range, &sql);
		select.sql = (const char *)sql.data;
		if (r == 0)
			r = clickhouse_view_run(self, &select);
	}
	if (r < 0)
		return r;
	services = arena_copy(arena, list.services.items,
			      list.services.count * sizeof(*list.services.items));
	if (!services)
		return -ENOMEM;
	*ret_services = services;
	*ret_count = list.services.count;
	return 0;
}

struct last_slot {
	uint64_t slot, n_rows;
};

static int read_last_slot(void *arg, struct bytes_reader *row)
{
	struct last_slot last = { .slot = row_read_u64(row), .n_rows = row_read_u64(row) };

	if (row->error == 0)
		*(struct last_slot *)arg = last;
	return 0;
}

/* On the newest day on which the series are defined, or (for series without samples) on all. */
static int find_last_slot(struct clickhouse_view *self, const struct store_series_query *query,
			  bool on_newest_day, struct last_slot *ret_last)
{
	const struct slot_range all = { .last = END_SLOT - 1 };
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	struct clickhouse_query select = { .read_row = read_last_slot, .arg = ret_last };
	int r;

	(void)bytes_append_text(&sql, "SELECT max(last_slot), count() FROM samples WHERE ");
	if (on_newest_day) {
		(void)bytes_append_text(&sql, "day = (SELECT max(day)");
		clickhouse_view_add_series_of(self, query, &all, &sql);
		(void)bytes_append_text(&sql, ") AND ");
	}
	(void)bytes_append_text(&sql, "lane IN (SELECT lane");
	clickhouse_view_add_series_of(self, query, &all, &sql);
	(void)bytes_append_text(&sql, ") FORMAT RowBinary");
	r = sql_end(&sql);
	select.sql = (const char *)sql.data;
	return r < 0 ? r : clickhouse_view_run(self, &select);
}

int clickhouse_view_last_slot(struct store_view *view, const char *service, enum event_type type,
			      uint64_t *ret_slot)
{
	struct clickhouse_view *self = clickhouse_view_of(view);
	const struct store_series_query query = { .service = service, .type = type };
	struct last_slot last = {};
	int r;

	if (type != EVENT_NONE && !clickhouse_view_event_name(self, type))
		return 0;
	r = find_last_slot(self, &query, true, &last);
	if (r == 0 && last.n_rows == 0)
		r = find_last_slot(self, &query, false, &last);
	if (r < 0 || last.n_rows == 0)
		return r;
	*ret_slot = last.slot;
	return 1;
}

struct name_list {
	struct arena *arena;
	const char **names; /* [max] */
	size_t count, max;
};

static int read_name(void *arg, struct bytes_reader *row)
{
	struct name_list *list = arg;
	struct bytes_view name = row_read_string(row);

	if (row->error < 0)
		return 0;
	if (list->count == list->max)
		return -EBADMSG;
	list->names[list->count] = row_copy_text(name, list->arena);
	return list->names[list->count++] ? 0 : -ENOMEM;
}

static void add_labels_of(const char *table, const char *tenant, const char *from,
			  struct bytes *sql)
{
	(void)bytes_append_format(sql,
				  "SELECT DISTINCT label FROM %s ARRAY JOIN label_names AS label "
				  "WHERE day >= 0",
				  table);
	sql_add_equal(sql, "tenant", tenant);
	(void)bytes_append_text(sql, " AND label >= ");
	sql_add_string(sql, from, strlen(from));
}

int clickhouse_view_list_label_names(struct store_view *view, const char *from, size_t max,
				     struct arena *arena, const char ***ret_names,
				     size_t *ret_count)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	struct name_list list = {
		.arena = arena,
		.names = arena_alloc_array(arena, max, sizeof(*list.names)),
		.max = max,
	};
	struct clickhouse_query query = { .read_row = read_name, .arg = &list };
	int r;

	if (!list.names)
		return -ENOMEM;
	(void)bytes_append_text(&sql, "SELECT DISTINCT label FROM (");
	add_labels_of("processes", view->tenant, from, &sql);
	(void)bytes_append_text(&sql, " UNION ALL ");
	add_labels_of("series", view->tenant, from, &sql);
	(void)bytes_append_format(&sql, ") AS labels ORDER BY label LIMIT %zu FORMAT RowBinary",
				  max);
	r = sql_end(&sql);
	query.sql = (const char *)sql.data;
	if (r == 0)
		r = clickhouse_view_run(clickhouse_view_of(view), &query);
	if (r < 0)
		return r;
	*ret_names = list.names;
	*ret_count = list.count;
	return 0;
}

struct found_event {
	struct clickhouse_view *self;
	struct event_type_info info;
	bool is_found;
};

static int read_event(void *arg, struct bytes_reader *row)
{
	struct found_event *found = arg;
	struct bytes_view name = row_read_string(row), unit = row_read_string(row);
	uint8_t kind = row_read_u8(row);
	int r;

	if (row->error < 0)
		return 0;
	r = clickhouse_view_event_type(found->self, name, unit, kind, &found->info);
	found->is_found = r == 0;
	return r;
}

int clickhouse_view_find_event_type(struct store_view *view, const char *name, struct arena *arena,
				    struct event_type_info *ret_info)
{
	struct clickhouse_view *self = clickhouse_view_of(view);
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	struct found_event found = { .self = self };
	struct clickhouse_query query = { .read_row = read_event, .arg = &found };
	int r;

	(void)bytes_append_text(&sql, "SELECT event, unit, event_kind FROM series WHERE day >= 0");
	sql_add_equal(&sql, "tenant", view->tenant);
	sql_add_equal(&sql, "event", name);
	(void)bytes_append_text(&sql, " LIMIT 1 FORMAT RowBinary");
	r = sql_end(&sql);
	query.sql = (const char *)sql.data;
	if (r == 0)
		r = clickhouse_view_run(self, &query);
	if (r < 0 || !found.is_found)
		return r;
	found.info.name = arena_copy_text(arena, found.info.name, strlen(found.info.name));
	found.info.unit = arena_copy_text(arena, found.info.unit, strlen(found.info.unit));
	if (!found.info.name || !found.info.unit)
		return -ENOMEM;
	*ret_info = found.info;
	return 1;
}
