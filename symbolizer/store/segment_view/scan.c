/* SPDX-License-Identifier: Apache-2.0 */
/* Visits samples one by one, for checks of an engine. */

#include "symbolizer/store/segment_view/part_rows.h"
#include "symbolizer/store/segment_view/segment_view_private.h"

#include <stdlib.h>

#define SCAN_TABLES                                                                                \
	(SEGMENT_SET(SEGMENT_TEXT) | SEGMENT_SET(SEGMENT_OBJECT) | SEGMENT_SET(SEGMENT_FRAME) |    \
	 SEGMENT_SET(SEGMENT_NODE) | SEGMENT_SET(SEGMENT_STACK) | SEGMENT_SET(SEGMENT_ROW))

struct scan {
	struct segment_view *view;
	const struct store_range *range;
	store_row_function function;
	void *arg;
};

static int compare_ids(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static int visit_row(const struct scan *scan, struct translation *translation, uint32_t index,
		     size_t row)
{
	const uint64_t *const *column = translation->segment->column;
	uint64_t slot = column[ROW_SLOT][row];
	uint32_t stack = 0;
	int r;

	if (slot < scan->range->from_slot || slot >= scan->range->to_slot)
		return 0;
	r = translate_stack(translation, column[ROW_STACK][row], &stack);
	return r < 0 ? r : scan->function(scan->arg, index, stack, slot, column[ROW_VALUE][row]);
}

static int visit_series(const struct scan *scan, struct translation *translation, size_t series,
			uint64_t id)
{
	const uint64_t *found = bsearch(&id, scan->range->series_ids, scan->range->n_series,
					sizeof(id), compare_ids);
	const uint64_t *of_row = translation->segment->column[ROW_SERIES];
	size_t n_rows = translation->segment->count[SEGMENT_ROW];
	size_t row = rows_lower_bound(of_row, 0, n_rows, series + 1);
	int r = 0;

	for (; found && row < n_rows && of_row[row] == series + 1 && r >= 0; row++)
		r = visit_row(scan, translation, (uint32_t)(found - scan->range->series_ids), row);
	return MIN(r, 0);
}

static int visit_part(const struct scan *scan, struct view_part *part)
{
	struct segment_view *view = scan->view;
	struct translation translation;
	struct segment segment;
	int r = view_read_series(view, part);

	if (r > 0)
		r = view_load(view, part, view_columns(SCAN_TABLES), &segment);
	if (r <= 0)
		return r;
	r = translation_init(&translation, view, part, &segment, SCAN_TABLES);
	for (size_t i = 0; i < part->n_series && r == 0; i++)
		r = visit_series(scan, &translation, i, part->series[i].id);
	return view_check(view, part, r);
}

int segment_view_scan(struct segment_view *view, const struct store_range *range,
		      store_row_function function, void *arg)
{
	const struct scan scan = { .view = view, .range = range, .function = function, .arg = arg };
	int r = 0;

	for (size_t i = 0; i < view->parts.count && r >= 0; i++) {
		struct view_part *part = &view->parts.items[i];

		if (!view_part_overlaps(part, range->from_slot, range->to_slot))
			continue;
		r = view_read_head(view, part);
		if (r > 0 && !part->is_rollup)
			r = visit_part(&scan, part);
	}
	return MIN(r, 0);
}
