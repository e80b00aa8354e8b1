/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The rows of segment_tables.def as data, for the code that treats all columns alike.
 */

#include "symbolizer/store/segment/segment.h"

#define SEGMENT_MAGIC       "HSEG"
#define SEGMENT_MAGIC_BYTES 4
/* Magic, format, checksum. */
#define SEGMENT_PREFIX_BYTES (SEGMENT_MAGIC_BYTES + 1 + 8)

/* Most columns of a table. */
#define SEGMENT_MAX_COLUMNS 10

enum column_coding {
	CODING_RAW,
	CODING_DELTA,
	CODING_SORTED,
	CODING_CLIMB,
	CODING_CHILD,
};

enum column_reference {
	REFERENCE_NUMBER,
	REFERENCE_ROW_OF,
	REFERENCE_MAYBE,
	REFERENCE_EARLIER,
};

struct column_layout {
	enum segment_table table;
	enum column_coding coding;
	enum column_reference reference;
	enum segment_table target;
};

/* The columns of a table are adjacent. */
struct table_layout {
	enum segment_column first;
	unsigned int n_columns;
};

extern const struct column_layout segment_columns[SEGMENT_COLUMN_COUNT];

struct table_layout segment_table_layout(enum segment_table table);

/* Predicts the frames of nodes, for CODING_CHILD. */
struct frame_predictor {
	uint64_t *latest; /* [frames + 1] by frame of the parent + 1: latest child's frame + 1 */
};

static inline uint64_t frame_predict(const struct frame_predictor *predictor, uint64_t parent_frame)
{
	uint64_t latest = predictor->latest[parent_frame];

	if (latest > 0)
		return latest - 1;
	return parent_frame > 0 ? parent_frame - 1 : 0;
}
