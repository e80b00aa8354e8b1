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

/* Most segments of a head. One takes 8 KiB before it has many rows, so these take 64 MiB. */
#define HEAD_MAX_SEGMENTS 8192

struct head_options {
	uint64_t slots_per_segment;
	size_t max_bytes;         /* of the rows and definitions of all segments */
	size_t max_numbers_bytes; /* of the definitions of one agent */
	size_t max_agents; /* epochs with definitions; the one used least recently is dropped */
	/* Of all definitions together, after head_trim_numbers(). 0: no limit. */
	size_t max_all_numbers_bytes;
	uint64_t seed; /* of the choice of those that are dropped */
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
 * -EFBIG: the batch has too many rows, or rows of too many segments; -ENOMEM.
 *
 * head_add_rows() adds the rows of a batch that head_learn() has accepted, while the definitions of
 * its epoch are in memory: those of the max_agents epochs that learned last are. 0; -ENOMEM: a part
 * of the rows may have been added.
 */
int head_learn(struct head *head, const char *tenant, const struct batch *batch,
	       struct arena *arena, struct store_missing *ret_missing);
int head_add_rows(struct head *head, const char *tenant, const struct batch *batch);

/* Whether head_add() would return -ENOSPC. */
bool head_is_full(const struct head *head);

/*
 * Whether a further batch might not fit into a table of a segment, or make too many segments. Such
 * a head is full.
 */
bool head_has_full_table(const struct head *head);

/* Whether half of a limit is reached at which the head is full. */
bool head_is_half_full(const struct head *head);

/* Whether definitions of the epoch of @batch are in memory. */
bool head_knows(const struct head *head, const char *tenant, const struct batch *batch);

/* The definitions of the epoch of @batch, valid until the head is changed. NULL: none in memory. */
const struct numbers *head_numbers(const struct head *head, const char *tenant,
				   const struct batch *batch);

/* Replaces the definitions of the epoch of @batch by @numbers, which it takes also on failure. */
int head_set_numbers_take(struct head *head, const char *tenant, const struct batch *batch,
			  struct numbers *numbers);

/* Drops the definitions of the epoch of @batch. Rows of earlier batches are not changed. */
void head_forget(struct head *head, const char *tenant, const struct batch *batch);

/*
 * Drops definitions of epochs that have ended, because a batch of a newer epoch of the agent was
 * added, and random ones while all together exceed max_all_numbers_bytes (agents.h). Do not call it
 * between head_learn() and head_add_rows().
 */
void head_trim_numbers(struct head *head);

/* Memory of all definitions, which is not part of head_bytes(). */
size_t head_numbers_bytes(const struct head *head);

/* A segment in memory, of which a reader can make a snapshot (segment_snapshot.h). */
struct head_segment {
	uint64_t id; /* no two segments of a head have the same */
	uint64_t first_slot, end_slot;
	uint64_t last_slot;              /* of the rows so far */
	bool without_stacks;             /* all processes so far are */
	struct segment_builder *builder; /* readers do not change it; valid until it is freed */
};

/*
 * Takes a segment that has no slot from @before_slot on. The caller finishes it, and frees its
 * builder. Rows of later batches in the same range make another segment. Returns 1, or 0 if there
 * is none.
 */
int head_take(struct head *head, uint64_t before_slot, struct head_segment *ret_segment);

/* Memory of all segments; 0 without a segment. */
size_t head_bytes(const struct head *head);

/*
 * Visits the segments. Returns false after the last. *cursor is 0 at first, and the head is not
 * changed between the calls.
 *
 * A reader begins the snapshots of all segments that it needs under one lock, so that they are of
 * one moment. It copies the pieces later, each under the lock, and gets the builder by
 * head_find() each time.
 */
bool head_next(const struct head *head, size_t *cursor, struct head_segment *ret_segment);

/* NULL: the segment was taken. */
const struct segment_builder *head_find(const struct head *head, uint64_t id);

DEFINE_SCOPED(struct head *, head_free);
