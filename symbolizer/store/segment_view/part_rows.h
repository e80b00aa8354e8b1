/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the rows of series and ranges of time in a segment, whose rows are sorted by series. */

#include "symbolizer/store/segment/segment.h"

/*
 * The first row in [first, end) of which the value in @column is not less than @value; else @end.
 * The values rise.
 */
static inline size_t rows_lower_bound(const uint64_t *column, size_t first, size_t end,
				      uint64_t value)
{
	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (column[middle] < value)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}
