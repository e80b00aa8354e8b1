/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table is an array of rows, and a hash table from the values of a row to its index. The code is
 * the same for all tables, because references are values as well.
 */

#include "symbolizer/store/segment/segment_builder_private.h"

int segment_builder_new(struct segment_builder **ret_builder)
{
	scoped(segment_builder_freep) struct segment_builder *builder = calloc(1, sizeof(*builder));
	int r;

	if (!builder)
		return -ENOMEM;
	r = string_table_new(SEGMENT_MAX_TEXT_BYTES, &builder->texts);
	for (unsigned int i = 0; i < SEGMENT_TABLE_COUNT; i++) {
		struct builder_table *table = &builder->tables[i];

		table->layout = segment_table_layout(i);
		row_index_init(&table->rows, table->layout.n_columns);
	}
	if (r < 0)
		return r;
	*ret_builder = take_ptr(builder);
	return 0;
}

struct segment_builder *segment_builder_free(struct segment_builder *builder)
{
	if (!builder)
		return NULL;
	for (unsigned int i = 0; i < SEGMENT_TABLE_COUNT; i++) {
		row_index_release(&builder->tables[i].rows);
		vec_release(&builder->tables[i].values);
	}
	(void)string_table_free(builder->texts);
	vec_release(&builder->spans);
	free(builder);
	return NULL;
}

int segment_builder_text(struct segment_builder *builder, const void *text, size_t size,
			 uint64_t *ret_row)
{
	string_id id;
	int r;

	r = string_table_intern(builder->texts, size ? text : "", size, &id);
	if (r < 0)
		return r;
	*ret_row = id;
	return 0;
}

static int append_row(struct builder_table *table, const uint64_t *values)
{
	unsigned int n_columns = table->layout.n_columns;
	int r;

	if (table->count == SEGMENT_MAX_ROWS)
		return -ENOSPC;
	r = vec_reserve(&table->values, n_columns);
	if (r < 0)
		return r;
	memcpy(table->values.items + table->values.count, values, n_columns * sizeof(*values));
	table->values.count += n_columns;
	table->count++;
	return 0;
}

/* Widens the span of a series by the slot of one of its rows. @values: of ROW. */
static int widen_span(struct slot_spans *spans, const uint64_t *values)
{
	const uint64_t series = values[0], slot = values[ROW_SLOT - ROW_SERIES];
	struct slot_span *span;

	if (series == 0)
		return 0;
	while (spans->count < series) {
		int r = vec_push(spans, (struct slot_span){ .first_slot = UINT64_MAX });

		if (r < 0)
			return r;
	}
	span = &spans->items[series - 1];
	span->first_slot = MIN(span->first_slot, slot);
	span->last_slot = MAX(span->last_slot, slot);
	return 0;
}

int segment_builder_add(struct segment_builder *builder, enum segment_table table_id,
			const uint64_t *values, uint64_t *ret_row)
{
	struct builder_table *table = &builder->tables[table_id];
	uint32_t row = (uint32_t)table->count;
	int r = table_id == SEGMENT_ROW ? widen_span(&builder->spans, values) : 0;

	assert(table_id != SEGMENT_TEXT);
	if (r < 0)
		return r;
	r = keeps_equal_rows(table_id)
		    ? 1
		    : row_index_add(&table->rows, table->values.items, values, row, &row);
	if (r > 0) {
		r = append_row(table, values);
		if (r < 0 && !keeps_equal_rows(table_id))
			row_index_undo(&table->rows, values, row);
	}
	if (r < 0)
		return r;
	if (ret_row)
		*ret_row = row;
	return 0;
}

bool segment_builder_has_text(const struct segment_builder *builder, enum segment_column column,
			      const char *text)
{
	const struct builder_table *head = &builder->tables[SEGMENT_HEAD];
	string_id id;

	assert(head->count == 1);
	id = (string_id)head->values.items[column - head->layout.first];
	return string_table_length(builder->texts, id) == strlen(text) &&
	       memcmp(string_table_text(builder->texts, id), text, strlen(text)) == 0;
}

const char *segment_builder_head_text(const struct segment_builder *builder,
				      enum segment_column column)
{
	const struct builder_table *head = &builder->tables[SEGMENT_HEAD];

	assert(head->count == 1);
	return string_table_text(builder->texts,
				 (string_id)head->values.items[column - head->layout.first]);
}

uint64_t segment_builder_head_number(const struct segment_builder *builder,
				     enum segment_column column)
{
	const struct builder_table *head = &builder->tables[SEGMENT_HEAD];

	assert(head->count == 1);
	return head->values.items[column - head->layout.first];
}

size_t segment_builder_count(const struct segment_builder *builder, enum segment_table table)
{
	return table == SEGMENT_TEXT ? string_table_count(builder->texts)
				     : builder->tables[table].count;
}

bool segment_builder_spans_decide(const struct segment_builder *builder, uint64_t from_slot,
				  uint64_t to_slot)
{
	for (size_t i = 0; i < builder->spans.count; i++)
		if (builder->spans.items[i].first_slot < from_slot &&
		    builder->spans.items[i].last_slot >= to_slot)
			return false;
	return true;
}

size_t segment_builder_bytes(const struct segment_builder *builder)
{
	size_t bytes = sizeof(*builder) + string_table_memory_bytes(builder->texts) +
		       builder->spans.capacity * sizeof(*builder->spans.items);

	for (unsigned int i = 0; i < SEGMENT_TABLE_COUNT; i++) {
		const struct builder_table *table = &builder->tables[i];

		bytes += table->values.capacity * sizeof(uint64_t) + row_index_bytes(&table->rows);
	}
	return bytes;
}

size_t segment_builder_text_bytes(const struct segment_builder *builder)
{
	return string_table_bytes(builder->texts);
}
