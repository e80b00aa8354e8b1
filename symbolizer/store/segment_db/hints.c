/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/segment_db/hints.h"

#include <string.h>

#include "common/arena.h"
#include "common/hash_table.h"
#include "common/vec.h"
#include "symbolizer/store/segment/segment_labels.h"
#include "symbolizer/store/segment_db/walk.h"

/* Most entries of indexes that one lookup reads: 100 ms. */
#define MAX_STEPS 20000u

/*
 * Most rows of labels in memory that one lookup reads. Batches wait meanwhile: some milliseconds.
 */
#define MAX_LABEL_ROWS 1000000

/* Distinct names, in an arena. */
struct name_set {
	struct hash_table *known; /* struct hash128 of the name */
	struct arena *arena;
	VEC_DEFINE(, struct store_service) names;
};

static void name_set_release(struct name_set *set)
{
	(void)hash_table_free(set->known);
	vec_release(&set->names);
}

/* 0, -ENOMEM. A name that is known keeps its first @without_stacks. */
static int add_name(struct name_set *set, const char *name, size_t length, bool without_stacks)
{
	const struct hash128 hash = hash128_of(name, length);
	struct store_service added = { .without_stacks = without_stacks };
	int r = hash_table_insert(set->known, &hash, NULL);

	if (r <= 0)
		return r;
	added.name = arena_copy_text(set->arena, name, length);
	return added.name ? vec_push(&set->names, added) : -ENOMEM;
}

static int compare_names(const void *a, const void *b)
{
	const struct store_service *left = a, *right = b;

	return strcmp(left->name, right->name);
}

/* Sorts the names, and keeps the first ones. */
static void finish_names(struct name_set *set, size_t max)
{
	if (set->names.count > 0)
		qsort(set->names.items, set->names.count, sizeof(*set->names.items), compare_names);
	set->names.count = MIN(set->names.count, max);
}

struct service_walk {
	struct name_set set;
	const char *tenant;
	size_t max;
	size_t n_steps;
};

static int add_service_of_segment(void *arg, const struct head_segment *segment)
{
	struct service_walk *walk = arg;
	const char *name = segment_builder_head_text(segment->builder, HEAD_SERVICE);

	return name[0] ? add_name(&walk->set, name, strlen(name), segment->without_stacks) : 0;
}

/* Finds the first service of the file after @after. 1 with *ret_name in @arena, 0. */
static int next_service(struct service_walk *walk, struct sqlite_db *file, const char *after,
			struct store_service *ret_service)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(file, DAY_SQL_SERVICE_NEXT, &row, SQL_TEXT(walk->tenant),
			     SQL_TEXT(after));
	const char *name;

	walk->n_steps++;
	if (r <= 0)
		return r;
	name = sqlite_text(row, 0);
	ret_service->name = arena_copy_text(walk->set.arena, name, strlen(name));
	ret_service->without_stacks = sqlite3_column_int64(row, 1) != 0;
	return ret_service->name ? 1 : -ENOMEM;
}

static int add_services_of_day(void *arg, segment_day day, struct sqlite_db *file)
{
	struct service_walk *walk = arg;
	struct store_service service = { .name = "" };
	int r = 1;

	(void)day;
	/* The search begins after "", a name that no query can ask for. */
	for (size_t n = 0; n < walk->max && r > 0 && walk->n_steps < MAX_STEPS; n++) {
		r = next_service(walk, file, service.name, &service);
		if (r > 0 && add_name(&walk->set, service.name, strlen(service.name),
				      service.without_stacks) < 0)
			r = -ENOMEM;
	}
	if (r < 0)
		return r;
	return walk->n_steps >= MAX_STEPS;
}

int segment_db_list_services(struct segment_db *db, const char *tenant, size_t max,
			     struct arena *arena, struct store_service **ret_services,
			     size_t *ret_count)
{
	struct service_walk walk = { .set = { .arena = arena }, .tenant = tenant, .max = max };
	const struct segment_db_names names = { .tenant = tenant };
	scoped(name_set_release) struct name_set owned = {};
	int r = hash_table_new(sizeof(struct hash128), 0, 0, &walk.set.known);

	if (r == 0)
		r = walk_memory(db, &names, add_service_of_segment, &walk);
	if (r == 0)
		r = walk_days(db, add_services_of_day, &walk);
	owned = walk.set;
	if (r < 0)
		return r;
	finish_names(&owned, max);
	*ret_services = arena_copy(arena, owned.names.items,
				   owned.names.count * sizeof(*owned.names.items));
	*ret_count = owned.names.count;
	return *ret_services ? 0 : -ENOMEM;
}

struct slot_walk {
	const struct segment_db_names *names;
	bool is_found;
	uint64_t last_slot;
};

static int find_slot_in_memory(void *arg, const struct head_segment *segment)
{
	struct slot_walk *walk = arg;

	walk->is_found = true;
	walk->last_slot = MAX(walk->last_slot, segment->last_slot);
	return 0;
}

static int query_last_slot(const struct segment_db_names *names, struct sqlite_db *file,
			   sqlite3_stmt **ret_row)
{
	if (names->service)
		return sqlite_query(file, DAY_SQL_LAST_SLOT_OF_SERVICE, ret_row,
				    SQL_TEXT(names->tenant), SQL_TEXT(names->service),
				    SQL_TEXT(names->event ? names->event : ""));
	if (names->event)
		return sqlite_query(file, DAY_SQL_LAST_SLOT_OF_EVENT, ret_row,
				    SQL_TEXT(names->tenant), SQL_TEXT(names->event));
	return sqlite_query(file, DAY_SQL_LAST_SLOT, ret_row, SQL_TEXT(names->tenant));
}

static int find_slot_in_day(void *arg, segment_day day, struct sqlite_db *file)
{
	struct slot_walk *walk = arg;
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	/* The memory has a later one. */
	if (walk->is_found && day < segment_day_of_slot(walk->last_slot))
		return 1;
	r = query_last_slot(walk->names, file, &row);
	if (r <= 0 || sqlite3_column_type(row, 0) == SQLITE_NULL)
		return MIN(r, 0);
	walk->is_found = true;
	walk->last_slot = MAX(walk->last_slot, (uint64_t)sqlite3_column_int64(row, 0));
	return 1;
}

int segment_db_last_slot(struct segment_db *db, const struct segment_db_names *names,
			 uint64_t *ret_slot)
{
	struct slot_walk walk = { .names = names };
	int r = walk_memory(db, names, find_slot_in_memory, &walk);

	if (r == 0)
		r = walk_days(db, find_slot_in_day, &walk);
	if (r < 0)
		return r;
	if (walk.is_found)
		*ret_slot = walk.last_slot;
	return walk.is_found;
}

struct label_walk {
	struct name_set set;
	const struct segment_db_label_query *query;
	size_t n_rows;
};

static int add_label_of_memory(void *arg, struct bytes_view name)
{
	struct label_walk *walk = arg;
	const char *text = (const char *)name.data;

	return strcmp(text, walk->query->from) < 0 ? 0
						   : add_name(&walk->set, text, name.size, false);
}

static int add_labels_of_segment(void *arg, const struct head_segment *segment)
{
	struct label_walk *walk = arg;

	walk->n_rows += segment_builder_count(segment->builder, SEGMENT_PROCESS) +
			segment_builder_count(segment->builder, SEGMENT_SERIES) +
			segment_builder_count(segment->builder, SEGMENT_LABEL);
	if (walk->n_rows > MAX_LABEL_ROWS)
		return 1;
	return segment_builder_label_names(segment->builder, add_label_of_memory, walk);
}

static int add_labels_of_day(void *arg, segment_day day, struct sqlite_db *file)
{
	struct label_walk *walk = arg;
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(file, DAY_SQL_LABEL_NAMES, &row, SQL_TEXT(walk->query->tenant),
			     SQL_TEXT(walk->query->from),
			     SQL_INT(MIN(walk->query->max, (size_t)MAX_STEPS)));

	(void)day;
	while (r > 0) {
		const char *name = sqlite_text(row, 0);

		r = add_name(&walk->set, name, strlen(name), false);
		if (r == 0)
			r = sqlite_step(file, row);
	}
	return r;
}

static int copy_names(const struct name_set *set, struct arena *arena, const char ***ret_names,
		      size_t *ret_count)
{
	const char **names = arena_alloc_array(arena, set->names.count, sizeof(*names));

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < set->names.count; i++)
		names[i] = set->names.items[i].name;
	*ret_names = names;
	*ret_count = set->names.count;
	return 0;
}

int segment_db_list_label_names(struct segment_db *db, const struct segment_db_label_query *query,
				struct arena *arena, const char ***ret_names, size_t *ret_count)
{
	struct label_walk walk = { .set = { .arena = arena }, .query = query };
	const struct segment_db_names names = { .tenant = query->tenant };
	scoped(name_set_release) struct name_set owned = {};
	int r = hash_table_new(sizeof(struct hash128), 0, 0, &walk.set.known);

	if (r == 0)
		r = walk_memory(db, &names, add_labels_of_segment, &walk);
	if (r >= 0)
		r = walk_days(db, add_labels_of_day, &walk);
	owned = walk.set;
	if (r < 0)
		return r;
	finish_names(&owned, query->max);
	return copy_names(&owned, arena, ret_names, ret_count);
}
