/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/segment_db/executables.h"

#include "common/arena.h"
#include "common/hash_table.h"
#include "common/vec.h"
#include "symbolizer/store/segment/segment_executables.h"
#include "symbolizer/store/segment_db/walk.h"

/*
 * Most rows of segments in memory that one lookup reads, and that it reads for the texts that
 * the first description lacks. Batches wait meanwhile: some milliseconds, and less than
 * 0.1 ms.
 */
#define MAX_MEMORY_ROWS 1000000
#define MAX_PATH_ROWS   20000

/* Descriptions of executables in memory that one visit copies. Further ones are left out. */
#define MAX_COPY_BYTES (128 * MIB)

/* Sets a text that is not known so far. 0, -ENOMEM. */
static int complete_text(const char **text, struct bytes_view from, struct arena *arena)
{
	if (*text || from.size == 0)
		return 0;
	*text = arena_copy_text(arena, (const char *)from.data, from.size);
	return *text ? 0 : -ENOMEM;
}

/* Texts of @executable that are not known are NULL. */
static int complete(struct segment_db_executable *executable, const struct segment_executable *from,
		    struct arena *arena)
{
	int r = complete_text(&executable->name, from->name, arena);

	return r < 0 ? r : complete_text(&executable->path, from->path, arena);
}

static struct bytes_view text_column(sqlite3_stmt *row, int column)
{
	const char *text = sqlite_text(row, column);

	return (struct bytes_view){ .data = (const uint8_t *)text, .size = strlen(text) };
}

struct find_walk {
	const char *tenant;
	const struct executable_id *identity;
	struct arena *arena;
	size_t n_rows;
	bool is_found;
	struct segment_db_executable found;
};

static int add_found(struct find_walk *walk, const struct segment_executable *executable)
{
	if (!walk->is_found)
		walk->found.role = (enum executable_role)executable->role;
	walk->is_found = true;
	return complete(&walk->found, executable, walk->arena);
}

static bool is_complete(const struct find_walk *walk)
{
	return walk->found.name && walk->found.path;
}

static int find_in_memory(void *arg, const struct head_segment *segment)
{
	struct find_walk *walk = arg;
	struct segment_executable executable;
	int r;

	r = segment_builder_find_executable(segment->builder, walk->identity, &walk->n_rows,
					    &executable);
	if (r > 0)
		r = add_found(walk, &executable);
	if (r < 0)
		return r;
	if (is_complete(walk) || (walk->is_found && walk->n_rows > MAX_PATH_ROWS))
		return 1;
	return walk->n_rows > MAX_MEMORY_ROWS;
}

static int find_in_day(void *arg, segment_day day, struct sqlite_db *file)
{
	struct find_walk *walk = arg;
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct segment_executable executable = {};
	int r = sqlite_query(file, DAY_SQL_EXECUTABLE_FIND, &row, SQL_TEXT(walk->tenant),
			     SQL_INT(walk->identity->kind),
			     SQL_BLOB(walk->identity->bytes, walk->identity->size));

	(void)day;
	if (r <= 0)
		return r;
	executable.name = text_column(row, 0);
	executable.role = (uint64_t)sqlite3_column_int64(row, 1);
	executable.path = text_column(row, 2);
	r = add_found(walk, &executable);
	/* The kernel has no path in any day. */
	return r < 0 ? r : 1;
}

int segment_db_find_executable(struct segment_db *db, const char *tenant,
			       const struct executable_id *identity, struct arena *arena,
			       struct segment_db_executable *ret_executable)
{
	const struct segment_db_names names = { .tenant = tenant };
	struct find_walk walk = {
		.tenant = tenant, .identity = identity, .arena = arena, .found.identity = *identity
	};
	int r = walk_memory(db, &names, find_in_memory, &walk);

	if (r >= 0 && !is_complete(&walk))
		r = walk_days(db, find_in_day, &walk);
	if (r < 0 || !walk.is_found)
		return MIN(r, 0);
	if (!walk.found.name)
		walk.found.name = "";
	*ret_executable = walk.found;
	return 1;
}

struct visit_walk {
	const char *tenant;
	segment_db_executable_function function;
	void *arg; /* of function */
	size_t n_rows;
	struct hash_table *known; /* struct executable_id -> index in @copies */
	struct arena *arena;
	VEC_DEFINE(, struct segment_db_executable) copies; /* of those in memory */
};

static void visit_walk_release(struct visit_walk *walk)
{
	(void)hash_table_free(walk->known);
	(void)arena_free(walk->arena);
	vec_release(&walk->copies);
}

static int copy_executable(void *arg, const struct segment_executable *executable)
{
	struct visit_walk *walk = arg;
	struct segment_db_executable copy = { .role = (enum executable_role)executable->role };
	size_t *index;
	int r = executable_id_set(&copy.identity, executable->class, executable->id.data,
				  executable->id.size);

	if (r < 0 || arena_used_bytes(walk->arena) >= MAX_COPY_BYTES)
		return 0;
	r = hash_table_insert(walk->known, &copy.identity, (void **)&index);
	if (r == 0)
		return complete(&walk->copies.items[*index], executable, walk->arena);
	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	*index = walk->copies.count;
	r = vec_push(&walk->copies, copy);
	return r < 0 ? r
		     : complete(&walk->copies.items[walk->copies.count - 1], executable,
				walk->arena);
}

static int copy_executables(void *arg, const struct head_segment *segment)
{
	struct visit_walk *walk = arg;

	walk->n_rows += segment_builder_count(segment->builder, SEGMENT_OBJECT) +
			segment_builder_count(segment->builder, SEGMENT_PATH);
	if (walk->n_rows > MAX_MEMORY_ROWS)
		return 1;
	return segment_builder_executables(segment->builder, copy_executable, walk);
}

static int visit_copies(struct visit_walk *walk)
{
	int r = 0;

	for (size_t i = 0; i < walk->copies.count && r == 0; i++) {
		struct segment_db_executable *copy = &walk->copies.items[i];

		if (!copy->name)
			copy->name = "";
		r = MIN(walk->function(walk->arg, copy), 0);
	}
	return r;
}

/* 1: the limit is reached. */
static int visit_row(struct visit_walk *walk, sqlite3_stmt *row)
{
	const struct bytes_view id = sqlite_blob(row, 1);
	struct segment_db_executable executable = {
		.name = sqlite_text(row, 2),
		.role = (enum executable_role)sqlite3_column_int(row, 3),
		.path = sqlite_text(row, 4),
	};
	int r;

	if (++walk->n_rows > SEGMENT_DB_MAX_EXECUTABLE_ROWS)
		return 1;
	if (executable_id_set(&executable.identity, (unsigned int)sqlite3_column_int(row, 0),
			      id.data, id.size) < 0)
		return 0;
	r = hash_table_insert(walk->known, &executable.identity, NULL);
	if (r <= 0)
		return r == -ENOSPC ? 1 : r;
	if (!executable.path[0])
		executable.path = NULL;
	return MIN(walk->function(walk->arg, &executable), 0);
}

static int visit_day(void *arg, segment_day day, struct sqlite_db *file)
{
	struct visit_walk *walk = arg;
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(file, DAY_SQL_EXECUTABLES, &row, SQL_TEXT(walk->tenant));

	(void)day;
	while (r > 0) {
		r = visit_row(walk, row);
		if (r != 0)
			return r;
		r = sqlite_step(file, row);
	}
	return r;
}

int segment_db_visit_executables(struct segment_db *db, const char *tenant,
				 segment_db_executable_function function, void *arg)
{
	const struct segment_db_names names = { .tenant = tenant };
	scoped(visit_walk_release) struct visit_walk walk = { .tenant = tenant,
							      .function = function,
							      .arg = arg };
	int r = hash_table_new(sizeof(struct executable_id), sizeof(size_t),
			       SEGMENT_DB_MAX_EXECUTABLES, &walk.known);

	/* The arena has unused ends of blocks. */
	if (r == 0)
		r = arena_new(2 * MAX_COPY_BYTES, &walk.arena);
	if (r == 0)
		r = walk_memory(db, &names, copy_executables, &walk);
	walk.n_rows = 0;
	if (r >= 0)
		r = visit_copies(&walk);
	if (r == 0)
		r = walk_days(db, visit_day, &walk);
	return MIN(r, 0);
}
