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
	for (unsigned int i = 0; i < SEGMENT_TABLE_COUNT && r == 0; i++) {
		struct builder_table *table = &builder->tables[i];

		table->layout = segment_table_layout(i);
		if (i != SEGMENT_TEXT && !keeps_equal_rows(i))
			r = hash_table_new(table->layout.n_columns * sizeof(uint64_t),
					   sizeof(uint64_t), SEGMENT_MAX_ROWS, &table->rows);
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
		(void)hash_table_free(builder->tables[i].rows);
		vec_release(&builder->tables[i].values);
	}
	(void)string_table_free(builder->texts);
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

int segment_builder_add(struct segment_builder *builder, enum segment_table table_id,
			const uint64_t *values, uint64_t *ret_row)
{
	struct builder_table *table = &builder->tables[table_id];
	uint64_t index = table->count;
	uint64_t *row = NULL;
	int r = 1;

	assert(table_id != SEGMENT_TEXT);
	if (table->rows)
		r = hash_table_insert(table->rows, values, (void **)&row);
	if (r > 0) {
		r = append_row(table, values);
		if (r < 0 && row)
			(void)hash_table_remove(table->rows, values);
		else if (row)
			*row = index;
	} else if (r == 0) {
		index = *row;
	}
	if (r < 0)
		return r;
	if (ret_row)
		*ret_row = index;
	return 0;
}

size_t segment_builder_count(const struct segment_builder *builder, enum segment_table table)
{
	return table == SEGMENT_TEXT ? string_table_count(builder->texts)
				     : builder->tables[table].count;
}

size_t segment_builder_bytes(const struct segment_builder *builder)
{
	size_t bytes = string_table_bytes(builder->texts);

	for (unsigned int i = 0; i < SEGMENT_TABLE_COUNT; i++) {
		const struct builder_table *table = &builder->tables[i];

		bytes += table->values.capacity * sizeof(uint64_t);
		if (table->rows)
			bytes += hash_table_memory_bytes(table->rows);
	}
	return bytes;
}

size_t segment_builder_text_bytes(const struct segment_builder *builder)
{
	return string_table_bytes(builder->texts);
}
