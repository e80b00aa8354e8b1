/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Collects definitions and rows, and makes a segment of them: from batches, from other segments
 * (merge), or from the sums of other segments (roll-up).
 *
 * Equal definitions get one row. Indexes that the functions return are those of
 * the builder; segment_builder_finish() sorts the tables. One thread at a time. A caller bounds the
 * memory by segment_builder_bytes().
 */

#include "symbolizer/store/segment/segment.h"

struct segment_builder;

/* Returns 0 or -ENOMEM. */
int segment_builder_new(struct segment_builder **ret_builder);
struct segment_builder *segment_builder_free(struct segment_builder *builder);

/* Row of the table TEXT. Returns 0, -ENOSPC (SEGMENT_MAX_TEXT_BYTES), -ENOMEM. */
int segment_builder_text(struct segment_builder *builder, const void *text, size_t size,
			 uint64_t *ret_row);

/*
 * Finds or adds a row of any table but TEXT. @values has one value for each column of the table, in
 * the order of segment_tables.def; references are rows that this builder has returned. Rows of ROW
 * and TOTAL are always added. Returns 0, -ENOSPC (SEGMENT_MAX_ROWS), -ENOMEM. @ret_row may be NULL.
 */
int segment_builder_add(struct segment_builder *builder, enum segment_table table,
			const uint64_t *values, uint64_t *ret_row);

/* Adds all of a segment, decoded completely, with an equal HEAD. -EINVAL: HEAD differs. */
int segment_builder_add_segment(struct segment_builder *builder, const struct segment *segment);

/*
 * Adds the sums of a segment, decoded completely: for each stack and range of @slots_per_row slots
 * the sum over all series, in the unit of the event type (counts multiplied by the period), and for
 * each series its sum. The builder then holds a roll-up. -EINVAL: the segment is a roll-up, values
 * of its event type are not summed (EVENT_VALUE_STATE), or HEAD differs from that of earlier
 * segments. -EOVERFLOW: a sum exceeds 64 bits.
 */
int segment_builder_add_rollup(struct segment_builder *builder, const struct segment *segment,
			       uint64_t slots_per_row);

/* Whether the text to which a column of HEAD refers is @text. */
bool segment_builder_has_text(const struct segment_builder *builder, enum segment_column column,
			      const char *text);

/* The text to which a column of HEAD refers. */
const char *segment_builder_head_text(const struct segment_builder *builder,
				      enum segment_column column);

/* The value of a column of HEAD that is a number. */
uint64_t segment_builder_head_number(const struct segment_builder *builder,
				     enum segment_column column);

/*
 * Whether the first and the last slot of each series decide if it has rows in [from_slot, to_slot).
 * They do not if it has rows before and after the range.
 */
bool segment_builder_spans_decide(const struct segment_builder *builder, uint64_t from_slot,
				  uint64_t to_slot);

size_t segment_builder_count(const struct segment_builder *builder, enum segment_table table);
size_t segment_builder_bytes(const struct segment_builder *builder);

/* Bytes of all texts, which SEGMENT_MAX_TEXT_BYTES limits. */
size_t segment_builder_text_bytes(const struct segment_builder *builder);

/*
 * Makes the segment in @arena: sorts definitions, the prefix tree, and rows by (series, slot,
 * stack). In a roll-up it adds up rows of the same stack and slot, and totals of the same series.
 * Does not change the builder. Returns 0, -ENOMEM (also if @arena is full), -EINVAL:
 * HEAD does not have one row, -EOVERFLOW as above.
 */
int segment_builder_finish(const struct segment_builder *builder, struct arena *arena,
			   struct segment *ret_segment);

/*
 * Makes the table TOTAL of a segment of samples, of its rows in order of series and time. 0 or
 * -ENOMEM.
 */
int segment_make_ranges(struct segment *segment, struct arena *arena);

#include "common/scoped.h"
DEFINE_SCOPED(struct segment_builder *, segment_builder_free);
