/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scan has its own connections. It starts a read transaction on each day file, and then checks
 * that no flush was committed meanwhile: compactions merge segments of committed flushes only, so
 * the number of the last flush, read before, selects complete flushes in all of these transactions.
 */

#include <string.h>

#include "common/arena.h"
#include "common/log.h"
#include "symbolizer/store/segment_db/segment_db_private.h"

/* Index entries of one scan: 200 bytes for each of a million segments. */
#define MAX_INDEX_BYTES (256 * MIB)

struct scanned_day {
	segment_day day;
	struct sqlite_db *file; /* in a read transaction */
};

/* A segment that the scan has found. */
struct found_segment {
	struct segment_info info;
	struct sqlite_db *file;
};

struct scan {
	struct segment_db *db;
	const struct segment_db_query *query;
	uint64_t last_flush;
	struct arena *arena; /* of the texts of infos */
	VEC_DEFINE(, struct scanned_day) days;
	VEC_DEFINE(, struct found_segment) found;
	size_t n_damaged;
};

static void scan_clear(struct scan *scan)
{
	for (size_t i = 0; i < scan->days.count; i++)
		(void)sqlite_db_free(scan->days.items[i].file);
	vec_clear(&scan->days);
	vec_clear(&scan->found);
	scan->n_damaged = 0;
	if (scan->arena)
		arena_clear(scan->arena);
}

static void scan_release(struct scan *scan)
{
	scan_clear(scan);
	vec_release(&scan->days);
	vec_release(&scan->found);
	scan->arena = arena_free(scan->arena);
}

static uint64_t last_flush(struct segment_db *db)
{
	uint64_t flush;

	(void)pthread_mutex_lock(&db->inbox_lock);
	flush = db->state.last_flush;
	(void)pthread_mutex_unlock(&db->inbox_lock);
	return flush;
}

static bool is_selected(const struct segment_db_query *query, const struct segment_info *info)
{
	if (info->kind == SEGMENT_ROLLUP && !query->prefer_rollups)
		return false;
	return !query->event || strcmp(query->event, info->event) == 0;
}

static int add_found(struct scan *scan, struct sqlite_db *file, const struct segment_infos *infos)
{
	for (size_t i = 0; i < infos->count; i++) {
		const struct found_segment found = { .info = infos->items[i], .file = file };
		int r;

		if (!is_selected(scan->query, &found.info))
			continue;
		r = vec_push(&scan->found, found);
		if (r < 0)
			return r;
	}
	return 0;
}

static int find_in_day(struct scan *scan, segment_day day)
{
	const struct segment_db_query *query = scan->query;
	/* A roll-up has the first slot of its hour. */
	const struct day_file_query day_query = {
		.tenant = query->tenant,
		.service = query->service,
		.last_flush = scan->last_flush,
		.from_slot = query->from_slot - query->from_slot % SEGMENT_SLOTS_PER_HOUR,
		.to_slot = query->to_slot,
	};
	scoped(segment_infos_release) struct segment_infos infos = {};
	struct scanned_day scanned = { .day = day };
	int r = day_file_open(scan->db->folder, day, DAY_FILE_READ, &scanned.file);

	if (r <= 0)
		return r;
	r = vec_push(&scan->days, scanned);
	if (r < 0) {
		(void)sqlite_db_free(scanned.file);
		return r;
	}
	r = sqlite_db_run(scanned.file, "BEGIN");
	if (r == 0)
		r = day_file_find(scanned.file, &day_query, scan->arena, &infos);
	return r < 0 ? r : add_found(scan, scanned.file, &infos);
}

static int find_all(struct scan *scan)
{
	const struct segment_db_query *query = scan->query;
	scoped(segment_days_release) struct segment_days days = {};
	const segment_day oldest = segment_db_oldest_day(scan->db);
	int r = day_files_list(scan->db->folder, &days);

	for (size_t i = 0; i < days.count && r == 0; i++) {
		uint64_t first = days.items[i] * (uint64_t)SEGMENT_SLOTS_PER_DAY;

		if (days.items[i] < oldest || first >= query->to_slot ||
		    first + SEGMENT_SLOTS_PER_DAY <= query->from_slot)
			continue;
		if (cancel_is_requested(query->cancel))
			return -ECANCELED;
		r = find_in_day(scan, days.items[i]);
		if (r == -EUCLEAN) {
			scan->n_damaged++;
			r = 0;
		}
	}
	return r;
}

static int begin(struct scan *scan)
{
	int r;

	do {
		scan_clear(scan);
		scan->last_flush = last_flush(scan->db);
		r = find_all(scan);
	} while (r == 0 && last_flush(scan->db) != scan->last_flush);
	return r;
}

static int compare_found(const void *a, const void *b)
{
	return segment_info_order(&((const struct found_segment *)a)->info,
				  &((const struct found_segment *)b)->info);
}

static int visit(struct scan *scan, const struct found_segment *found, struct bytes *content,
		 segment_db_function function, void *arg)
{
	const struct segment_db_query *query = scan->query;
	int r = 0;

	if (cancel_is_requested(query->cancel))
		return -ECANCELED;
	/* Samples may end before the range: from_slot was rounded down for roll-ups. */
	if (found->info.kind == SEGMENT_SAMPLES && found->info.last_slot < query->from_slot)
		return 0;
	bytes_clear(content);
	if (!query->index_only)
		r = day_file_content(found->file, found->info.id, content);
	if (r == -EUCLEAN) {
		scan->n_damaged++;
		return 0;
	}
	return r < 0 ? r : function(arg, &found->info, bytes_view_of(content));
}

/* Whether the roll-ups [first, samples) can stand for the samples [samples, end) of the hour. */
static bool can_use_rollups(const struct scan *scan, size_t first, size_t samples, size_t end)
{
	const struct found_segment *found = scan->found.items;
	uint64_t start = segment_info_hour(&found[first].info) * SEGMENT_SLOTS_PER_HOUR;

	if (first == samples || start < scan->query->from_slot ||
	    start + SEGMENT_SLOTS_PER_HOUR > scan->query->to_slot)
		return false;
	for (size_t i = samples; i < end; i++)
		if (found[i].info.flush > found[first].info.flush)
			return false;
	return true;
}

/* Visits the hour that begins at @first. Returns the index after it, or negative errno. */
static ssize_t visit_hour(struct scan *scan, size_t first, struct bytes *content,
			  segment_db_function function, void *arg)
{
	const struct found_segment *found = scan->found.items;
	size_t samples = first, end = first;
	bool use_rollups;

	while (end < scan->found.count &&
	       segment_info_same_hour(&found[first].info, &found[end].info)) {
		samples += found[end].info.kind == SEGMENT_ROLLUP;
		end++;
	}
	use_rollups = can_use_rollups(scan, first, samples, end);
	for (size_t i = use_rollups ? first : samples; i < (use_rollups ? samples : end); i++) {
		int r = visit(scan, &found[i], content, function, arg);

		if (r < 0)
			return r;
	}
	return (ssize_t)end;
}

int segment_db_scan(struct segment_db *db, const struct segment_db_query *query,
		    segment_db_function function, void *arg, size_t *ret_damaged)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(SEGMENT_MAX_BYTES);
	scoped(scan_release) struct scan scan = { .db = db, .query = query };
	ssize_t next = 0;
	int r = arena_new(MAX_INDEX_BYTES, &scan.arena);

	if (r == 0)
		r = begin(&scan);
	if (r < 0)
		return r;
	if (scan.found.count > 0)
		qsort(scan.found.items, scan.found.count, sizeof(*scan.found.items), compare_found);
	while (next >= 0 && (size_t)next < scan.found.count)
		next = visit_hour(&scan, (size_t)next, &content, function, arg);
	if (next < 0)
		return (int)next;
	*ret_damaged = scan.n_damaged;
	return 0;
}
