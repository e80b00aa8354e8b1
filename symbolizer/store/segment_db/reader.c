/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state is fixed under inbox_lock: the number of the last committed flush, and snapshots of all
 * rows in memory that are not in it. Then read transactions begin in all day files. If another
 * flush was committed meanwhile, all begins again: compactions merge segments of committed flushes
 * only, so without a later flush, the number selects complete flushes in the transactions of all
 * files. From then on these hold the state of the files. Rows in memory are copied next, and if a
 * flush is committed before they are, all begins again too. After some tries the reader keeps
 * flushes out.
 */

#include "symbolizer/store/segment_db/reader.h"

#include <string.h>

#include "common/arena.h"
#include "symbolizer/store/segment/segment_snapshot.h"
#include "symbolizer/store/segment_db/segment_db_private.h"

/* Index entries of one reader: 200 bytes for each of a million segments. */
#define MAX_INDEX_BYTES (256 * MIB)

/* Rows in memory: head and flush have at most segment_db_options.max_head_bytes each. */
#define MAX_MEMORY_BYTES (4 * GIB)

/* Copied under inbox_lock at once; takes 0.1 to 0.3 ms. */
#define COPIED_BYTES MIB

/* Tries, each ended by a flush. In the next one a flush has to wait for the reader. */
#define MAX_TRIES 3

struct opened_day {
	struct sqlite_db *file; /* in a read transaction */
};

/* A segment in memory while it is copied. */
struct copied_segment {
	struct head_segment source; /* the builder may be freed: see find_builder() */
	struct segment_snapshot *snapshot;
};

VEC_DEFINE(copied_segments, struct copied_segment);

struct segment_db_reader {
	struct segment_db *db;
	struct segment_db_reading reading;
	uint64_t last_flush, generation;
	struct arena *arena; /* of the texts of infos */
	struct arena *rows;  /* of segments in memory; NULL: none */
	VEC_DEFINE(, struct opened_day) days;
	VEC_DEFINE(, struct stored_segment) stored;
	VEC_DEFINE(, struct memory_segment) memory;
	size_t n_damaged;
};

static void reader_clear(struct segment_db_reader *reader)
{
	for (size_t i = 0; i < reader->days.count; i++)
		(void)sqlite_db_free(reader->days.items[i].file);
	vec_clear(&reader->days);
	vec_clear(&reader->stored);
	vec_clear(&reader->memory);
	reader->n_damaged = 0;
	reader->rows = arena_free(reader->rows);
	if (reader->arena)
		arena_clear(reader->arena);
}

struct segment_db_reader *segment_db_reader_free(struct segment_db_reader *reader)
{
	if (!reader)
		return NULL;
	reader_clear(reader);
	vec_release(&reader->days);
	vec_release(&reader->stored);
	vec_release(&reader->memory);
	(void)arena_free(reader->arena);
	free(reader);
	return NULL;
}

static void copied_release(struct copied_segments *copied)
{
	for (size_t i = 0; i < copied->count; i++)
		(void)segment_snapshot_free(copied->items[i].snapshot);
	vec_release(copied);
}

static bool needs_rows(const struct segment_db_reading *reading, const struct head_segment *segment)
{
	const struct segment_db_query *query = &reading->query;

	if (!reading->spans_of_memory_rows)
		return true;
	return segment->first_slot < query->from_slot && segment->last_slot >= query->to_slot &&
	       !segment_builder_spans_decide(segment->builder, query->from_slot, query->to_slot);
}

static int begin_copy(const struct segment_db_reader *reader, struct copied_segments *copied,
		      const struct head_segment *source)
{
	struct copied_segment segment = { .source = *source };
	int r = segment_snapshot_begin(source->builder,
				       needs_rows(&reader->reading, source)
					       ? SEGMENT_SNAPSHOT_ALL
					       : SEGMENT_SNAPSHOT_SPANS,
				       &segment.snapshot);

	if (r == 0)
		r = vec_push(copied, segment);
	if (r < 0)
		(void)segment_snapshot_free(segment.snapshot);
	return r;
}

static bool is_selected(const struct segment_db_query *query, const struct head_segment *segment)
{
	return segment->first_slot < query->to_slot && segment->end_slot > query->from_slot &&
	       (!query->tenant ||
		segment_builder_has_text(segment->builder, HEAD_TENANT, query->tenant)) &&
	       (!query->service ||
		segment_builder_has_text(segment->builder, HEAD_SERVICE, query->service)) &&
	       (!query->event ||
		segment_builder_has_text(segment->builder, HEAD_EVENT, query->event));
}

/* The caller holds inbox_lock. */
static int begin_copies(struct segment_db_reader *reader, struct copied_segments *copied)
{
	const struct segment_db_query *query = &reader->reading.query;
	struct segment_db *db = reader->db;
	struct head_segment segment;
	size_t cursor = 0;
	int r = 0;

	while (r == 0 && head_next(db->head, &cursor, &segment))
		if (is_selected(query, &segment))
			r = begin_copy(reader, copied, &segment);
	for (size_t i = 0; db->flush && i < db->flush->taken.count && r == 0; i++)
		if (is_selected(query, &db->flush->taken.items[i]))
			r = begin_copy(reader, copied, &db->flush->taken.items[i]);
	return r;
}

/* The builder of a segment, in the head or in a flush. NULL: its rows were committed, or lost. */
static const struct segment_builder *find_builder(const struct segment_db_reader *reader,
						  const struct head_segment *source)
{
	const struct segment_db *db = reader->db;
	const struct segment_builder *builder;

	if (db->generation != reader->generation || db->state.last_flush != reader->last_flush)
		return NULL;
	builder = head_find(db->head, source->id);
	for (size_t i = 0; !builder && db->flush && i < db->flush->taken.count; i++)
		if (db->flush->taken.items[i].id == source->id)
			builder = db->flush->taken.items[i].builder;
	return builder;
}

/* 1 copied; 0: the segment is gone, so that the reader has to begin again. */
static int copy(struct segment_db_reader *reader, struct copied_segment *copied)
{
	int r;

	do {
		const struct segment_builder *builder;

		if (cancel_is_requested(reader->reading.query.cancel))
			return -ECANCELED;
		fair_lock_take(&reader->db->inbox_lock);
		builder = find_builder(reader, &copied->source);
		r = builder ? segment_snapshot_copy(copied->snapshot, builder, COPIED_BYTES) : 0;
		fair_lock_give(&reader->db->inbox_lock);
		if (!builder)
			return 0;
	} while (r > 0);
	return r < 0 ? r : 1;
}

static int finish_copy(struct segment_db_reader *reader, const struct copied_segment *copied)
{
	struct memory_segment memory = { .first_slot = copied->source.first_slot,
					 .end_slot = copied->source.end_slot };
	int r = 0;

	if (!reader->rows)
		r = arena_new_in(MAX_MEMORY_BYTES, reader->reading.memory, &reader->rows);
	if (r == 0)
		r = segment_snapshot_finish(copied->snapshot, reader->rows, &memory.segment);
	return r < 0 ? r : vec_push(&reader->memory, memory);
}

/* Fixes the state. The copies are made later, in small pieces. */
static int begin_memory(struct segment_db_reader *reader, struct copied_segments *copied)
{
	struct segment_db *db = reader->db;
	int r = 0;

	fair_lock_take(&db->inbox_lock);
	reader->last_flush = db->state.last_flush;
	reader->generation = db->generation;
	/* Accepted batches cannot be read from the inbox, for example on a full disk. */
	reader->n_damaged += db->head_is_incomplete;
	if (!reader->reading.without_memory_rows)
		r = begin_copies(reader, copied);
	fair_lock_give(&db->inbox_lock);
	return r;
}

/* 1; 0: begin again. */
static int copy_memory(struct segment_db_reader *reader, struct copied_segments *copied)
{
	for (size_t i = 0; i < copied->count; i++) {
		int r = copy(reader, &copied->items[i]);

		if (r <= 0)
			return r;
		r = finish_copy(reader, &copied->items[i]);
		copied->items[i].snapshot = segment_snapshot_free(copied->items[i].snapshot);
		if (r < 0)
			return r;
	}
	return 1;
}

static int add_found(struct segment_db_reader *reader, struct sqlite_db *file,
		     const struct segment_infos *infos)
{
	const char *event = reader->reading.query.event;

	for (size_t i = 0; i < infos->count; i++) {
		const struct stored_segment found = { .info = infos->items[i], .file = file };
		int r;

		if (event && strcmp(event, found.info.event) != 0)
			continue;
		r = vec_push(&reader->stored, found);
		if (r < 0)
			return r;
	}
	return 0;
}

static uint64_t hour_start(uint64_t slot)
{
	return slot - slot % SEGMENT_SLOTS_PER_HOUR;
}

static int find_in_day(struct segment_db_reader *reader, struct sqlite_db *file)
{
	const struct segment_db_query *query = &reader->reading.query;
	const struct day_file_query day_query = {
		.tenant = query->tenant,
		.service = query->service,
		.last_flush = reader->last_flush,
		.from_slot = hour_start(query->from_slot),
		.to_slot = query->to_slot > UINT64_MAX - SEGMENT_SLOTS_PER_HOUR
				   ? UINT64_MAX
				   : hour_start(query->to_slot + SEGMENT_SLOTS_PER_HOUR - 1),
	};
	scoped(segment_infos_release) struct segment_infos infos = {};
	int r = day_file_find(file, &day_query, reader->arena, &infos);

	return r < 0 ? r : add_found(reader, file, &infos);
}

static int find_stored(struct segment_db_reader *reader)
{
	int r = 0;

	for (size_t i = 0; i < reader->days.count && r == 0; i++) {
		if (cancel_is_requested(reader->reading.query.cancel))
			return -ECANCELED;
		r = find_in_day(reader, reader->days.items[i].file);
		if (r == -EUCLEAN) {
			reader->n_damaged++;
			r = 0;
		}
	}
	return r;
}

/* Begins a read transaction. SQLite does so with the first read, which is cheap. */
static int open_day(struct segment_db_reader *reader, segment_day day)
{
	scoped(sqlite_db_freep) struct sqlite_db *file = NULL;
	uint64_t flush;
	int r = day_file_open(reader->db->folder, day, DAY_FILE_READ, &file);

	if (r <= 0)
		return r;
	r = sqlite_db_run(file, "BEGIN");
	if (r == 0)
		r = day_file_max_flush(file, &flush);
	if (r == 0)
		r = vec_push(&reader->days, (struct opened_day){ .file = file });
	if (r == 0)
		(void)take_ptr(file);
	return r;
}

static int open_days(struct segment_db_reader *reader)
{
	const struct segment_db_query *query = &reader->reading.query;
	scoped(segment_days_release) struct segment_days days = {};
	const segment_day oldest = segment_db_first_day(reader->db);
	int r = day_files_list(reader->db->folder, &days);

	for (size_t i = 0; i < days.count && r == 0; i++) {
		uint64_t first = days.items[i] * (uint64_t)SEGMENT_SLOTS_PER_DAY;

		if (days.items[i] < oldest || first >= query->to_slot ||
		    first + SEGMENT_SLOTS_PER_DAY <= query->from_slot)
			continue;
		if (cancel_is_requested(query->cancel))
			return -ECANCELED;
		r = open_day(reader, days.items[i]);
		if (r == -EUCLEAN) {
			reader->n_damaged++;
			r = 0;
		}
	}
	return r;
}

static int compare_stored(const void *a, const void *b)
{
	return segment_info_order(&((const struct stored_segment *)a)->info,
				  &((const struct stored_segment *)b)->info);
}

/* Sets in_rollup and is_complete of the hour [first, end). Roll-ups are before samples. */
static void match_rollups(struct stored_segment *stored, size_t first, size_t end)
{
	const bool samples_removed = stored[first].info.samples_removed;
	const uint64_t flush = stored[first].info.flush;
	bool is_complete = stored[first].info.kind == SEGMENT_ROLLUP;

	for (size_t i = first; i < end && is_complete && !samples_removed; i++)
		is_complete = stored[i].info.flush <= flush;
	for (size_t i = first; i < end; i++) {
		bool is_rollup = stored[i].info.kind == SEGMENT_ROLLUP;

		stored[i].is_complete = is_rollup && is_complete;
		/* Samples beside such a roll-up arrived later. */
		stored[i].in_rollup = !is_rollup && is_complete && !samples_removed;
	}
}

static void sort_stored(struct segment_db_reader *reader)
{
	struct stored_segment *stored = reader->stored.items;
	const size_t count = reader->stored.count;
	size_t end;

	if (count > 0)
		qsort(stored, count, sizeof(*stored), compare_stored);
	for (size_t first = 0; first < count; first = end) {
		for (end = first + 1; end < count; end++)
			if (!segment_info_same_hour(&stored[first].info, &stored[end].info))
				break;
		match_rollups(stored, first, end);
	}
}

static bool is_current(struct segment_db_reader *reader)
{
	struct segment_db *db = reader->db;
	bool current;

	fair_lock_take(&db->inbox_lock);
	current = db->state.last_flush == reader->last_flush;
	fair_lock_give(&db->inbox_lock);
	return current;
}

/* 1; 0: begin again. */
static int read_state(struct segment_db_reader *reader)
{
	scoped(copied_release) struct copied_segments copied = {};
	int r;

	reader_clear(reader);
	r = begin_memory(reader, &copied);
	if (r == 0)
		r = open_days(reader);
	if (r == 0)
		r = is_current(reader);
	return r <= 0 ? r : copy_memory(reader, &copied);
}

/* Only holders of files_lock flush. */
static int read_state_alone(struct segment_db_reader *reader)
{
	int r;

	fair_lock_take(&reader->db->files_lock);
	r = read_state(reader);
	fair_lock_give(&reader->db->files_lock);
	assert(r != 0);
	return r;
}

int segment_db_read(struct segment_db *db, const struct segment_db_reading *reading,
		    struct segment_db_reader **ret_reader)
{
	scoped(segment_db_reader_freep) struct segment_db_reader *reader =
		calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return -ENOMEM;
	reader->db = db;
	reader->reading = *reading;
	r = arena_new_in(MAX_INDEX_BYTES, reading->memory, &reader->arena);
	if (r < 0)
		return r;
	for (int i = 0; i < MAX_TRIES && r == 0; i++)
		r = read_state(reader);
	if (r == 0)
		r = read_state_alone(reader);
	if (r > 0)
		r = find_stored(reader);
	if (r < 0)
		return r;
	sort_stored(reader);
	*ret_reader = take_ptr(reader);
	return 0;
}

size_t segment_db_reader_stored(const struct segment_db_reader *reader,
				const struct stored_segment **ret_segments)
{
	*ret_segments = reader->stored.items;
	return reader->stored.count;
}

size_t segment_db_reader_memory(const struct segment_db_reader *reader,
				const struct memory_segment **ret_segments)
{
	*ret_segments = reader->memory.items;
	return reader->memory.count;
}

size_t segment_db_reader_damaged(const struct segment_db_reader *reader)
{
	return reader->n_damaged;
}

int segment_db_reader_content(const struct stored_segment *segment, struct bytes *out)
{
	return day_file_content(segment->file, segment->info.id, out);
}
