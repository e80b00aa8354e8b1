/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views. A view borrows a connection for each query, so that it holds nothing between two calls.
 * Its tables of handles grow with what its queries return, and are taken from its memory budget.
 */

#include "symbolizer/store/clickhouse/view_private.h"

#include <inttypes.h>
#include <stdlib.h>

/* Texts of event types. */
#define MAX_VIEW_BYTES MIB

/* Handles of each kind. Sums have at most STORE_SUM_MAX_ITEMS stacks each. */
#define MAX_IDS (2 * (size_t)STORE_SUM_MAX_ITEMS)

/* Handles of one query. */
#define LOOKUP_MAX_IDS 65536

int clickhouse_view_run(void *arg, const struct clickhouse_query *query)
{
	struct clickhouse_view *self = arg;
	struct clickhouse_query cancellable = *query;

	cancellable.cancel = self->view.cancel;
	cancellable.idempotent = true;
	return clickhouse_store_read(self->store, &cancellable);
}

bool clickhouse_view_add_range(struct clickhouse_view *self, uint64_t from_slot, uint64_t to_slot,
			       struct slot_range *ret_range)
{
	if (!slot_range_make(from_slot, to_slot, ret_range))
		return false;
	self->range.from = MIN(self->range.from, ret_range->from);
	self->range.last = MAX(self->range.last, ret_range->last);
	return true;
}

void clickhouse_view_add_days(const struct clickhouse_view *self, struct bytes *sql)
{
	const struct slot_range all = { .last = END_SLOT - 1 };

	sql_add_days(sql, self->range.from > self->range.last ? &all : &self->range);
}

static int look_up(const struct clickhouse_lookup *lookup, const struct bytes *rows)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	const struct clickhouse_table wanted = {
		.name = "wanted",
		.structure = "id FixedString(16)",
		.rows = bytes_view_of(rows),
	};
	struct clickhouse_query query = {
		.tables = &wanted,
		.n_tables = 1,
		.read_row = lookup->read_row,
		.arg = lookup->arg,
	};
	int r;

	(void)bytes_append_text(&sql, lookup->select);
	clickhouse_view_add_days(lookup->self, &sql);
	(void)bytes_append_text(&sql, lookup->after);
	(void)bytes_append_text(&sql, " FORMAT RowBinary");
	r = sql_end(&sql);
	query.sql = (const char *)sql.data;
	return r < 0 ? r : clickhouse_view_run(lookup->self, &query);
}

/* Either of @wide and @narrow has the numbers. */
static int look_up_all(const struct clickhouse_lookup *lookup, const uint64_t *wide,
		       const uint32_t *narrow, size_t count)
{
	scoped(bytes_release) struct bytes rows = {
		.ceiling = LOOKUP_MAX_IDS * sizeof(struct hash128),
		.budget = lookup->self->view.memory,
	};
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		uint64_t number = wide ? wide[i] : narrow[i];
		const struct hash128 *id = number ? id_table_id(lookup->ids, number) : NULL;

		if (!id)
			continue;
		row_add_hash(&rows, id);
		if (rows.size < rows.ceiling)
			continue;
		r = look_up(lookup, &rows);
		bytes_clear(&rows);
	}
	if (r == 0)
		r = bytes_error(&rows);
	return r < 0 || rows.size == 0 ? r : look_up(lookup, &rows);
}

int clickhouse_view_look_up(const struct clickhouse_lookup *lookup, const uint64_t *numbers,
			    size_t count)
{
	return look_up_all(lookup, numbers, NULL, count);
}

int clickhouse_view_look_up_ids(const struct clickhouse_lookup *lookup, const uint32_t *numbers,
				size_t count)
{
	return look_up_all(lookup, NULL, numbers, count);
}

static const struct event_type_info *find_event(const struct clickhouse_view *self,
						const char *name)
{
	const struct event_type_info *known = event_type_info(event_type_from_name(name));

	for (size_t i = 0; i < self->events.count && !known; i++)
		if (strcmp(self->events.items[i].name, name) == 0)
			known = &self->events.items[i];
	return known;
}

int clickhouse_view_event_type(struct clickhouse_view *self, struct bytes_view name,
			       struct bytes_view unit, uint8_t kind,
			       struct event_type_info *ret_info)
{
	char text[MAX_EVENT_TEXT_BYTES + 1];
	const struct event_type_info *known;
	struct event_type_info info = {
		.type = (enum event_type)(EVENT_FIRST_STORED + self->events.count),
		.kind = (enum event_value_kind)kind,
	};

	if (name.size > MAX_EVENT_TEXT_BYTES)
		return -EBADMSG;
	if (name.size > 0)
		memcpy(text, name.data, name.size);
	text[name.size] = '\0';
	known = find_event(self, text);
	if (known) {
		*ret_info = *known;
		return 0;
	}
	if (self->events.count >= STORE_MAX_EVENT_TYPES)
		return -ENOSPC;
	info.name = row_copy_text(name, self->arena);
	info.unit = row_copy_text(unit, self->arena);
	if (!info.name || !info.unit)
		return -ENOMEM;
	*ret_info = info;
	return vec_push(&self->events, info);
}

const char *clickhouse_view_event_name(const struct clickhouse_view *self, enum event_type type)
{
	size_t index = (size_t)type - EVENT_FIRST_STORED;

	if (type < EVENT_FIRST_STORED)
		return event_type_name(type);
	return index < self->events.count ? self->events.items[index].name : NULL;
}

static int view_removed_until(struct store_view *view, uint64_t *ret_slot,
			      enum store_removal *ret_reason)
{
	return clickhouse_store_removed_until(clickhouse_view_of(view)->store, ret_slot,
					      ret_reason);
}

static struct store_view *view_close(struct store_view *view)
{
	struct clickhouse_view *self = clickhouse_view_of(view);

	(void)id_table_free(self->series);
	(void)id_table_free(self->processes);
	(void)id_table_free(self->path_sets);
	(void)id_table_free(self->stacks);
	(void)id_table_free(self->executables);
	(void)id_table_free(self->code_objects);
	(void)id_table_free(self->agents);
	vec_release(&self->sources);
	vec_release(&self->path_set_of);
	vec_release(&self->events);
	(void)arena_free(self->arena);
	free(self);
	return NULL;
}

static const struct store_view_operations view_operations = {
	.find_series = clickhouse_view_find_series,
	.sum = clickhouse_view_sum,
	.scan = clickhouse_view_scan,
	.scan_coverage = clickhouse_view_scan_coverage,
	.scan_counters = clickhouse_view_scan_counters,
	.load_stacks = clickhouse_view_load_stacks,
	.load_executables = clickhouse_view_load_executables,
	.load_code_objects = clickhouse_view_load_code_objects,
	.find_event_type = clickhouse_view_find_event_type,
	.paths_of = clickhouse_view_paths_of,
	.named_frames = clickhouse_view_named_frames,
	.list_hosts = clickhouse_view_list_hosts,
	.find_executable = clickhouse_view_find_executable,
	.list_services = clickhouse_view_list_services,
	.active_services = clickhouse_view_active_services,
	.last_slot = clickhouse_view_last_slot,
	.list_label_names = clickhouse_view_list_label_names,
	.removed_until = view_removed_until,
	.close = view_close,
};

static int make_tables(struct clickhouse_view *self)
{
	struct id_table **const tables[] = {
		&self->series,      &self->processes,    &self->path_sets, &self->stacks,
		&self->executables, &self->code_objects, &self->agents,
	};
	int r = arena_new_in(MAX_VIEW_BYTES, self->view.memory, &self->arena);

	for (size_t i = 0; i < ARRAY_SIZE(tables) && r == 0; i++)
		r = id_table_new(MAX_IDS, self->view.memory, tables[i]);
	return r;
}

int clickhouse_store_open_view(struct store *store, const struct store_view_options *options,
			       struct store_view **ret_view)
{
	struct clickhouse_view *self = calloc(1, sizeof(*self));
	int r;

	if (!self)
		return -ENOMEM;
	*self = (struct clickhouse_view){
		.view = { .operations = &view_operations,
			  .tenant = options->tenant,
			  .cancel = options->cancel,
			  .memory = options->memory },
		.store = clickhouse_store_of(store),
		.range = { .from = UINT64_MAX },
	};
	r = make_tables(self);
	if (r < 0) {
		(void)view_close(&self->view);
		return r;
	}
	*ret_view = &self->view;
	return 0;
}
