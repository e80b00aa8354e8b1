/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sums of the rows of a segment per group of series and stack. A query needs these tables:
 * SEGMENT_SET(SEGMENT_SERIES) | SEGMENT_SET(SEGMENT_ROW).
 */

#include "common/vec.h"
#include "symbolizer/store/segment/segment.h"

/* The series is not selected. */
#define SEGMENT_NO_GROUP UINT32_MAX

struct segment_sum {
	uint32_t group;
	uint32_t stack; /* 0 none, else row of STACK + 1 */
	uint64_t value; /* in the unit of the event type: counts are multiplied by the period */
};

VEC_DEFINE(segment_sums, struct segment_sum);

/*
 * Appends the sums of the rows with from_slot <= slot < to_slot. @groups has the group of each
 * series, less than @n_groups, or SEGMENT_NO_GROUP. A group's sums are in order of the stacks, and
 * those of 0 are omitted. Rows without a series (roll-ups) are in group 0 if @groups is NULL, and
 * not selected otherwise. Returns 0, -ENOMEM, -EOVERFLOW.
 */
int segment_sum_rows(const struct segment *segment, const uint32_t *groups, uint32_t n_groups,
		     const uint64_t range[2], struct segment_sums *sums);
