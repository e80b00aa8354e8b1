/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ingest asks when an agent sends its first batch after a restart of the server. The next batch
 * needs the definitions of the epoch too, so they are loaded as for a batch, and stay in memory.
 */

#include <string.h>

#include "common/arena.h"
#include "common/vec.h"
#include "symbolizer/store/head/numbers_copy.h"
#include "symbolizer/store/segment_db/epoch.h"
#include "symbolizer/store/segment_db/segment_db_private.h"

VEC_DEFINE(executables, const struct batch_executable *);

static void executables_release(struct executables *executables)
{
	vec_release(executables);
}

/* 1; 0: no batch of the epoch was accepted. */
static int find_epoch(struct segment_db *db, const char *tenant, const struct batch *batch,
		      int64_t *ret_epoch)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(db->inbox, INBOX_SQL_EPOCH_FIND, &row, SQL_TEXT(tenant),
			     SQL_BLOB(&batch->agent_id, sizeof(batch->agent_id)),
			     SQL_INT(batch->epoch));

	if (r > 0)
		*ret_epoch = sqlite3_column_int64(row, 0);
	return r;
}

/* 1 the definitions are in memory, 0 there are none. */
static int load_numbers(struct segment_db *db, const char *tenant, const struct batch *batch)
{
	struct numbers *numbers;
	int64_t epoch;
	int r;

	if (head_knows(db->head, tenant, batch))
		return 1;
	r = find_epoch(db, tenant, batch, &epoch);
	if (r <= 0)
		return r;
	r = epoch_load_numbers(db, db->inbox, epoch, db->state.max_id, &numbers);
	if (r == 0)
		r = head_set_numbers_take(db->head, tenant, batch, numbers);
	return r < 0 ? r : 1;
}

/* The agent numbers its executables in the order in which it finds them. */
static int compare_newest_first(const void *a, const void *b)
{
	const struct batch_executable *const *left = a, *const *right = b;

	return ((*left)->number < (*right)->number) - ((*left)->number > (*right)->number);
}

static int collect(const struct numbers *numbers, struct executables *found)
{
	struct numbers_object **object;
	const uint32_t *number;
	size_t cursor = 0;
	int r = 0;

	while (r == 0 &&
	       hash_table_next(numbers->objects, &cursor, (const void **)&number, (void **)&object))
		if (!(*number & FRAME_CODE_OBJECT) &&
		    (*object)->executable.id.kind != EXECUTABLE_ID_NONE)
			r = vec_push(found, &(*object)->executable);
	if (found->count > 0)
		qsort(found->items, found->count, sizeof(*found->items), compare_newest_first);
	return r;
}

static int copy(const struct executables *found, size_t max, struct arena *arena,
		struct store_executable **ret_executables, size_t *ret_count)
{
	const size_t count = MIN(found->count, max);
	struct store_executable *executables =
		arena_alloc_array(arena, count, sizeof(*executables));

	if (!executables)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct batch_executable executable;

		if (copy_executable(arena, found->items[i], &executable) < 0)
			return -ENOMEM;
		executables[i] = (struct store_executable){ .identity = executable.id,
							    .name = executable.name,
							    .role = executable.role,
							    .segments = executable.segments,
							    .n_segments = executable.n_segments };
	}
	*ret_executables = executables;
	*ret_count = count;
	return 0;
}

int segment_db_agent_executables(struct segment_db *db, const struct segment_db_epoch *epoch,
				 size_t max, struct arena *arena,
				 struct segment_db_executables *ret_executables)
{
	const struct batch batch = { .agent_id = epoch->agent, .epoch = epoch->epoch };
	scoped(executables_release) struct executables found = {};
	int r;

	fair_lock_take(&db->inbox_lock);
	r = load_numbers(db, epoch->tenant, &batch);
	if (r > 0)
		r = collect(head_numbers(db->head, epoch->tenant, &batch), &found);
	if (r == 0)
		r = copy(&found, max, arena, &ret_executables->items, &ret_executables->count);
	fair_lock_give(&db->inbox_lock);
	return r;
}
