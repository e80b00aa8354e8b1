/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three kinds of steps, each in one transaction of one day file. files_lock is held for one step
 * only:
 *
 *   merge     small segments of one service, event type and hour become fewer
 *   roll up   all samples of one service, event type and hour are summed into a roll-up. It has the
 *             number of their last flush; samples of a later one make it obsolete, and it is made
 *             again.
 *   log       the batches of a closed hour of a run become one block (log_file.h), for some hours
 *             and runs at once
 *
 * Memory is bounded: sources are decoded one after another, and an output that has max_merge_bytes
 * is written, and another one begun.
 */

#include <string.h>

#include "common/arena.h"
#include "common/log.h"
#include "symbolizer/store/segment/segment_builder.h"
#include "symbolizer/store/segment_db/log_file.h"
#include "symbolizer/store/segment_db/segment_db_private.h"

#define MSEC_PER_SLOT (SLOT_NS / NSEC_PER_MSEC)

/* Index entries of one day. */
#define MAX_INDEX_BYTES (256 * MIB)

/* A segment is small if it has less than this part of max_merge_bytes when it is decoded. In the
 * builder it takes several times as much, for hash tables and room to grow. */
#define SMALL_PART 8

/* Small segments of an hour that is not over are merged if there are as many. */
#define OPEN_HOUR_MERGE 8

struct compaction {
	struct segment_db *db;
	const struct segment_db_compaction *options;
	segment_day day;
	struct sqlite_db *file; /* in a transaction */
	struct arena *arena;    /* of infos of one step */
	size_t n_changed;       /* steps that changed segments of the file */
	bool log_is_changed;
};

/* The outputs of a step. */
struct output {
	struct compaction *compaction;
	struct segment_builder *builder; /* NULL: nothing added yet */
	uint64_t flush;                  /* of all outputs */
	size_t n_written;
};

/* Finishes the current output, and adds it to the file. */
static int output_write(struct output *output)
{
	scoped(segment_builder_freep) struct segment_builder *builder = take_ptr(output->builder);
	scoped(bytes_release) struct bytes content = BYTES_INIT(SEGMENT_DB_MAX_SEGMENT_BYTES);
	struct compaction *compaction = output->compaction;
	scoped(arena_freep) struct arena *arena = NULL;
	struct segment_info info;
	struct segment segment;
	int r;

	if (!builder)
		return 0;
	r = arena_new(SEGMENT_ARENA_BYTES, &arena);
	if (r == 0)
		r = segment_builder_finish(builder, arena, &segment);
	if (r < 0)
		return r;
	r = segment_info_of(&segment, arena, &info);
	if (r == 0)
		r = segment_encode(&segment, &compaction->db->codec, &content);
	if (r < 0)
		return r;
	info.flush = output->flush;
	output->n_written++;
	return day_file_add(compaction->file, &info, bytes_view_of(&content));
}

static void output_release(struct output *output)
{
	(void)segment_builder_free(output->builder);
}

/* Begins another output if the segment might not fit into the current one. */
static int output_reserve(struct output *output, const struct segment_info *next)
{
	const size_t max_bytes = output->compaction->options->max_merge_bytes;
	int r = 0;

	if (output->builder &&
	    (segment_builder_bytes(output->builder) + next->memory_bytes > max_bytes ||
	     segment_builder_count(output->builder, SEGMENT_ROW) + next->n_rows > SEGMENT_MAX_ROWS))
		r = output_write(output);
	if (r == 0 && !output->builder)
		r = segment_builder_new(&output->builder);
	return r;
}

/* Adds the segment, or its sums if @roll_up. */
static int output_add(struct output *output, const struct segment_info *info, bool roll_up)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(SEGMENT_DB_MAX_SEGMENT_BYTES);
	struct compaction *compaction = output->compaction;
	scoped(arena_freep) struct arena *arena = NULL;
	struct segment segment;
	int r = output_reserve(output, info);

	if (r == 0)
		r = day_file_content(compaction->file, info->id, &content);
	if (r == 0)
		r = arena_new(SEGMENT_ARENA_BYTES, &arena);
	if (r == 0)
		r = segment_decode(bytes_view_of(&content), SEGMENT_ALL, &compaction->db->codec,
				   arena, &segment);
	if (r < 0)
		return r;
	return roll_up ? segment_builder_add_rollup(output->builder, &segment,
						    SEGMENT_SLOTS_PER_HOUR)
		       : segment_builder_add_segment(output->builder, &segment);
}

static bool is_small(const struct compaction *compaction, const struct segment_info *info)
{
	return info->kind == SEGMENT_SAMPLES &&
	       info->memory_bytes < compaction->options->max_merge_bytes / SMALL_PART;
}

static bool hour_is_closed(const struct compaction *compaction, const struct segment_info *info)
{
	return (segment_info_hour(info) + 1) * SEGMENT_SLOTS_PER_HOUR <=
	       compaction->options->closed_slot;
}

static size_t count_small(const struct compaction *compaction, const struct segment_infos *hour)
{
	size_t n = 0;

	for (size_t i = 0; i < hour->count; i++)
		n += is_small(compaction, &hour->items[i]);
	return n;
}

/* 1 the segments were merged, 0 not: they are no fewer afterwards. */
static int merge(struct compaction *compaction, const struct segment_infos *hour)
{
	scoped(output_release) struct output output = { .compaction = compaction };
	size_t n_sources = count_small(compaction, hour);
	int r = 0;

	for (size_t i = 0; i < hour->count; i++)
		if (is_small(compaction, &hour->items[i]))
			output.flush = MAX(output.flush, hour->items[i].flush);
	for (size_t i = 0; i < hour->count && r == 0; i++) {
		if (!is_small(compaction, &hour->items[i]))
			continue;
		r = output_add(&output, &hour->items[i], false);
		if (r == 0)
			r = day_file_delete(compaction->file, hour->items[i].id);
	}
	if (r == 0)
		r = output_write(&output);
	return r < 0 ? r : output.n_written < n_sources;
}

/* The last flush of samples, and of roll-ups. 0: there are none. */
static void find_flushes(const struct segment_infos *hour, uint64_t *ret_samples,
			 uint64_t *ret_rollups)
{
	*ret_samples = 0;
	*ret_rollups = 0;
	for (size_t i = 0; i < hour->count; i++) {
		const struct segment_info *info = &hour->items[i];
		uint64_t *flush = info->kind == SEGMENT_ROLLUP ? ret_rollups : ret_samples;

		*flush = MAX(*flush, info->flush);
	}
}

static bool needs_rollup(const struct compaction *compaction, const struct segment_infos *hour)
{
	uint64_t samples, rollups;

	if (hour->count == 0 || hour->items[0].event_kind == EVENT_VALUE_STATE ||
	    !hour_is_closed(compaction, &hour->items[0]))
		return false;
	/* It cannot be made again. */
	for (size_t i = 0; i < hour->count; i++)
		if (hour->items[i].samples_removed)
			return false;
	find_flushes(hour, &samples, &rollups);
	return samples > rollups;
}

static int roll_up(struct compaction *compaction, const struct segment_infos *hour)
{
	scoped(output_release) struct output output = { .compaction = compaction };
	uint64_t rollups;
	int r = 0;

	find_flushes(hour, &output.flush, &rollups);
	for (size_t i = 0; i < hour->count && r == 0; i++)
		r = hour->items[i].kind == SEGMENT_ROLLUP
			    ? day_file_delete(compaction->file, hour->items[i].id)
			    : output_add(&output, &hour->items[i], true);
	if (r == 0)
		r = output_write(&output);
	return r < 0 ? r : 1;
}

static bool needs_merge(const struct compaction *compaction, const struct segment_infos *hour)
{
	size_t n;

	if (hour->count == 0)
		return false;
	n = count_small(compaction, hour);
	return n >= (hour_is_closed(compaction, &hour->items[0]) ? 2 : OPEN_HOUR_MERGE);
}

enum step {
	STEP_MERGE,
	STEP_ROLL_UP,
};

static int run_in_transaction(struct compaction *compaction, const struct segment_info *of,
			      enum step step)
{
	const struct day_file_hour found = { .of = of,
					     .last_flush = compaction->db->state.last_flush };
	scoped(segment_infos_release) struct segment_infos hour = {};
	int r = day_file_find_hour(compaction->file, &found, compaction->arena, &hour);

	if (r < 0)
		return r;
	if (step == STEP_MERGE)
		return needs_merge(compaction, &hour) ? merge(compaction, &hour) : 0;
	return needs_rollup(compaction, &hour) ? roll_up(compaction, &hour) : 0;
}

/* The caller holds files_lock. 1 the file was changed, 0 not. */
static int run_step(struct compaction *compaction, const struct segment_info *of, enum step step)
{
	int r = sqlite_begin(compaction->file);

	if (r < 0)
		return r;
	r = run_in_transaction(compaction, of, step);
	if (r > 0) {
		int committed = sqlite_commit(compaction->file);

		return committed < 0 ? committed : 1;
	}
	sqlite_rollback(compaction->file);
	/* A query reports the damage. Sums that are too large stay samples. */
	if (r == -EBADMSG || r == -EUCLEAN || r == -EOVERFLOW) {
		(void)log_warn_errno(r,
				     "cannot merge the segments of an hour of '%s', ignoring: %m",
				     of->service);
		return 0;
	}
	return r;
}

/* Whether the service is being deleted. The caller holds files_lock. */
static bool is_deleted(const struct segment_db *db, const struct segment_info *info)
{
	return db->deleted.service && strcmp(db->deleted.service, info->service) == 0 &&
	       strcmp(db->deleted.tenant, info->tenant) == 0;
}

/* Opens the day for one step, so that a flush waits for one step only. */
static int step_of_hour(struct compaction *compaction, const struct segment_info *of,
			enum step step)
{
	struct segment_db *db = compaction->db;
	int r = 0;

	fair_lock_take(&db->files_lock);
	arena_clear(compaction->arena);
	if (compaction->day >= db->oldest_day && !is_deleted(db, of))
		r = day_file_open(db->folder, compaction->day, DAY_FILE_WRITE, &compaction->file);
	if (r > 0)
		r = run_step(compaction, of, step);
	compaction->n_changed += r > 0;
	compaction->file = sqlite_db_free(compaction->file);
	fair_lock_give(&db->files_lock);
	return MIN(r, 0);
}

static int compact_hour(struct compaction *compaction, const struct segment_info *infos,
			size_t count)
{
	/* Not owned: a view for the two conditions. */
	const struct segment_infos hour = { .items = (struct segment_info *)infos, .count = count };
	int r = 0;

	if (cancel_is_requested(compaction->options->cancel))
		return -ECANCELED;
	if (needs_merge(compaction, &hour))
		r = step_of_hour(compaction, &infos[0], STEP_MERGE);
	if (r == 0 && needs_rollup(compaction, &hour))
		r = step_of_hour(compaction, &infos[0], STEP_ROLL_UP);
	return r;
}

static int compare_infos(const void *a, const void *b)
{
	return segment_info_order(a, b);
}

/* The index as it is now. A step reads the entries of its hour again. */
static int read_index(struct compaction *compaction, struct arena *arena,
		      struct segment_infos *infos)
{
	struct segment_db *db = compaction->db;
	scoped(sqlite_db_freep) struct sqlite_db *file = NULL;
	struct day_file_query query = { .to_slot = UINT64_MAX };
	int r;

	fair_lock_take(&db->inbox_lock);
	query.last_flush = db->state.last_flush;
	fair_lock_give(&db->inbox_lock);
	r = day_file_open(db->folder, compaction->day, DAY_FILE_READ, &file);
	if (r > 0)
		r = day_file_find(file, &query, arena, infos);
	if (r == 0 && infos->count > 0)
		qsort(infos->items, infos->count, sizeof(*infos->items), compare_infos);
	return r;
}

static struct log_merge log_merge_of(struct compaction *compaction)
{
	struct segment_db *db = compaction->db;
	struct log_merge merge = {
		.closed_ms =
			MIN(compaction->options->closed_slot, (uint64_t)INT64_MAX / MSEC_PER_SLOT) *
			MSEC_PER_SLOT,
	};

	fair_lock_take(&db->inbox_lock);
	merge.last_flush = db->state.last_flush;
	fair_lock_give(&db->inbox_lock);
	return merge;
}

/* 1 if the day has batches to merge, 0 if not. Needs no lock. */
static int log_needs_merge(struct compaction *compaction)
{
	const struct log_merge merge = log_merge_of(compaction);
	scoped(sqlite_db_freep) struct sqlite_db *file = NULL;
	int r = day_file_open(compaction->db->folder, compaction->day, DAY_FILE_READ, &file);

	return r > 0 ? log_file_needs_merge(file, &merge) : r;
}

/* The caller holds files_lock. 1: there is more to merge. */
static int run_log_step(struct compaction *compaction, struct log_merge *merge)
{
	scoped(sqlite_db_freep) struct sqlite_db *file = NULL;
	int committed, r;

	if (compaction->day < compaction->db->oldest_day)
		return 0;
	r = day_file_open(compaction->db->folder, compaction->day, DAY_FILE_WRITE, &file);
	if (r <= 0)
		return r;
	r = sqlite_begin(file);
	if (r == 0)
		r = log_file_merge(file, merge);
	if (r < 0) {
		sqlite_rollback(file);
		return r;
	}
	committed = sqlite_commit(file);
	return committed < 0 ? committed : r;
}

static int compact_log(struct compaction *compaction)
{
	struct log_merge merge = log_merge_of(compaction);
	int r = log_needs_merge(compaction);

	while (r > 0) {
		if (cancel_is_requested(compaction->options->cancel))
			return -ECANCELED;
		fair_lock_take(&compaction->db->files_lock);
		r = run_log_step(compaction, &merge);
		fair_lock_give(&compaction->db->files_lock);
	}
	compaction->log_is_changed = merge.n_merged > 0;
	return r;
}

static int compact_day(struct compaction *compaction)
{
	scoped(segment_infos_release) struct segment_infos infos = {};
	scoped(arena_freep) struct arena *arena = NULL;
	size_t end;
	int r = arena_new(MAX_INDEX_BYTES, &arena);

	if (r == 0)
		r = read_index(compaction, arena, &infos);
	for (size_t first = 0; first < infos.count && r == 0; first = end) {
		for (end = first + 1; end < infos.count; end++)
			if (!segment_info_same_hour(&infos.items[first], &infos.items[end]))
				break;
		r = compact_hour(compaction, &infos.items[first], end - first);
	}
	if (r == 0)
		r = compact_log(compaction);
	if (r == 0 && (compaction->n_changed > 0 || compaction->log_is_changed))
		r = vacuum_day(compaction->db, compaction->day);
	return r;
}

int segment_db_compact(struct segment_db *db, const struct segment_db_compaction *options,
		       size_t *ret_changed)
{
	scoped(segment_days_release) struct segment_days days = {};
	struct compaction compaction = { .db = db, .options = options };
	const segment_day oldest = segment_db_first_day(db);
	size_t n_changed = 0;
	int r = day_files_list(db->folder, &days);

	if (r == 0)
		r = arena_new(MAX_INDEX_BYTES, &compaction.arena);
	for (size_t i = 0; i < days.count && r == 0; i++) {
		if (days.items[i] < oldest)
			continue;
		compaction.day = days.items[i];
		compaction.n_changed = 0;
		compaction.log_is_changed = false;
		r = compact_day(&compaction);
		n_changed += compaction.n_changed;
		/* Queries report the damage. */
		if (r == -EUCLEAN)
			r = 0;
	}
	(void)arena_free(compaction.arena);
	if (r == 0)
		*ret_changed = n_changed;
	return r;
}
