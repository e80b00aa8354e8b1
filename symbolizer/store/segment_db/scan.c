/* SPDX-License-Identifier: Apache-2.0 */
/* Visits the segments of a reader, hour by hour. */

#include "symbolizer/store/segment_db/reader.h"

struct scan {
	const struct segment_db_query *query;
	const struct stored_segment *found;
	size_t n_found, n_damaged;
};

static int visit(struct scan *scan, const struct stored_segment *found, struct bytes *content,
		 segment_db_function function, void *arg)
{
	const struct segment_db_query *query = scan->query;
	int r = 0;

	if (cancel_is_requested(query->cancel))
		return -ECANCELED;
	/* The reader has all segments of an hour. */
	if (found->info.kind == SEGMENT_SAMPLES &&
	    (found->info.last_slot < query->from_slot || found->info.first_slot >= query->to_slot))
		return 0;
	bytes_clear(content);
	if (!query->index_only)
		r = segment_db_reader_content(found, content);
	if (r == -EUCLEAN) {
		scan->n_damaged++;
		return 0;
	}
	return r < 0 ? r : function(arg, &found->info, bytes_view_of(content));
}

/*
 * Whether the roll-ups at @first can stand for the samples of the hour. Roll-ups are before
 * samples.
 */
static bool can_use_rollups(const struct scan *scan, const struct stored_segment *first)
{
	uint64_t start = segment_info_hour(&first->info) * SEGMENT_SLOTS_PER_HOUR;

	return scan->query->prefer_rollups && first->is_complete &&
	       start >= scan->query->from_slot &&
	       start + SEGMENT_SLOTS_PER_HOUR <= scan->query->to_slot;
}

/* Visits the hour that begins at @first. Returns the index after it, or negative errno. */
static ssize_t visit_hour(struct scan *scan, size_t first, struct bytes *content,
			  segment_db_function function, void *arg)
{
	const struct stored_segment *found = scan->found;
	const enum segment_kind kind =
		can_use_rollups(scan, &found[first]) ? SEGMENT_ROLLUP : SEGMENT_SAMPLES;
	size_t end = first;

	while (end < scan->n_found && segment_info_same_hour(&found[first].info, &found[end].info))
		end++;
	for (size_t i = first; i < end; i++) {
		int r = found[i].info.kind == kind ? visit(scan, &found[i], content, function, arg)
						   : 0;

		if (r < 0)
			return r;
	}
	return (ssize_t)end;
}

int segment_db_scan(struct segment_db *db, const struct segment_db_query *query,
		    segment_db_function function, void *arg, size_t *ret_damaged)
{
	const struct segment_db_reading reading = { .query = *query, .without_memory_rows = true };
	scoped(bytes_release) struct bytes content = BYTES_INIT(SEGMENT_DB_MAX_SEGMENT_BYTES);
	scoped(segment_db_reader_freep) struct segment_db_reader *reader = NULL;
	struct scan scan = { .query = query };
	ssize_t next = 0;
	int r = segment_db_read(db, &reading, &reader);

	if (r < 0)
		return r;
	scan.n_found = segment_db_reader_stored(reader, &scan.found);
	while (next >= 0 && (size_t)next < scan.n_found)
		next = visit_hour(&scan, (size_t)next, &content, function, arg);
	if (next < 0)
		return (int)next;
	*ret_damaged = segment_db_reader_damaged(reader) + scan.n_damaged;
	return 0;
}
