/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One array, generated from segment_tables.def. A table's columns are found by a search, because
 * there are fewer than a hundred.
 */

#include "symbolizer/store/segment/segment_layout.h"

const struct column_layout segment_columns[SEGMENT_COLUMN_COUNT] = {
#define TABLE(table)
#define COLUMN(table_, column, coding_, reference_, target_)                                       \
	[table_##_##column] = { .table = SEGMENT_##table_,                                         \
				.coding = CODING_##coding_,                                        \
				.reference = REFERENCE_##reference_,                               \
				.target = SEGMENT_##target_ },
#include "symbolizer/store/segment/segment_tables.def"
#undef TABLE
#undef COLUMN
};

struct table_layout segment_table_layout(enum segment_table table)
{
	unsigned int first = 0, n_columns = 0;

	while (segment_columns[first].table != table)
		first++;
	while (first + n_columns < SEGMENT_COLUMN_COUNT &&
	       segment_columns[first + n_columns].table == table)
		n_columns++;
	assert(n_columns <= SEGMENT_MAX_COLUMNS);
	return (struct table_layout){ .first = first, .n_columns = n_columns };
}
