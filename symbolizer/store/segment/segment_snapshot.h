/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A copy of what a builder has at one moment, made in pieces, so that the thread that adds rows
 * never waits for the whole copy.
 *
 *   lock; segment_snapshot_begin(builder); unlock
 *   do: lock; r = segment_snapshot_copy(builder, 1 MiB); unlock; while r > 0
 *   segment_snapshot_finish()
 *
 * Between the pieces, rows may be added to the builder: a builder appends only, so the rows of that
 * moment stay as they are, and refer only to rows of that moment. The builder must not be finished
 * or freed before the last piece.
 */

#include "symbolizer/store/segment/segment_builder.h"

struct segment_snapshot;

enum segment_snapshot_content {
	SEGMENT_SNAPSHOT_ALL,
	/*
	 * For lists of services: HEAD, HOST, PROCESS, SERIES, and TOTAL with the times of the rows
	 * of each series. Most of a head is in the other tables.
	 */
	SEGMENT_SNAPSHOT_SPANS,
};

/* Decides which rows the copy has. Copies the times of series at most. 0 or -ENOMEM. */
int segment_snapshot_begin(const struct segment_builder *builder,
			   enum segment_snapshot_content content,
			   struct segment_snapshot **ret_snapshot);
struct segment_snapshot *segment_snapshot_free(struct segment_snapshot *snapshot);

/*
 * Copies at most about @max_bytes more. 1: there is more to copy; 0: the copy is complete; -ENOMEM.
 * A MiB takes 0.1 to 0.3 ms.
 */
int segment_snapshot_copy(struct segment_snapshot *snapshot, const struct segment_builder *builder,
			  size_t max_bytes);

/* Bytes of the copy. */
size_t segment_snapshot_bytes(const struct segment_snapshot *snapshot);

/*
 * Makes a segment of the complete copy, in @arena. It has the rows in order of series and time, but
 * other tables are not sorted: it can be read, but not encoded. Tables that were not copied have no
 * columns and no rows; columns of the others may refer to them. 0 or -ENOMEM (also if @arena is
 * full).
 */
int segment_snapshot_finish(const struct segment_snapshot *snapshot, struct arena *arena,
			    struct segment *ret_segment);

DEFINE_SCOPED(struct segment_snapshot *, segment_snapshot_free);
