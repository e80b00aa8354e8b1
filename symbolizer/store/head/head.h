/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The head: the rows of accepted batches, in memory, until they are written as segments.
 *
 * A batch's rows are added to one segment builder for each tenant, service, event type and range of
 * time. Definitions are looked up by the numbers of the batch's agent (numbers.h), once for each
 * segment that uses them: a further row costs two look-ups. Not thread-safe.
 */

#include "symbolizer/store/head/numbers.h"
#include "symbolizer/store/segment/segment_builder.h"
#include "symbolizer/store/store.h"

struct head;

struct head_options {
	uint64_t slots_per_segment;
	size_t max_bytes;         /* of the rows and definitions of all segments */
	size_t max_numbers_bytes; /* of the definitions of one agent */
	size_t max_agents; /* epochs with definitions; the one used least recently is dropped */
};

/* Returns 0 or -ENOMEM. */
int head_new(const struct head_options *options, struct head **ret_head);
struct head *head_free(struct head *head);

/*
 * Adds the rows of @batch. STORE_STORED; STORE_NEEDS_NUMBERS: no row was added, and ret_missing, in
 * @arena, has the numbers; -ENOSPC: no row was added, because the head is full: take its segments;
 * -ENOMEM: a part of the rows may have been added. If the definitions of the epoch are full, they
 * are dropped, and the agent is asked again for those that its next batches use.
 */
int head_add(struct head *head, const char *tenant, const struct batch *batch, struct arena *arena,
	     struct store_missing *ret_missing);

/*
 * head_add() in two steps, for a caller that makes the batch durable in between.
 *
 * head_learn() adds the definitions and checks the numbers of all rows, but adds no row.
 * STORE_STORED; STORE_NEEDS_NUMBERS as above; -ENOSPC: the definitions of the epoch are full;
 * -ENOMEM. head_add_rows() adds the rows of a batch that head_learn() has accepted, while the
 * definitions of its epoch are in memory: those of the max_agents epochs that learned last are. 0;
 * -ENOMEM: a part of the rows may have been added.
 */
int head_learn(struct head *head, const char *tenant, const struct batch *batch,
	       struct arena *arena, struct store_missing *ret_missing);
int head_add_rows(struct head *head, const char *tenant, const struct batch *batch);

/* Whether head_add() would return -ENOSPC. */
bool head_is_full(const struct head *head);

/* Whether definitions of the epoch of @batch are in memory. */
bool head_knows(const struct head *head, const char *tenant, const struct batch *batch);

/* Replaces the definitions of the epoch of @batch by @numbers, which it takes also on failure. */
int head_set_numbers_take(struct head *head, const char *tenant, const struct batch *batch,
			  struct numbers *numbers);

/* Drops the definitions of the epoch of @batch. Rows of earlier batches are not changed. */
void head_forget(struct head *head, const char *tenant, const struct batch *batch);

/*
 * Takes a segment that has no slot from @before_slot on. The caller finishes and frees it. Rows of
 * later batches in the same range make another segment. Returns 1, or 0 if there is none.
 */
int head_take(struct head *head, uint64_t before_slot, struct segment_builder **ret_builder);

size_t head_bytes(const struct head *head);

/* A segment in memory, of which a reader can make a snapshot (segment_snapshot.h). */
struct head_segment {
	uint64_t id; /* no two segments of a head have the same */
	uint64_t first_slot, end_slot;
	const struct segment_builder *builder; /* valid until the head is changed */
};

/*
 * Lists the segments of a tenant that have slots in [from_slot, to_slot). @service NULL: of all
 * services. ret_segments[*ret_count] is in @arena. 0 or -ENOMEM.
 *
 * A reader begins the snapshots of all segments that it needs under one lock, so that they are of
 * one moment. It copies the pieces later, each under the lock, and gets the builder by
 * head_find() each time.
 */
int head_list(const struct head *head, const char *tenant, const char *service,
	      const uint64_t range[2], struct arena *arena, struct head_segment **ret_segments,
	      size_t *ret_count);

/* NULL: the segment was taken, so that the reader has to begin again. */
const struct segment_builder *head_find(const struct head *head, uint64_t id);

DEFINE_SCOPED(struct head *, head_free);
