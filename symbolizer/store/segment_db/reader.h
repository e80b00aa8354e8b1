/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads one state of all rows: the segments of the committed flushes, and the rows in memory that
 * are in none of them. A row is in exactly one of the two.
 *
 * A reader has a read transaction on each day file that it uses, so its segments stay readable
 * after a compaction or a removal of the day. Until it is freed, the WAL of these files grows with
 * each change. It is used by one thread at a time, and freed before its segment_db.
 */

#include "common/memory_budget.h"
#include "symbolizer/store/segment_db/segment_db.h"

struct segment_db_reader;

/* A segment in a day file. */
struct stored_segment {
	struct segment_info info;
	struct sqlite_db *file; /* internal */
	/* Samples: a roll-up of the same hour has these rows too. */
	bool in_rollup;
	/*
	 * Roll-up: it has all samples of its hour that are in day files at this moment, or (if
	 * info.samples_removed) samples that are no longer there.
	 */
	bool is_complete;
};

/* Rows in memory, as a segment with all tables, or with those of SEGMENT_SNAPSHOT_SPANS. */
struct memory_segment {
	uint64_t first_slot, end_slot; /* all rows are in [first_slot, end_slot) */
	struct segment segment;
};

struct segment_db_reading {
	struct segment_db_query query; /* prefer_rollups and index_only are not used */
	struct memory_budget *memory;  /* of rows in memory, and the index; NULL: no limit */
	bool without_memory_rows;
	/*
	 * For lists of services: of the rows in memory only the times of each series, if these
	 * decide which series have rows in the range of the query.
	 */
	bool spans_of_memory_rows;
};

/*
 * Finds the segments of a query. -ECANCELED; -ENOMEM: also if the budget is exhausted; other
 * negative errno: a file cannot be read.
 */
int segment_db_read(struct segment_db *db, const struct segment_db_reading *reading,
		    struct segment_db_reader **ret_reader);
struct segment_db_reader *segment_db_reader_free(struct segment_db_reader *reader);

/*
 * The segments in order of segment_info_order(); valid as long as the reader. All segments of the
 * hours that the query overlaps are among them.
 */
size_t segment_db_reader_stored(const struct segment_db_reader *reader,
				const struct stored_segment **ret_segments);
size_t segment_db_reader_memory(const struct segment_db_reader *reader,
				const struct memory_segment **ret_segments);

/* Day files that could not be read. */
size_t segment_db_reader_damaged(const struct segment_db_reader *reader);

/* Appends the bytes of a segment of the reader to @out. -EUCLEAN: they are damaged. */
int segment_db_reader_content(const struct stored_segment *segment, struct bytes *out);

DEFINE_SCOPED(struct segment_db_reader *, segment_db_reader_free);
