/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are sorted by series. The series are put in order of their groups. So one array, with an
 * item for each stack, is enough for all groups, and a row costs one addition.
 */

#include "symbolizer/store/segment/segment_sum.h"

#include "common/scoped.h"

struct summing {
	const struct segment *segment;
	uint64_t from_slot, to_slot;
	/* Rows of series i are [row_start[i], row_start[i + 1]). Series 0: rows without one. */
	uint32_t *row_start;
	uint32_t *series;  /* sorted by their groups */
	uint64_t *values;  /* [stacks + 1], zero between groups */
	uint32_t *touched; /* [stacks + 1] stacks with a value */
	size_t n_touched;
};

static void summing_release(struct summing *summing)
{
	free(summing->row_start);
	free(summing->series);
	free(summing->values);
	free(summing->touched);
}

static void find_rows(struct summing *summing)
{
	const uint64_t *series = summing->segment->column[ROW_SERIES];
	size_t n_series = summing->segment->count[SEGMENT_SERIES] + 1;
	size_t n_rows = summing->segment->count[SEGMENT_ROW];
	size_t row = 0;

	for (size_t i = 0; i <= n_series; i++) {
		while (row < n_rows && series[row] < i)
			row++;
		summing->row_start[i] = (uint32_t)row;
	}
}

static int add_series(struct summing *summing, uint32_t series)
{
	const struct segment *segment = summing->segment;
	const uint64_t *slots = segment->column[ROW_SLOT], *stacks = segment->column[ROW_STACK];
	const uint64_t *values = segment->column[ROW_VALUE];
	uint64_t period = series ? segment->column[SERIES_PERIOD_NS][series - 1] : 0;
	uint64_t factor = period ? period : 1;

	for (uint32_t i = summing->row_start[series]; i < summing->row_start[series + 1]; i++) {
		uint64_t *sum = &summing->values[stacks[i]];
		uint64_t value;

		if (slots[i] < summing->from_slot || slots[i] >= summing->to_slot || !values[i])
			continue;
		if (*sum == 0)
			summing->touched[summing->n_touched++] = (uint32_t)stacks[i];
		if (__builtin_mul_overflow(values[i], factor, &value) ||
		    __builtin_add_overflow(*sum, value, sum))
			return -EOVERFLOW;
	}
	return 0;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

/* Appends the sums of the group, and zeroes them for the next. */
static int close_group(struct summing *summing, uint32_t group, struct segment_sums *sums)
{
	int r;

	r = vec_reserve(sums, summing->n_touched);
	if (r < 0)
		return r;
	qsort(summing->touched, summing->n_touched, sizeof(*summing->touched), compare_u32);
	for (size_t i = 0; i < summing->n_touched; i++) {
		uint32_t stack = summing->touched[i];

		sums->items[sums->count++] = (struct segment_sum){
			.group = group, .stack = stack, .value = summing->values[stack]
		};
		summing->values[stack] = 0;
	}
	summing->n_touched = 0;
	return 0;
}

static int compare_groups(const void *a, const void *b, void *arg)
{
	const uint32_t *groups = arg;
	uint32_t left = groups[*(const uint32_t *)a - 1], right = groups[*(const uint32_t *)b - 1];

	if (left != right)
		return left < right ? -1 : 1;
	return compare_u32(a, b);
}

static int sum_groups(struct summing *summing, const uint32_t *groups, uint32_t n_groups,
		      struct segment_sums *sums)
{
	uint32_t n_series = (uint32_t)summing->segment->count[SEGMENT_SERIES];
	int r = 0;

	for (uint32_t i = 0; i < n_series; i++)
		summing->series[i] = i + 1;
	qsort_r(summing->series, n_series, sizeof(*summing->series), compare_groups,
		(void *)(uintptr_t)groups);
	for (uint32_t i = 0; i < n_series && r == 0; i++) {
		uint32_t group = groups[summing->series[i] - 1];

		if (group == SEGMENT_NO_GROUP)
			break;
		assert(group < n_groups);
		r = add_series(summing, summing->series[i]);
		if (r == 0 && (i + 1 == n_series || groups[summing->series[i + 1] - 1] != group))
			r = close_group(summing, group, sums);
	}
	return r;
}

static int sum_all(struct summing *summing, struct segment_sums *sums)
{
	uint32_t n_series = (uint32_t)summing->segment->count[SEGMENT_SERIES];
	int r = 0;

	for (uint32_t series = 0; series <= n_series && r == 0; series++)
		r = add_series(summing, series);
	return r < 0 ? r : close_group(summing, 0, sums);
}

int segment_sum_rows(const struct segment *segment, const uint32_t *groups, uint32_t n_groups,
		     const uint64_t range[2], struct segment_sums *sums)
{
	size_t n_series = segment->count[SEGMENT_SERIES], n_stacks = segment->count[SEGMENT_STACK];
	scoped(summing_release) struct summing summing = {
		.segment = segment,
		.from_slot = range[0],
		.to_slot = range[1],
		.row_start = malloc((n_series + 2) * sizeof(uint32_t)),
		.series = malloc((n_series + 1) * sizeof(uint32_t)),
		.values = calloc(n_stacks + 1, sizeof(uint64_t)),
		.touched = malloc((n_stacks + 1) * sizeof(uint32_t)),
	};

	if (!summing.row_start || !summing.series || !summing.values || !summing.touched)
		return -ENOMEM;
	find_rows(&summing);
	return groups ? sum_groups(&summing, groups, n_groups, sums) : sum_all(&summing, sums);
}
