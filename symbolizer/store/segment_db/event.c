/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/segment_db/event.h"

#include "common/arena.h"
#include "symbolizer/store/segment_db/walk.h"

struct event_walk {
	const struct segment_db_names *names;
	struct arena *arena;
	const char *unit; /* NULL: not found */
	enum event_value_kind kind;
};

static int set_event(struct event_walk *walk, const char *unit, uint64_t kind)
{
	walk->kind = (enum event_value_kind)kind;
	walk->unit = arena_copy_text(walk->arena, unit, strlen(unit));
	return walk->unit ? 1 : -ENOMEM;
}

static int find_in_memory(void *arg, const struct head_segment *segment)
{
	return set_event(arg, segment_builder_head_text(segment->builder, HEAD_UNIT),
			 segment_builder_head_number(segment->builder, HEAD_EVENT_KIND));
}

static int find_in_day(void *arg, segment_day day, struct sqlite_db *file)
{
	struct event_walk *walk = arg;
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(file, DAY_SQL_EVENT_FIND, &row, SQL_TEXT(walk->names->tenant),
			     SQL_TEXT(walk->names->event));

	(void)day;
	if (r <= 0)
		return r;
	return set_event(walk, sqlite_text(row, 0), (uint64_t)sqlite3_column_int64(row, 1));
}

int segment_db_find_event(struct segment_db *db, const char *tenant, const char *event,
			  struct arena *arena, struct event_type_info *ret_info)
{
	const struct segment_db_names names = { .tenant = tenant, .event = event };
	struct event_walk walk = { .names = &names, .arena = arena };
	int r = walk_memory(db, &names, find_in_memory, &walk);

	if (r == 0)
		r = walk_days(db, find_in_day, &walk);
	if (r <= 0)
		return r;
	*ret_info = (struct event_type_info){
		.name = arena_copy_text(arena, event, strlen(event)),
		.unit = walk.unit,
		.kind = walk.kind,
	};
	return ret_info->name ? 1 : -ENOMEM;
}
