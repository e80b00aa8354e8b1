/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes the samples of old days, and keeps the sums of their hours.
 *
 * A roll-up whose samples are removed is marked in the index. It is not made again: samples that
 * arrive later for its hour are kept beside it, and are not in it.
 *
 * The index of a day is read first. Then its hours are handled in steps, each in one transaction,
 * between which flushes run. So a step reads the index entries of an hour again.
 */

#include "common/arena.h"
#include "symbolizer/store/segment_db/segment_db_private.h"

/* Index entries of one day. */
#define MAX_INDEX_BYTES (256 * MIB)

/* Segments of one step: some milliseconds. A step has one hour of a service at least. */
#define SEGMENTS_PER_STEP 256

struct removal {
	struct segment_db *db;
	segment_day day;
	struct sqlite_db *file;   /* in a transaction */
	struct arena *arena;      /* of the index of the day */
	struct arena *step_arena; /* of the entries of one step */
	size_t n_removed, n_left; /* hours of services */
};

static int compare_infos(const void *a, const void *b)
{
	return segment_info_order(a, b);
}

/* Whether the roll-ups, which are first, have all samples of the hour. */
static bool has_rollup(const struct segment_info *hour, size_t count)
{
	if (hour[0].kind != SEGMENT_ROLLUP || hour[0].samples_removed)
		return false;
	for (size_t i = 0; i < count; i++)
		if (hour[i].flush > hour[0].flush)
			return false;
	return true;
}

/* Samples of states have no sums, and later samples no roll-up: they stay. */
static bool is_kept(const struct segment_info *hour)
{
	return hour->event_kind == EVENT_VALUE_STATE || hour->samples_removed;
}

/* Removes the samples of an hour, if its roll-up has them all. */
static int remove_hour(struct removal *removal, const struct segment_info *of)
{
	const struct day_file_hour found = { .of = of,
					     .last_flush = removal->db->state.last_flush };
	scoped(segment_infos_release) struct segment_infos hour = {};
	int r = day_file_find_hour(removal->file, &found, removal->step_arena, &hour);

	if (r < 0 || hour.count == 0 || is_kept(hour.items))
		return r;
	if (!has_rollup(hour.items, hour.count)) {
		removal->n_left++;
		return 0;
	}
	for (size_t i = 0; i < hour.count && r == 0; i++)
		r = hour.items[i].kind == SEGMENT_ROLLUP
			    ? sqlite_run(removal->file, DAY_SQL_SET_SAMPLES_REMOVED,
					 SQL_INT(hour.items[i].id))
			    : day_file_delete(removal->file, hour.items[i].id);
	removal->n_removed++;
	return r;
}

static size_t end_of_hour(const struct segment_infos *infos, size_t first)
{
	size_t end = first + 1;

	while (end < infos->count &&
	       segment_info_same_hour(&infos->items[first], &infos->items[end]))
		end++;
	return end;
}

/* Handles hours from *@first on, and moves it. */
static int remove_hours(struct removal *removal, const struct segment_infos *infos, size_t *first)
{
	size_t n_segments = 0;
	int r = 0;

	while (*first < infos->count && n_segments < SEGMENTS_PER_STEP && r == 0) {
		const struct segment_info *hour = &infos->items[*first];
		size_t end = end_of_hour(infos, *first);

		if (!is_kept(hour)) {
			r = remove_hour(removal, hour);
			n_segments += end - *first;
		}
		*first = end;
	}
	return r;
}

/* The caller holds files_lock. */
static int run_step(struct removal *removal, const struct segment_infos *infos, size_t *first)
{
	scoped(sqlite_db_freep) struct sqlite_db *file = NULL;
	int r = 0;

	if (removal->day >= removal->db->oldest_day)
		r = day_file_open(removal->db->folder, removal->day, DAY_FILE_WRITE, &file);
	if (r <= 0) {
		*first = infos->count; /* the day was removed */
		return r;
	}
	removal->file = file;
	arena_clear(removal->step_arena);
	r = sqlite_begin(file);
	if (r == 0)
		r = remove_hours(removal, infos, first);
	if (r == 0)
		return sqlite_commit(file);
	sqlite_rollback(file);
	return r;
}

static int read_index(struct removal *removal, struct segment_infos *infos)
{
	scoped(sqlite_db_freep) struct sqlite_db *file = NULL;
	struct day_file_query all = { .to_slot = UINT64_MAX };
	int r;

	fair_lock_take(&removal->db->inbox_lock);
	all.last_flush = removal->db->state.last_flush;
	fair_lock_give(&removal->db->inbox_lock);
	arena_clear(removal->arena);
	r = day_file_open(removal->db->folder, removal->day, DAY_FILE_READ, &file);
	if (r > 0)
		r = day_file_find(file, &all, removal->arena, infos);
	if (r == 0 && infos->count > 0)
		qsort(infos->items, infos->count, sizeof(*infos->items), compare_infos);
	return r;
}

static int remove_in_day(struct removal *removal)
{
	scoped(segment_infos_release) struct segment_infos infos = {};
	const size_t n_before = removal->n_removed;
	size_t first = 0;
	int r = read_index(removal, &infos);

	while (first < infos.count && r == 0) {
		fair_lock_take(&removal->db->files_lock);
		r = run_step(removal, &infos, &first);
		fair_lock_give(&removal->db->files_lock);
	}
	return r == 0 && removal->n_removed > n_before ? vacuum_day(removal->db, removal->day) : r;
}

static int remove_in_days(struct removal *removal, const struct segment_days *days, segment_day end)
{
	const segment_day oldest = segment_db_first_day(removal->db);
	int r = 0;

	for (size_t i = 0; i < days->count && days->items[i] < end && r == 0; i++) {
		if (days->items[i] < oldest)
			continue;
		removal->day = days->items[i];
		r = remove_in_day(removal);
		/* Queries report the damage. */
		if (r == -EUCLEAN)
			r = 0;
	}
	return r;
}

int segment_db_remove_samples(struct segment_db *db, uint64_t before_wall_ns, size_t *ret_removed,
			      size_t *ret_left)
{
	const segment_day end = segment_day_of_slot(before_wall_ns / SLOT_NS);
	scoped(segment_days_release) struct segment_days days = {};
	scoped(arena_freep) struct arena *arena = NULL;
	scoped(arena_freep) struct arena *step_arena = NULL;
	struct removal removal = { .db = db };
	int r = day_files_list(db->folder, &days);

	if (r == 0)
		r = arena_new(MAX_INDEX_BYTES, &arena);
	if (r == 0)
		r = arena_new(MAX_INDEX_BYTES, &step_arena);
	removal.arena = arena;
	removal.step_arena = step_arena;
	if (r == 0)
		r = remove_in_days(&removal, &days, end);
	if (r < 0)
		return r;
	*ret_removed = removal.n_removed;
	*ret_left = removal.n_left;
	return 0;
}
