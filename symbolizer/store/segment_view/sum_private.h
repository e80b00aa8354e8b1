/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The state of one segment_view_sum(), and the sums of one part. */

#include "symbolizer/store/segment_view/segment_view_private.h"
#include "symbolizer/store/sum_table.h"

struct slot_range {
	uint64_t from_slot, to_slot; /* [from_slot, to_slot) */
};

VEC_DEFINE(slot_ranges, struct slot_range);

/* A sum within a part. */
struct part_sum {
	uint32_t group;
	uint32_t stack; /* as in ROW_STACK */
	uint64_t value, last_slot;
};

VEC_DEFINE(part_sums, struct part_sum);

struct summing {
	struct segment_view *view;
	const struct store_sum_query *query;
	/* [series of the view + 1] index in query->series + 1; 0: not selected */
	uint32_t *by_series;
	size_t n_series; /* of the view; later ones are not selected */
	struct slot_range range;
	struct sum_table table;
	struct part_sums sums; /* of the part at hand */
	uint64_t n_rows, marked_value;
};

static inline const struct store_sum_series *selected_series(const struct summing *summing,
							     uint32_t id)
{
	uint32_t index = id <= summing->n_series ? summing->by_series[id] : 0;

	return index ? &summing->query->series[index - 1] : NULL;
}

/* Adds the rows of the selected series of a part of samples in the ranges. 0 or negative errno. */
int sum_samples(struct summing *summing, struct view_part *part, const struct slot_ranges *ranges);

/*
 * Adds a roll-up. @by_stack: the sums of stacks, for the group of all its series; else the sums of
 * the selected series, whose stacks are not known. 1; 0: the part is damaged and adds nothing;
 * negative errno.
 */
int sum_rollup(struct summing *summing, struct view_part *part, bool by_stack);
