/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts hosts and processes of services. A fleet has a million series a day, so that none of them
 * is loaded: series and processes are read in one pass each, and only numbers are kept of them.
 */

#include "symbolizer/store/sqlite/read.h"

#include <stdlib.h>

#include "common/string_table.h"
#include "common/vec.h"

/* Names of all services of a store. */
#define MAX_NAME_BYTES (64 * MIB)

#define NO_SERVICE UINT32_MAX

/* A process; indexed by its ID. */
struct counted_process {
	uint32_t name; /* string_id; NO_SERVICE: not of the tenant, or without stacks */
	uint32_t host;
};

/* A series with samples in the range. */
struct active_series {
	uint32_t id;
	uint32_t process;
	uint32_t type;
	uint32_t name;
	uint32_t host;
	uint64_t first_slot, last_slot;
};

VEC_DEFINE(active_vec, struct active_series);
VEC_DEFINE(process_vec, struct counted_process);

struct service_count {
	struct connection_set *set;
	struct sqlite_db *hearth;
	const char *tenant;
	const struct store_series_query *query;
	struct hash_table *hosts; /* of the tenant */
	struct string_table *names;
	struct process_vec processes;
	struct active_vec active;
};

static void service_count_release(struct service_count *count)
{
	(void)hash_table_free(count->hosts);
	(void)string_table_free(count->names);
	vec_release(&count->processes);
	vec_release(&count->active);
}

static int add_activity(void *arg, uint32_t series, uint64_t first_slot, uint64_t last_slot)
{
	struct service_count *count = arg;
	const struct active_series active = {
		.id = series,
		.name = NO_SERVICE,
		.first_slot = first_slot,
		.last_slot = last_slot,
	};

	return vec_push(&count->active, active);
}

static int compare_ids(const void *left, const void *right)
{
	const struct active_series *a = left;
	const struct active_series *b = right;

	return a->id < b->id ? -1 : a->id > b->id;
}

/* Lists the active series, ascending; a series of several days has several items. */
static int collect_activity(struct service_count *count, struct arena *arena)
{
	int n_days = read_activity(count->set, count->query, arena, add_activity, count);

	if (n_days > 1 && count->active.count > 0)
		qsort(count->active.items, count->active.count, sizeof(*count->active.items),
		      compare_ids);
	return MIN(n_days, 0);
}

static int load_hosts(struct service_count *count)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(count->hearth, SQL_HOST_LIST, &row, SQL_TEXT(count->tenant));
	while (r > 0) {
		const uint32_t host = (uint32_t)sqlite3_column_int64(row, 0);

		r = hash_table_insert(count->hosts, &host, NULL);
		if (r >= 0)
			r = sqlite_step(count->hearth, row);
	}
	return r;
}

/* Sets the process and type of all active series. Both lists are in the order of IDs. */
static int find_processes(struct service_count *count)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct active_series *series = count->active.items;
	struct active_series *end = series + count->active.count;
	int r;

	r = sqlite_query(count->hearth, SQL_SERIES_PROCESSES, &row, SQL_INT(series->id),
			 SQL_INT(end[-1].id));
	while (r > 0 && series < end) {
		const uint32_t id = (uint32_t)sqlite3_column_int64(row, 0);

		while (series < end && series->id < id)
			series++;
		for (; series < end && series->id == id; series++) {
			series->process = (uint32_t)sqlite3_column_int64(row, 1);
			series->type = (uint32_t)sqlite3_column_int64(row, 2);
		}
		r = sqlite_step(count->hearth, row);
	}
	return MIN(r, 0);
}

static int add_process(struct service_count *count, sqlite3_stmt *row, uint32_t first)
{
	const size_t index = (size_t)sqlite3_column_int64(row, 0) - first;
	struct counted_process process = {
		.name = NO_SERVICE,
		.host = (uint32_t)sqlite3_column_int64(row, 1),
	};
	string_id name;
	int r;

	if (!(sqlite3_column_int64(row, 3) & PROCESS_WITHOUT_STACKS) &&
	    hash_table_find(count->hosts, &process.host)) {
		r = string_table_intern(count->names, sqlite_text(row, 2),
					(size_t)sqlite3_column_bytes(row, 2), &name);
		if (r < 0)
			return r;
		process.name = name;
	}
	while (count->processes.count < index) {
		r = vec_push(&count->processes, (struct counted_process){ .name = NO_SERVICE });
		if (r < 0)
			return r;
	}
	return vec_push(&count->processes, process);
}

/* Sets the name and host of all active series. */
static int find_names(struct service_count *count)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	uint32_t first = UINT32_MAX, last = 0;
	int r;

	for (size_t i = 0; i < count->active.count; i++) {
		if (count->active.items[i].process == 0)
			continue;
		first = MIN(first, count->active.items[i].process);
		last = MAX(last, count->active.items[i].process);
	}
	r = sqlite_query(count->hearth, SQL_PROCESS_NAMES, &row, SQL_INT(first), SQL_INT(last));
	while (r > 0) {
		r = add_process(count, row, first);
		if (r == 0)
			r = sqlite_step(count->hearth, row);
	}
	for (size_t i = 0; r == 0 && i < count->active.count; i++) {
		struct active_series *series = &count->active.items[i];
		const size_t index = series->process - first;

		if (series->process == 0 || index >= count->processes.count)
			continue;
		series->name = count->processes.items[index].name;
		series->host = count->processes.items[index].host;
	}
	return r;
}

static int compare_series(const void *left, const void *right)
{
	const struct active_series *a = left;
	const struct active_series *b = right;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	return a->process < b->process ? -1 : a->process > b->process;
}

/* @previous: the series before, if it is of the same service; else NULL. */
static void add_series(struct store_active_service *service, const struct active_series *series,
		       const struct active_series *previous)
{
	if (!previous || series->first_slot < service->first_slot)
		service->first_slot = series->first_slot;
	service->last_slot = MAX(service->last_slot, series->last_slot);
	service->n_hosts += !previous || previous->host != series->host;
	service->n_processes += !previous || previous->process != series->process;
}

static int describe_service(struct service_count *count, const struct active_series *series,
			    struct arena *arena, struct store_active_service *ret_service)
{
	const char *name = string_table_text(count->names, series->name);
	struct event_type_info *event;
	int r;

	*ret_service = (struct store_active_service){
		.name = arena_copy_text(arena, name, strlen(name)),
		.type = (enum event_type)series->type,
		.event = event_type_info((enum event_type)series->type),
	};
	if (!ret_service->name)
		return -ENOMEM;
	if (ret_service->event)
		return 0;
	event = arena_alloc(arena, sizeof(*event));
	if (!event)
		return -ENOMEM;
	r = read_event_of_number(count->hearth, series->type, arena, event);
	ret_service->event = event;
	return r;
}

static int count_services(struct service_count *count, struct arena *arena,
			  struct store_active_service **ret_services, size_t *ret_count)
{
	VEC_DEFINE(, struct store_active_service) services = {};
	const struct active_series *previous = NULL;
	int r = 0;

	if (count->active.count > 0)
		qsort(count->active.items, count->active.count, sizeof(*count->active.items),
		      compare_series);
	for (size_t i = 0; r == 0 && i < count->active.count; i++) {
		const struct active_series *series = &count->active.items[i];

		if (series->name == NO_SERVICE)
			break;
		if (!previous || previous->name != series->name || previous->type != series->type) {
			struct store_active_service service;

			r = describe_service(count, series, arena, &service);
			if (r == 0)
				r = vec_push(&services, service);
			previous = NULL;
		}
		if (r == 0)
			add_series(&services.items[services.count - 1], series, previous);
		previous = series;
	}
	if (r == 0) {
		*ret_services =
			arena_copy(arena, services.items, services.count * sizeof(*services.items));
		*ret_count = services.count;
		r = *ret_services || services.count == 0 ? 0 : -ENOMEM;
	}
	vec_release(&services);
	return r;
}

int read_active_services(struct connection_set *set, const char *tenant,
			 const struct store_series_query *query, struct arena *arena,
			 struct store_active_service **ret_services, size_t *ret_count)
{
	scoped(service_count_release) struct service_count count = {
		.set = set,
		.tenant = tenant,
		.query = query,
	};
	scoped(sqlite_end_readp) struct sqlite_db *reading = NULL;
	int r;

	r = hash_table_new(sizeof(uint32_t), 0, 0, &count.hosts);
	if (r == 0)
		r = string_table_new(MAX_NAME_BYTES, &count.names);
	if (r == 0)
		r = collect_activity(&count, arena);
	/* Reads hearth.db after the day files, because a series is committed to hearth.db first. */
	if (r == 0)
		r = connection_set_hearth(set, &count.hearth);
	if (r == 0)
		r = sqlite_begin_read(count.hearth, &reading);
	if (r == 0)
		r = load_hosts(&count);
	if (r == 0 && count.active.count > 0)
		r = find_processes(&count);
	if (r == 0 && count.active.count > 0)
		r = find_names(&count);
	return r < 0 ? r : count_services(&count, arena, ret_services, ret_count);
}
