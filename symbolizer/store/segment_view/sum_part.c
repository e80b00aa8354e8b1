/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The series of a part are put in order of their groups. So one array, with an item for each stack
 * of the part, is enough for all groups, and a row costs one addition. Stacks are translated after
 * that, once for each sum. A part that is found to be damaged then has added nothing yet.
 */

#include "symbolizer/store/segment_view/sum_private.h"

#include <stdlib.h>

#include "symbolizer/store/segment_view/part_rows.h"

#define STACK_TABLES                                                                               \
	(SEGMENT_SET(SEGMENT_TEXT) | SEGMENT_SET(SEGMENT_OBJECT) | SEGMENT_SET(SEGMENT_FRAME) |    \
	 SEGMENT_SET(SEGMENT_NODE) | SEGMENT_SET(SEGMENT_STACK))

/* A selected series of the part. */
struct summed_series {
	uint32_t row; /* of SERIES */
	const struct store_sum_series *selected;
};

/* The selected series with rows in the ranges, by group. */
struct part_selection {
	struct view_part *part;
	const struct slot_ranges *ranges;
	struct summed_series *series; /* [count] */
	size_t count;
};

static void part_selection_release(struct part_selection *selection)
{
	free(selection->series);
}

/* Sums of one group. Arrays have an item for each stack, and one for rows without a stack; or an
 * item for each step. */
struct accumulator {
	const uint64_t *slots, *stacks, *counts; /* columns; stacks NULL: without stacks */
	uint64_t *values;
	uint64_t *end_slots; /* last slot of the stack + 1, 0: none; NULL: not needed */
	uint32_t *touched;   /* stacks with a value, or with STORE_SUM_LAST a row */
	size_t n_touched;
	bool only_last;                 /* STORE_SUM_LAST */
	uint64_t from_slot, step_slots; /* of the query */
	uint64_t n_rows, marked_value;
};

static int accumulator_init(struct accumulator *accumulator, const struct summing *summing,
			    const struct segment *segment)
{
	const struct store_sum_query *query = summing->query;
	struct arena *scratch = summing->view->scratch;
	size_t n = 1 +
		   (query->without_stacks ? store_sum_steps(query) : segment->count[SEGMENT_STACK]);

	*accumulator = (struct accumulator){
		.slots = segment->column[ROW_SLOT],
		.stacks = query->without_stacks ? NULL : segment->column[ROW_STACK],
		.counts = segment->column[ROW_VALUE],
		.values = arena_alloc_array(scratch, n, sizeof(uint64_t)),
		.touched = arena_alloc_array(scratch, n, sizeof(uint32_t)),
		.only_last = query->policy == STORE_SUM_LAST,
		.from_slot = query->from_slot,
		.step_slots = query->step_slots,
	};
	if (query->last_slots || accumulator->only_last) {
		accumulator->end_slots = arena_alloc_array(scratch, n, sizeof(uint64_t));
		if (!accumulator->end_slots)
			return -ENOMEM;
	}
	return accumulator->values && accumulator->touched ? 0 : -ENOMEM;
}

/* The loop that most of the time of a query is spent in. */
static void add_values(struct accumulator *accumulator, size_t first, size_t end, uint64_t factor)
{
	const uint64_t *stacks = accumulator->stacks, *counts = accumulator->counts;
	uint64_t *values = accumulator->values;

	for (size_t i = first; i < end; i++) {
		uint64_t stack = stacks ? stacks[i] : 0;
		uint64_t value = sum_scaled(counts[i], factor);

		if (value == 0)
			continue;
		if (values[stack] == 0)
			accumulator->touched[accumulator->n_touched++] = (uint32_t)stack;
		values[stack] = sum_saturating(values[stack], value);
	}
}

/* Also keeps the last slot of each stack. */
static void add_values_and_slots(struct accumulator *accumulator, size_t first, size_t end,
				 uint64_t factor)
{
	const uint64_t *stacks = accumulator->stacks;

	for (size_t i = first; i < end; i++) {
		uint64_t stack = stacks ? stacks[i] : 0;
		uint64_t value = sum_scaled(accumulator->counts[i], factor);
		uint64_t end_slot = accumulator->slots[i] + 1;
		uint64_t *sum = &accumulator->values[stack];
		uint64_t *last = &accumulator->end_slots[stack];

		if ((value == 0 && !accumulator->only_last) ||
		    (accumulator->only_last && end_slot < *last))
			continue;
		if (*last == 0)
			accumulator->touched[accumulator->n_touched++] = (uint32_t)stack;
		if (accumulator->only_last && end_slot > *last)
			*sum = 0;
		*sum = sum_saturating(*sum, value);
		*last = MAX(*last, end_slot);
	}
}

/* Slots ascend, so that a step is a run of rows. */
static void add_values_by_step(struct accumulator *accumulator, size_t first, size_t end,
			       uint64_t factor)
{
	uint64_t step = 0, step_end = 0;

	for (size_t i = first; i < end; i++) {
		uint64_t slot = accumulator->slots[i];
		uint64_t value = sum_scaled(accumulator->counts[i], factor);

		if (slot >= step_end) {
			step = (slot - accumulator->from_slot) / accumulator->step_slots;
			step_end = accumulator->from_slot + (step + 1) * accumulator->step_slots;
		}
		if (value == 0)
			continue;
		if (accumulator->values[step] == 0)
			accumulator->touched[accumulator->n_touched++] = (uint32_t)step;
		accumulator->values[step] = sum_saturating(accumulator->values[step], value);
	}
}

static void add_rows(struct accumulator *accumulator, size_t first, size_t end,
		     const struct store_sum_series *series)
{
	if (accumulator->step_slots)
		add_values_by_step(accumulator, first, end, series->factor);
	else if (accumulator->end_slots)
		add_values_and_slots(accumulator, first, end, series->factor);
	else
		add_values(accumulator, first, end, series->factor);
	accumulator->n_rows += end - first;
	for (size_t i = first; i < end && series->marked; i++)
		accumulator->marked_value =
			sum_saturating(accumulator->marked_value,
				       sum_scaled(accumulator->counts[i], series->factor));
}

static void add_series(struct accumulator *accumulator, const struct segment *segment,
		       const struct summed_series *series, const struct slot_ranges *ranges)
{
	const uint64_t *of_row = segment->column[ROW_SERIES], *slots = accumulator->slots;
	size_t n_rows = segment->count[SEGMENT_ROW];
	size_t first = rows_lower_bound(of_row, 0, n_rows, series->row + UINT64_C(1));
	size_t end = rows_lower_bound(of_row, first, n_rows, series->row + UINT64_C(2));

	for (size_t i = 0; i < ranges->count; i++) {
		size_t from = rows_lower_bound(slots, first, end, ranges->items[i].from_slot);
		size_t to = rows_lower_bound(slots, from, end, ranges->items[i].to_slot);

		add_rows(accumulator, from, to, series->selected);
	}
}

/* Appends the sums of the group, and zeroes them for the next. */
static int close_group(struct accumulator *accumulator, uint32_t group, struct part_sums *sums)
{
	int r = vec_reserve(sums, accumulator->n_touched);

	if (r < 0)
		return r;
	for (size_t i = 0; i < accumulator->n_touched; i++) {
		uint32_t stack = accumulator->touched[i];
		struct part_sum *sum = &sums->items[sums->count++];

		*sum = (struct part_sum){ .group = group,
					  .stack = stack,
					  .value = accumulator->values[stack] };
		accumulator->values[stack] = 0;
		if (accumulator->end_slots) {
			sum->last_slot = accumulator->end_slots[stack] - 1;
			accumulator->end_slots[stack] = 0;
		}
	}
	accumulator->n_touched = 0;
	return 0;
}

static int compare_groups(const void *a, const void *b)
{
	const struct summed_series *left = a, *right = b;

	if (left->selected->group != right->selected->group)
		return left->selected->group < right->selected->group ? -1 : 1;
	return left->row < right->row ? -1 : left->row > right->row;
}

static bool has_rows_in(const struct part_series *series, const struct slot_ranges *ranges)
{
	for (size_t i = 0; i < ranges->count; i++) {
		if (series->first_slot < ranges->items[i].to_slot &&
		    series->last_slot >= ranges->items[i].from_slot && has_samples(series))
			return true;
	}
	return false;
}

static int select_series(const struct summing *summing, struct part_selection *selection)
{
	const struct view_part *part = selection->part;
	struct summed_series *series = calloc(part->n_series + 1, sizeof(*series));
	size_t count = 0;

	if (!series)
		return -ENOMEM;
	for (size_t i = 0; i < part->n_series; i++) {
		series[count].row = (uint32_t)i;
		series[count].selected = selected_series(summing, part->series[i].id);
		count += series[count].selected && has_rows_in(&part->series[i], selection->ranges);
	}
	qsort(series, count, sizeof(*series), compare_groups);
	selection->series = series;
	selection->count = count;
	return 0;
}

/* Adds the sums of the part to those of the query: first all stacks are translated. */
static int commit(struct summing *summing, struct view_part *part, const struct segment *segment)
{
	unsigned int tables = summing->query->without_stacks ? 0 : STACK_TABLES;
	struct part_sums *sums = &summing->sums;
	struct translation translation;
	uint32_t index, stack = 0;
	int r;

	r = translation_init(&translation, summing->view, part, segment, tables);
	for (size_t i = 0; i < sums->count && r == 0 && !summing->query->step_slots; i++) {
		r = translate_stack(&translation, sums->items[i].stack, &stack);
		sums->items[i].stack = stack;
	}
	if (r == 0)
		r = view_account(summing->view);
	for (size_t i = 0; i < sums->count && r == 0; i++) {
		const struct part_sum *sum = &sums->items[i];

		r = sum_table_find(&summing->table, sum->group, sum->stack, &index);
		if (r == 0)
			sum_table_put(&summing->table, index, sum->last_slot, sum->value);
	}
	return r;
}

/* -EBADMSG: the part is damaged, and nothing was added. */
static int sum_groups(struct summing *summing, const struct part_selection *selection,
		      const struct segment *segment)
{
	const struct summed_series *series = selection->series;
	struct accumulator accumulator;
	int r;

	summing->sums.count = 0;
	r = accumulator_init(&accumulator, summing, segment);
	for (size_t i = 0; i < selection->count && r == 0; i++) {
		uint32_t group = series[i].selected->group;

		add_series(&accumulator, segment, &series[i], selection->ranges);
		if (i + 1 < selection->count && series[i + 1].selected->group == group)
			continue;
		r = close_group(&accumulator, group, &summing->sums);
		if (cancel_is_requested(summing->view->options.store.cancel))
			r = -ECANCELED;
	}
	if (r == 0)
		r = commit(summing, selection->part, segment);
	if (r == 0) {
		summing->n_rows += accumulator.n_rows;
		summing->marked_value =
			sum_saturating(summing->marked_value, accumulator.marked_value);
	}
	return r;
}

/* Columns of rows and of the definitions of stacks. */
static uint64_t columns_of_sums(const struct store_sum_query *query)
{
	uint64_t columns = SEGMENT_COLUMN_SET(ROW_SERIES) | SEGMENT_COLUMN_SET(ROW_SLOT) |
			   SEGMENT_COLUMN_SET(ROW_VALUE);

	if (query->without_stacks)
		return columns;
	return columns | SEGMENT_COLUMN_SET(ROW_STACK) | view_columns(STACK_TABLES);
}

int sum_samples(struct summing *summing, struct view_part *part, const struct slot_ranges *ranges)
{
	scoped(part_selection_release) struct part_selection selection = { .part = part,
									   .ranges = ranges };
	struct segment segment;
	int r;

	r = select_series(summing, &selection);
	if (r < 0 || selection.count == 0)
		return r;
	r = view_load(summing->view, part, columns_of_sums(summing->query), &segment);
	if (r <= 0)
		return r;
	return view_check(summing->view, part, sum_groups(summing, &selection, &segment));
}

/* The part of @value in the first @slots of @of_slots. */
static uint64_t share(uint64_t value, uint64_t slots, uint64_t of_slots)
{
	return (uint64_t)((unsigned __int128)value * slots / of_slots);
}

/* Divides the sum of a roll-up among the steps of the query. */
static int add_to_steps(struct summing *summing, uint32_t group, const struct segment_part *source,
			uint64_t value)
{
	const struct store_sum_query *query = summing->query;
	uint64_t slots = source->end_slot - source->first_slot;
	uint64_t end = MIN(source->end_slot, query->to_slot);
	uint64_t slot = MAX(source->first_slot, query->from_slot);
	int r = 0;

	while (slot < end && r == 0) {
		uint64_t step = (slot - query->from_slot) / query->step_slots;
		uint64_t next = MIN(query->from_slot + (step + 1) * query->step_slots, end);
		uint32_t index;

		r = sum_table_find(&summing->table, group, step, &index);
		if (r == 0)
			sum_table_put(&summing->table, index, 0,
				      share(value, next - source->first_slot, slots) -
					      share(value, slot - source->first_slot, slots));
		slot = next;
	}
	return r;
}

/* Adds the sum of one series of a roll-up. */
static int add_total(struct summing *summing, const struct store_sum_series *series,
		     const struct segment *segment, size_t row)
{
	uint64_t stack = summing->query->without_stacks ? 0 : STORE_OTHER_STACKS;
	uint32_t index;
	int r;

	r = sum_table_find(&summing->table, series->group, stack, &index);
	if (r == 0)
		sum_table_put(&summing->table, index,
			      summing->query->last_slots ? segment->column[TOTAL_LAST_SLOT][row]
							 : 0,
			      segment->column[TOTAL_VALUE][row]);
	return r;
}

/* @values: add the sums too; else only to marked_value. */
static int add_totals(struct summing *summing, const struct view_part *part,
		      const struct segment *segment, bool values)
{
	int r = 0;

	for (size_t i = 0; i < segment->count[SEGMENT_TOTAL] && r == 0; i++) {
		uint64_t of = segment->column[TOTAL_SERIES][i];
		const struct store_sum_series *series =
			selected_series(summing, part->series[of].id);

		if (!series)
			continue;
		if (series->marked)
			summing->marked_value = sum_saturating(summing->marked_value,
							       segment->column[TOTAL_VALUE][i]);
		if (!values || segment->column[TOTAL_VALUE][i] == 0)
			continue;
		r = summing->query->step_slots ? add_to_steps(summing, series->group, &part->source,
							      segment->column[TOTAL_VALUE][i])
					       : add_total(summing, series, segment, i);
		summing->n_rows++;
	}
	return r;
}

/* The group of all series of the part. */
static uint32_t group_of(const struct summing *summing, const struct view_part *part)
{
	for (size_t i = 0; i < part->n_series; i++) {
		const struct store_sum_series *series =
			selected_series(summing, part->series[i].id);

		if (series)
			return series->group;
	}
	return 0;
}

/* Adds the rows without series. */
static int add_rows_of_rollup(struct summing *summing, struct view_part *part,
			      const struct segment *segment)
{
	const struct store_sum_series all = { .factor = 1, .group = group_of(summing, part) };
	const uint64_t *of_row = segment->column[ROW_SERIES];
	size_t end = rows_lower_bound(of_row, 0, segment->count[SEGMENT_ROW], 1);
	struct accumulator accumulator;
	int r;

	summing->sums.count = 0;
	r = accumulator_init(&accumulator, summing, segment);
	if (r < 0)
		return r;
	add_rows(&accumulator, 0, end, &all);
	r = close_group(&accumulator, all.group, &summing->sums);
	if (r == 0)
		r = commit(summing, part, segment);
	summing->n_rows += r == 0 ? accumulator.n_rows : 0;
	return r;
}

int sum_rollup(struct summing *summing, struct view_part *part, bool by_stack)
{
	uint64_t columns = view_columns(SEGMENT_SET(SEGMENT_TOTAL));
	struct segment segment;
	int r;

	if (by_stack)
		columns |= columns_of_sums(summing->query);
	r = view_load(summing->view, part, columns, &segment);
	if (r <= 0)
		return r;
	if (by_stack)
		r = view_check(summing->view, part, add_rows_of_rollup(summing, part, &segment));
	if (r >= 0 && !part->is_damaged)
		r = add_totals(summing, part, &segment, !by_stack);
	return r < 0 ? r : !part->is_damaged;
}
