/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roll-ups are summed first. Samples that a roll-up includes are left out in its range after that,
 * so that a damaged roll-up is replaced by its samples.
 */

#include "symbolizer/store/segment_view/sum_private.h"

#include <stdlib.h>

#include "common/scoped.h"

/* How a roll-up is used. */
enum rollup_use {
	ROLLUP_UNUSED,
	ROLLUP_BY_STACK,
	ROLLUP_BY_SERIES,
};

struct plan {
	struct summing summing;
	bool *is_used; /* [parts] a roll-up that was summed */
	struct slot_ranges ranges;
};

static void plan_release(struct plan *plan)
{
	free(plan->summing.by_series);
	free(plan->is_used);
	sum_table_release(&plan->summing.table);
	vec_release(&plan->summing.sums);
	vec_release(&plan->ranges);
}

static int plan_init(struct plan *plan, struct segment_view *view,
		     const struct store_sum_query *query)
{
	struct summing *summing = &plan->summing;

	*summing = (struct summing){
		.view = view,
		.query = query,
		.by_series = calloc(view->series.count + 1, sizeof(*summing->by_series)),
		.n_series = view->series.count,
		.range = { query->from_slot, query->to_slot },
	};
	plan->is_used = calloc(view->parts.count + 1, sizeof(*plan->is_used));
	if (!summing->by_series || !plan->is_used)
		return -ENOMEM;
	for (size_t i = 0; i < query->n_series; i++) {
		assert(query->series[i].id > 0 && query->series[i].id <= view->series.count);
		summing->by_series[query->series[i].id] = (uint32_t)i + 1;
	}
	return sum_table_init(&summing->table, query, view->options.store.memory);
}

/* Widens the range to @source if the two overlap, and it sticks out. Returns whether it did. */
static bool widen(struct slot_range *range, const struct segment_part *source)
{
	if (!source->samples_removed || source->first_slot >= range->to_slot ||
	    source->end_slot <= range->from_slot ||
	    (source->first_slot >= range->from_slot && source->end_slot <= range->to_slot))
		return false;
	range->from_slot = MIN(range->from_slot, source->first_slot);
	range->to_slot = MAX(range->to_slot, source->end_slot);
	return true;
}

/*
 * Reads the series of parts in the range, and in ranges to which it may be widened, if
 * segment_view_find_series() was asked for their service: no other series have an ID.
 */
static int read_parts(struct segment_view *view, const struct store_sum_query *query)
{
	struct slot_range range = { query->from_slot, query->to_slot };
	bool changed = true;
	int r = 0;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < view->parts.count; i++)
			changed |= widen(&range, &view->parts.items[i].source);
	}
	for (size_t i = 0; i < view->parts.count && r >= 0; i++) {
		struct view_part *part = &view->parts.items[i];

		if (!view_part_overlaps(part, range.from_slot, range.to_slot))
			continue;
		r = view_read_head(view, part);
		if (r <= 0 || !view->heads.items[part->head - 1].is_asked_for ||
		    view_rollup_is_useless(part, range.from_slot, range.to_slot))
			continue;
		/* sum_parts() reads the series of samples of which the roll-up cannot be used. */
		r = view_is_covered(view, part, query->from_slot, query->to_slot);
		if (r == 0)
			r = view_read_series(view, part);
	}
	return MIN(r, 0);
}

static bool is_in_range(const struct view_part *part, const struct slot_range *range)
{
	return part->series && !part->is_damaged &&
	       view_part_overlaps(part, range->from_slot, range->to_slot);
}

static bool has_selected(const struct summing *summing, const struct view_part *part)
{
	for (size_t i = 0; i < part->n_series; i++) {
		if (selected_series(summing, part->series[i].id))
			return true;
	}
	return false;
}

/* Widens the range to roll-ups without samples of selected series. */
static void widen_range(struct plan *plan)
{
	struct summing *summing = &plan->summing;
	const struct segment_view *view = summing->view;
	bool changed = summing->query->step_slots == 0;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < view->parts.count; i++) {
			const struct view_part *part = &view->parts.items[i];

			if (part->is_rollup && is_in_range(part, &summing->range) &&
			    has_selected(summing, part))
				changed |= widen(&summing->range, &part->source);
		}
	}
}

/* Whether the values of the series are in the unit of the event type. */
static bool has_unit(const struct segment_view *view, const struct store_sum_series *series)
{
	uint64_t period = words_u64(tuple_table_words(&view->series, (uint32_t)series->id) + 4);

	return series->factor == (period ? period : 1);
}

/* Whether the sums of the selected series are those that the query asks for. */
static bool fits_by_series(const struct summing *summing, const struct view_part *part)
{
	bool any = false;

	for (size_t i = 0; i < part->n_series; i++) {
		const struct store_sum_series *series =
			selected_series(summing, part->series[i].id);

		if (series && !has_unit(summing->view, series))
			return false;
		any |= series != NULL;
	}
	return any;
}

/* Whether all series with samples are selected, in one group. */
static bool fits_by_stack(const struct summing *summing, const struct view_part *part)
{
	const struct store_sum_series *first = NULL;

	for (size_t i = 0; i < part->n_series; i++) {
		const struct store_sum_series *series =
			selected_series(summing, part->series[i].id);

		if (!has_samples(&part->series[i]))
			continue;
		if (!series || (first && series->group != first->group))
			return false;
		first = series;
	}
	return !summing->query->last_slots;
}

/* Whether the sum of the hour of a roll-up is that of a step, or has to be divided among steps. */
static bool fits_steps(const struct store_sum_query *query, const struct segment_part *source)
{
	uint64_t from = query->from_slot, step = query->step_slots;

	if (source->samples_removed)
		return true;
	return source->first_slot >= from && source->end_slot <= query->to_slot &&
	       (source->first_slot - from) / step == (source->end_slot - 1 - from) / step;
}

/* Whether the range of a roll-up is in that of the query. */
static bool is_within(const struct summing *summing, const struct segment_part *source)
{
	if (summing->query->step_slots)
		return fits_steps(summing->query, source);
	return source->first_slot >= summing->range.from_slot &&
	       source->end_slot <= summing->range.to_slot;
}

static enum rollup_use use_of(const struct summing *summing, const struct view_part *part)
{
	const struct store_sum_query *query = summing->query;
	const struct slot_range *range = &summing->range;

	if (!part->is_rollup || !is_in_range(part, range) || !is_within(summing, &part->source) ||
	    query->policy != STORE_SUM_ADD || !fits_by_series(summing, part))
		return ROLLUP_UNUSED;
	if (query->without_stacks)
		return ROLLUP_BY_SERIES;
	if (fits_by_stack(summing, part))
		return ROLLUP_BY_STACK;
	return part->source.samples_removed ? ROLLUP_BY_SERIES : ROLLUP_UNUSED;
}

static int sum_rollups(struct plan *plan)
{
	struct segment_view *view = plan->summing.view;

	for (size_t i = 0; i < view->parts.count; i++) {
		enum rollup_use use = use_of(&plan->summing, &view->parts.items[i]);
		int r;

		if (use == ROLLUP_UNUSED)
			continue;
		r = sum_rollup(&plan->summing, &view->parts.items[i], use == ROLLUP_BY_STACK);
		if (r < 0)
			return r;
		plan->is_used[i] = r > 0;
	}
	return 0;
}

/* Removes [from, to) from the ranges. */
static int subtract_range(struct slot_ranges *ranges, uint64_t from, uint64_t to)
{
	size_t count = ranges->count;
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		struct slot_range *range = &ranges->items[i];
		struct slot_range rest = { MAX(to, range->from_slot), range->to_slot };

		if (from >= range->to_slot || to <= range->from_slot)
			continue;
		range->to_slot = MAX(MIN(from, range->to_slot), range->from_slot);
		if (rest.from_slot < rest.to_slot)
			r = vec_push(ranges, rest);
	}
	return r;
}

/* The ranges in which the samples of the part are summed. */
static int find_ranges(struct plan *plan, const struct view_part *part)
{
	const struct segment_view *view = plan->summing.view;
	uint32_t next;
	int r;

	vec_clear(&plan->ranges);
	r = vec_push(&plan->ranges, plan->summing.range);
	if (!part->source.in_rollup)
		return r;
	next = view->heads.items[part->head - 1].first_rollup;
	for (; next && r == 0; next = view->parts.items[next - 1].next_rollup) {
		const struct segment_part *rollup = &view->parts.items[next - 1].source;

		if (plan->is_used[next - 1])
			r = subtract_range(&plan->ranges, rollup->first_slot, rollup->end_slot);
	}
	return r;
}

/* Whether the part may have rows in the ranges. */
static bool has_any(const struct view_part *part, const struct slot_ranges *ranges)
{
	for (size_t i = 0; i < ranges->count; i++) {
		const struct slot_range *range = &ranges->items[i];

		if (range->from_slot < range->to_slot &&
		    view_part_overlaps(part, range->from_slot, range->to_slot))
			return true;
	}
	return false;
}

static int sum_parts(struct plan *plan)
{
	struct segment_view *view = plan->summing.view;

	for (size_t i = 0; i < view->parts.count; i++) {
		struct view_part *part = &view->parts.items[i];
		int r;

		if (part->is_rollup || part->is_damaged || !part->head ||
		    !view->heads.items[part->head - 1].is_asked_for ||
		    !view_part_overlaps(part, plan->summing.range.from_slot,
					plan->summing.range.to_slot))
			continue;
		r = find_ranges(plan, part);
		if (r == 0 && has_any(part, &plan->ranges))
			r = view_read_series(view, part);
		if (r > 0)
			r = sum_samples(&plan->summing, part, &plan->ranges);
		if (r < 0)
			return r;
	}
	return 0;
}

int segment_view_sum(struct segment_view *view, const struct store_sum_query *query,
		     struct store_sums *ret_sums, uint64_t ret_range[2])
{
	scoped(plan_release) struct plan plan = {};
	struct summing *summing = &plan.summing;
	int r;

	r = read_parts(view, query);
	if (r == 0)
		r = plan_init(&plan, view, query);
	if (r < 0)
		return r;
	widen_range(&plan);
	r = sum_rollups(&plan);
	if (r == 0)
		r = sum_parts(&plan);
	if (r < 0)
		return r;
	*ret_sums = (struct store_sums){ .n_rows = summing->n_rows,
					 .marked_value = summing->marked_value,
					 .n_damaged_blocks = view->n_damaged };
	sum_table_take(&summing->table, ret_sums);
	ret_range[0] = summing->range.from_slot;
	ret_range[1] = summing->range.to_slot;
	return 0;
}
