/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads single columns of a segment and of a builder alike, for the files of this folder. */

#include "symbolizer/store/segment/segment_builder_private.h"

/* A column of a segment, or of the rows of a builder. */
struct column {
	const uint64_t *values;
	size_t stride, count;
};

static inline uint64_t column_value(const struct column *column, size_t row)
{
	return column->values[row * column->stride];
}

static inline struct column column_of_segment(const struct segment *segment,
					      enum segment_table table, enum segment_column column)
{
	return (struct column){ .values = segment->column[column],
				.stride = 1,
				.count = segment->count[table] };
}

static inline struct column column_of_builder(const struct segment_builder *builder,
					      enum segment_table table_id,
					      enum segment_column column)
{
	const struct builder_table *table = &builder->tables[table_id];

	return (struct column){ .values = table->count ? table->values.items +
								 (column - table->layout.first)
						       : NULL,
				.stride = table->layout.n_columns,
				.count = table->count };
}

/* Exactly one is set. */
struct column_texts {
	const struct segment *segment;
	const struct segment_builder *builder;
};

/* The text of a builder is valid until the builder is freed, also if texts are added. */
static inline struct bytes_view column_text(const struct column_texts *texts, uint64_t row)
{
	const string_id id = (string_id)row;

	if (texts->segment)
		return segment_text(texts->segment, row);
	return (struct bytes_view){
		.data = (const uint8_t *)string_table_text(texts->builder->texts, id),
		.size = string_table_length(texts->builder->texts, id),
	};
}
