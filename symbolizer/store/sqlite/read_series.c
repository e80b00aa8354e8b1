/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds series in two steps: the activity tables of the days give the series with samples in the
 * range; hearth.db gives their names and types. With a service, the index by name selects and
 * activity filters. Without one, activity selects.
 */

#include "symbolizer/store/sqlite/read.h"

#include "common/vec.h"
#include "symbolizer/store/sqlite/codec.h"

struct activity {
	uint64_t first_slot;
	uint64_t last_slot;
};

struct series_search {
	struct connection_set *set;
	struct sqlite_db *hearth;
	const char *tenant;
	const struct store_series_query *query;
	struct arena *arena;
	struct hash_table *active; /* uint32_t series -> struct activity */
	/* uint32_t ID -> struct store_process * and struct store_host *; NULL: of another tenant */
	struct hash_table *processes, *hosts;
	struct hash_table *events; /* uint32_t number -> struct event_type_info * */
	VEC_DEFINE(, uint32_t) ids;
	VEC_DEFINE(, struct store_series) found;
};

static void series_search_release(struct series_search *search)
{
	(void)hash_table_free(search->active);
	(void)hash_table_free(search->processes);
	(void)hash_table_free(search->hosts);
	(void)hash_table_free(search->events);
	vec_release(&search->ids);
	vec_release(&search->found);
}

static int add_activity(void *arg, uint32_t series, uint64_t first_slot, uint64_t last_slot)
{
	struct series_search *search = arg;
	struct activity *activity;
	int r;

	r = hash_table_insert(search->active, &series, (void **)&activity);
	if (r < 0)
		return r;
	activity->first_slot = r == 1 ? first_slot : MIN(activity->first_slot, first_slot);
	activity->last_slot = MAX(activity->last_slot, last_slot);
	return 0;
}

static int collect_active_ids(struct series_search *search)
{
	const void *series;
	size_t cursor = 0;
	void *activity;
	int r = 0;

	while (r == 0 && hash_table_next(search->active, &cursor, &series, &activity))
		r = vec_push(&search->ids, *(const uint32_t *)series);
	return r;
}

static int collect_ids_of_service(struct series_search *search)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	if (search->query->type == EVENT_NONE)
		r = sqlite_query(search->hearth, SQL_SERIES_OF_SERVICE, &row,
				 SQL_TEXT(search->query->service));
	else
		r = sqlite_query(search->hearth, SQL_SERIES_OF_SERVICE_AND_TYPE, &row,
				 SQL_TEXT(search->query->service), SQL_INT(search->query->type));
	while (r > 0) {
		uint32_t id = (uint32_t)sqlite3_column_int64(row, 0);

		if (hash_table_find(search->active, &id)) {
			r = vec_push(&search->ids, id);
			if (r < 0)
				return r;
		}
		r = sqlite_step(search->hearth, row);
	}
	return r;
}

static int compare_ids(const void *a, const void *b)
{
	const uint32_t left = *(const uint32_t *)a;
	const uint32_t right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

/* *ret_host is NULL for a host of another tenant. */
static int find_host(struct series_search *search, uint32_t id, const struct store_host **ret_host)
{
	struct store_host **slot;
	struct store_host *host;
	const char *tenant;
	int r;

	r = hash_table_insert(search->hosts, &id, (void **)&slot);
	if (r == 1) {
		host = arena_alloc(search->arena, sizeof(*host));
		if (!host)
			return -ENOMEM;
		r = read_host(search->set, id, search->arena, host, &tenant);
		*slot = r > 0 && strcmp(tenant, search->tenant) == 0 ? host : NULL;
	}
	if (r < 0)
		return r;
	*ret_host = *slot;
	return 0;
}

/* *ret_process is NULL for a process of another tenant. */
static int load_process(struct series_search *search, uint32_t id,
			struct store_process **ret_process)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct store_process *process;
	const struct store_host *host;
	int64_t flags;
	int r;

	r = sqlite_query(search->hearth, SQL_PROCESS_LOAD, &row, SQL_INT(id));
	if (r <= 0)
		return r < 0 ? r : -EIO;
	r = find_host(search, (uint32_t)sqlite3_column_int64(row, 1), &host);
	if (r < 0)
		return r;
	*ret_process = NULL;
	if (!host)
		return 0;
	process = arena_alloc(search->arena, sizeof(*process));
	if (!process)
		return -ENOMEM;
	flags = sqlite3_column_int64(row, 7);
	*process = (struct store_process){
		.id = id,
		.host = host,
		.name = arena_copy_text(search->arena, sqlite_text(row, 2),
					(size_t)sqlite3_column_bytes(row, 2)),
		.executable_path = arena_copy_text(search->arena, sqlite_text(row, 3),
						   (size_t)sqlite3_column_bytes(row, 3)),
		.pid = (uint32_t)sqlite3_column_int64(row, 4),
		.start_time_ns = (uint64_t)sqlite3_column_int64(row, 5),
		.main_executable = (uint32_t)sqlite3_column_int64(row, 6),
		.path_set = (uint64_t)sqlite3_column_int64(row, 9),
		.kernel_thread = flags & PROCESS_KERNEL_THREAD,
		.without_stacks = flags & PROCESS_WITHOUT_STACKS,
	};
	if (!process->name || !process->executable_path)
		return -ENOMEM;
	*ret_process = process;
	return codec_read_labels(sqlite_blob(row, 8), search->arena, &process->labels,
				 &process->n_labels);
}

static int find_process(struct series_search *search, uint32_t id,
			const struct store_process **ret_process)
{
	struct store_process **slot;
	int r;

	r = hash_table_insert(search->processes, &id, (void **)&slot);
	if (r == 1)
		r = load_process(search, id, slot);
	if (r < 0)
		return r;
	*ret_process = *slot;
	return 0;
}

static int find_event(struct series_search *search, uint32_t type,
		      const struct event_type_info **ret_info)
{
	struct event_type_info **slot;
	struct event_type_info *info;
	int r;

	*ret_info = event_type_info(type);
	if (*ret_info)
		return 0;
	r = hash_table_insert(search->events, &type, (void **)&slot);
	if (r == 1) {
		info = arena_alloc(search->arena, sizeof(*info));
		r = info ? read_event_of_number(search->hearth, type, search->arena, info)
			 : -ENOMEM;
		*slot = info;
	}
	if (r < 0)
		return r;
	*ret_info = *slot;
	return 0;
}

static int add_series(struct series_search *search, uint32_t id)
{
	const struct store_series_query *query = search->query;
	const struct activity *activity = hash_table_find(search->active, &id);
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	const struct store_process *process;
	struct store_series series;
	int r;

	r = sqlite_query(search->hearth, SQL_SERIES_LOAD, &row, SQL_INT(id));
	if (r <= 0)
		return r;
	series = (struct store_series){
		.id = id,
		.tid = (uint32_t)sqlite3_column_int64(row, 2),
		.type = (enum event_type)sqlite3_column_int(row, 4),
		.cpu = sqlite3_column_int(row, 5),
		.period_ns = (uint64_t)sqlite3_column_int64(row, 6),
		.first_slot = activity->first_slot,
		.last_slot = activity->last_slot,
	};
	if (query->type != EVENT_NONE && query->type != series.type)
		return 0;
	r = find_process(search, (uint32_t)sqlite3_column_int64(row, 1), &process);
	if (r < 0)
		return r;
	if (!process || (query->service && strcmp(process->name, query->service) != 0))
		return 0;
	r = find_event(search, series.type, &series.event);
	if (r == 0)
		r = codec_read_labels(sqlite_blob(row, 8), search->arena, &series.labels,
				      &series.n_labels);
	if (r < 0)
		return r;
	series.process = process;
	series.thread_name = arena_copy_text(search->arena, sqlite_text(row, 3),
					     (size_t)sqlite3_column_bytes(row, 3));
	return series.thread_name ? vec_push(&search->found, series) : -ENOMEM;
}

static int search_series(struct series_search *search)
{
	scoped(sqlite_end_readp) struct sqlite_db *reading = NULL;
	int r;

	r = connection_set_hearth(search->set, &search->hearth);
	if (r == 0)
		r = hash_table_new(sizeof(uint32_t), sizeof(struct activity), 0, &search->active);
	if (r == 0)
		r = hash_table_new(sizeof(uint32_t), sizeof(void *), 0, &search->processes);
	if (r == 0)
		r = hash_table_new(sizeof(uint32_t), sizeof(void *), 0, &search->hosts);
	if (r == 0)
		r = hash_table_new(sizeof(uint32_t), sizeof(void *), 0, &search->events);
	if (r == 0)
		r = read_activity(search->set, search->query, search->arena, add_activity, search);
	/* Reads hearth.db after the day files, because a series is committed to hearth.db first. */
	if (r >= 0)
		r = sqlite_begin_read(search->hearth, &reading);
	if (r == 0)
		r = search->query->service ? collect_ids_of_service(search)
					   : collect_active_ids(search);
	if (r == 0 && search->ids.count > 0)
		qsort(search->ids.items, search->ids.count, sizeof(uint32_t), compare_ids);
	for (size_t i = 0; r == 0 && i < search->ids.count; i++)
		r = add_series(search, search->ids.items[i]);
	return r;
}

int read_find_series(struct connection_set *set, const char *tenant,
		     const struct store_series_query *query, struct arena *arena,
		     struct store_series **ret_series, size_t *ret_count)
{
	scoped(series_search_release) struct series_search search = {
		.set = set,
		.tenant = tenant,
		.query = query,
		.arena = arena,
	};
	struct store_series *copy;
	char *copied_tenant = arena_copy_text(arena, tenant, strlen(tenant));
	int r;

	if (!copied_tenant)
		return -ENOMEM;
	r = search_series(&search);
	if (r < 0)
		return r;
	copy = arena_copy(arena, search.found.items, search.found.count * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < search.found.count; i++)
		copy[i].tenant = copied_tenant;
	*ret_series = copy;
	*ret_count = search.found.count;
	return 0;
}
