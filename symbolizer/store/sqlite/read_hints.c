/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups for messages about data that was not found: names of services and labels, and the time of
 * the last sample. A fleet has millions of series, so each lookup uses an index and reads a bounded
 * number of rows.
 */

#include "symbolizer/store/sqlite/read.h"

#include "common/vec.h"

/* Most pairs of (name, host) that are read for a list of services: 100 ms. */
#define MAX_SERVICE_STEPS 20000

/* Most series that are looked up in each day file. */
#define MAX_LATEST_SERIES 4096

static int load_hosts(struct sqlite_db *hearth, const char *tenant, struct hash_table *hosts)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(hearth, SQL_HOST_LIST, &row, SQL_TEXT(tenant));
	while (r > 0) {
		uint32_t host = (uint32_t)sqlite3_column_int64(row, 0);
		void *unused;

		r = hash_table_insert(hosts, &host, &unused);
		if (r >= 0)
			r = sqlite_step(hearth, row);
	}
	return r;
}

struct service_walk {
	struct sqlite_db *hearth;
	const struct hash_table *hosts; /* of the tenant */
	struct arena *arena;
	const char *name; /* with host: the pair read last */
	int64_t host;
};

/*
 * Returns 1 if *ret_service is of the tenant, 0 if the pair is of another tenant, 2 if there are no
 * more pairs.
 */
static int next_pair(struct service_walk *walk, struct store_service *ret_service)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	const char *name;
	uint32_t host;
	int r;

	r = sqlite_query(walk->hearth, SQL_SERVICE_NEXT, &row, SQL_TEXT(walk->name),
			 SQL_INT(walk->host));
	if (r <= 0)
		return r < 0 ? r : 2;
	name = sqlite_text(row, 0);
	host = (uint32_t)sqlite3_column_int64(row, 1);
	if (strcmp(name, walk->name) != 0)
		walk->name = arena_copy_text(walk->arena, name, strlen(name));
	if (!walk->name)
		return -ENOMEM;
	walk->host = host;
	if (!hash_table_find(walk->hosts, &host))
		return 0;
	/* One host suffices: continue with the next name. */
	walk->host = INT64_MAX;
	*ret_service = (struct store_service){
		.name = walk->name,
		.without_stacks = sqlite3_column_int64(row, 2) & PROCESS_WITHOUT_STACKS,
	};
	return 1;
}

int read_list_services(struct connection_set *set, const char *tenant, size_t max,
		       struct arena *arena, struct store_service **ret_services, size_t *ret_count)
{
	struct store_service *services = arena_alloc_array(arena, max, sizeof(*services));
	scoped(hash_table_freep) struct hash_table *hosts = NULL;
	scoped(sqlite_end_readp) struct sqlite_db *reading = NULL;
	struct service_walk walk = { .arena = arena, .name = "" };
	size_t count = 0;
	int r;

	if (!services)
		return -ENOMEM;
	r = hash_table_new(sizeof(uint32_t), 0, 0, &hosts);
	if (r == 0)
		r = connection_set_hearth(set, &walk.hearth);
	if (r == 0)
		r = sqlite_begin_read(walk.hearth, &reading);
	if (r == 0)
		r = load_hosts(walk.hearth, tenant, hosts);
	walk.hosts = hosts;
	for (int i = 0; i < MAX_SERVICE_STEPS && count < max && (r == 0 || r == 1); i++) {
		r = next_pair(&walk, &services[count]);
		count += r == 1;
	}
	if (r < 0)
		return r;
	*ret_services = services;
	*ret_count = count;
	return 0;
}

VEC_DEFINE(series_ids, uint32_t);

static int latest_series(struct sqlite_db *hearth, const char *tenant, const char *service,
			 enum event_type type, struct series_ids *ids)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = service ? sqlite_query(hearth, SQL_SERIES_LATEST_OF_SERVICE, &row, SQL_TEXT(tenant),
				   SQL_INT(type), SQL_INT(MAX_LATEST_SERIES), SQL_TEXT(service))
		    : sqlite_query(hearth, SQL_SERIES_LATEST, &row, SQL_TEXT(tenant), SQL_INT(type),
				   SQL_INT(MAX_LATEST_SERIES));
	while (r > 0) {
		r = vec_push(ids, (uint32_t)sqlite3_column_int64(row, 0));
		if (r == 0)
			r = sqlite_step(hearth, row);
	}
	return r;
}

/* Returns 1 if found, 0 if none of the series has samples on this day. */
static int last_slot_of_day(struct connection_set *set, day_number day,
			    const struct series_ids *ids, uint64_t *ret_slot)
{
	scoped(sqlite_end_readp) struct sqlite_db *reading = NULL;
	struct sqlite_db *db;
	bool found = false;
	uint64_t last = 0;
	int r;

	r = connection_set_day(set, day, &db);
	if (r == 0)
		r = sqlite_begin_read(db, &reading);
	for (size_t i = 0; i < ids->count && r >= 0; i++) {
		scoped(sqlite_resetp) sqlite3_stmt *row = NULL;

		r = sqlite_query(db, SQL_ACTIVITY_LAST, &row, SQL_INT(ids->items[i]));
		if (r > 0) {
			last = MAX(last, (uint64_t)sqlite3_column_int64(row, 0));
			found = true;
		}
	}
	if (found)
		*ret_slot = last;
	return r < 0 ? r : found;
}

static int last_slot_of(struct connection_set *set, const struct series_ids *ids,
			uint64_t *ret_slot)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct day_entry *days = NULL;
	size_t n_days = 0;
	int r;

	r = arena_new(MIB, &arena);
	if (r == 0)
		r = store_state_days(set->state, 0, UINT32_MAX, arena, &days, &n_days);
	for (size_t i = n_days; i > 0 && r == 0; i--) {
		r = last_slot_of_day(set, days[i - 1].day, ids, ret_slot);
		/* Retention removed the file after the list was made. */
		if (r < 0 && r != -ENOMEM && !store_state_has_day(set->state, days[i - 1].day))
			r = 0;
	}
	return r;
}

int read_last_slot(struct connection_set *set, const char *tenant, const char *service,
		   enum event_type type, uint64_t *ret_slot)
{
	struct series_ids ids = {};
	struct sqlite_db *hearth;
	int r;

	r = connection_set_hearth(set, &hearth);
	if (r == 0)
		r = latest_series(hearth, tenant, service, type, &ids);
	if (r == 0 && ids.count > 0)
		r = last_slot_of(set, &ids, ret_slot);
	vec_release(&ids);
	return r;
}

int read_list_label_names(struct connection_set *set, const char *tenant, const char *from,
			  size_t max, struct arena *arena, const char ***ret_names,
			  size_t *ret_count)
{
	const char **names = arena_alloc_array(arena, max, sizeof(*names));
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct sqlite_db *hearth;
	size_t count = 0;
	int r;

	if (!names)
		return -ENOMEM;
	r = connection_set_hearth(set, &hearth);
	if (r == 0)
		r = sqlite_query(hearth, SQL_LABEL_NAME_LIST, &row, SQL_TEXT(tenant),
				 SQL_TEXT(from), SQL_INT(max));
	while (r > 0) {
		const char *name = sqlite_text(row, 0);

		names[count] = arena_copy_text(arena, name, strlen(name));
		if (!names[count++])
			return -ENOMEM;
		r = sqlite_step(hearth, row);
	}
	if (r < 0)
		return r;
	*ret_names = names;
	*ret_count = count;
	return 0;
}
