/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/segment/segment_builder_private.h"

int segment_make_ranges(struct segment *segment, struct arena *arena)
{
	const uint64_t *of_row = segment->column[ROW_SERIES], *slots = segment->column[ROW_SLOT];
	const size_t n_series = segment->count[SEGMENT_SERIES];
	uint64_t *series = arena_alloc_array(arena, n_series, sizeof(*series));
	uint64_t *first = arena_alloc_array(arena, n_series, sizeof(*first));
	uint64_t *last = arena_alloc_array(arena, n_series, sizeof(*last));
	uint64_t *value = arena_alloc_array(arena, n_series, sizeof(*value));
	size_t n = 0;

	if (!series || !first || !last || !value)
		return -ENOMEM;
	for (size_t i = 0; i < segment->count[SEGMENT_ROW]; i++) {
		if (of_row[i] == 0)
			continue;
		if (n == 0 || series[n - 1] != of_row[i] - 1) {
			series[n] = of_row[i] - 1;
			first[n] = slots[i];
			value[n++] = 0;
		}
		last[n - 1] = slots[i];
	}
	segment->count[SEGMENT_TOTAL] = n;
	segment->column[TOTAL_SERIES] = series;
	segment->column[TOTAL_FIRST_SLOT] = first;
	segment->column[TOTAL_LAST_SLOT] = last;
	segment->column[TOTAL_VALUE] = value;
	return 0;
}
