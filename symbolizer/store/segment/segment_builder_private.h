/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The builder's tables, for the files that fill them and the file that sorts them. */

#include "common/row_index.h"
#include "common/string_table.h"
#include "common/vec.h"
#include "symbolizer/store/segment/segment_builder.h"
#include "symbolizer/store/segment/segment_layout.h"

VEC_DEFINE(segment_values, uint64_t);

struct builder_table {
	struct table_layout layout;
	struct row_index rows;        /* not used if equal rows are kept */
	struct segment_values values; /* values.items[row * n_columns + column] */
	size_t count;
};

/* The first and the last slot of the rows of a series. Without rows, first_slot is larger. */
struct slot_span {
	uint64_t first_slot, last_slot;
};

VEC_DEFINE(slot_spans, struct slot_span);

struct segment_builder {
	struct string_table *texts;
	struct builder_table tables[SEGMENT_TABLE_COUNT];
	/* By row of SERIES; those after the last item have no rows. Not used in roll-ups. */
	struct slot_spans spans;
};

/* Returns whether each row of @table is added, also if an equal one exists. */
static inline bool keeps_equal_rows(enum segment_table table)
{
	return table == SEGMENT_ROW || table == SEGMENT_TOTAL;
}

/*
 * Sorts rows of samples: puts them in order of the series by counting, then sorts those of each
 * series, which usually are in order of time already. @rows has room for all rows of the table; it
 * gets their indexes in the new order. 0 or -ENOMEM.
 */
int segment_sort_samples(const struct builder_table *table, size_t n_series, uint32_t *rows);
