/* SPDX-License-Identifier: Apache-2.0 */
/* Tables are copied one after another, each from its first row to its last. */

#include "symbolizer/store/segment/segment_snapshot.h"

#include "symbolizer/store/segment/segment_builder_private.h"

#define SPAN_TABLES                                                                                \
	(SEGMENT_SET(SEGMENT_HEAD) | SEGMENT_SET(SEGMENT_HOST) | SEGMENT_SET(SEGMENT_PROCESS) |    \
	 SEGMENT_SET(SEGMENT_SERIES))

struct segment_snapshot {
	unsigned int copied_tables; /* set */
	struct slot_spans spans;    /* of SEGMENT_SNAPSHOT_SPANS */
	/* count: rows of the copy; values.count: values copied until now. */
	struct builder_table tables[SEGMENT_TABLE_COUNT];
	uint8_t *texts;
	uint64_t *text_ends; /* [n_texts] */
	size_t n_texts, n_copied_texts, text_bytes;
};

struct segment_snapshot *segment_snapshot_free(struct segment_snapshot *snapshot)
{
	if (!snapshot)
		return NULL;
	for (unsigned int i = 0; i < SEGMENT_TABLE_COUNT; i++)
		vec_release(&snapshot->tables[i].values);
	vec_release(&snapshot->spans);
	free(snapshot->texts);
	free(snapshot->text_ends);
	free(snapshot);
	return NULL;
}

/* All at once, because later rows change them. */
static int copy_spans(struct segment_snapshot *snapshot, const struct slot_spans *spans)
{
	int r = vec_reserve(&snapshot->spans, spans->count);

	if (r < 0)
		return r;
	if (spans->count > 0)
		memcpy(snapshot->spans.items, spans->items, spans->count * sizeof(*spans->items));
	snapshot->spans.count = spans->count;
	return 0;
}

int segment_snapshot_begin(const struct segment_builder *builder,
			   enum segment_snapshot_content content,
			   struct segment_snapshot **ret_snapshot)
{
	scoped(segment_snapshot_freep) struct segment_snapshot *snapshot =
		calloc(1, sizeof(*snapshot));
	int r = 0;

	if (!snapshot)
		return -ENOMEM;
	snapshot->n_texts = string_table_count(builder->texts);
	snapshot->text_bytes = string_table_bytes(builder->texts);
	snapshot->texts = malloc(MAX(snapshot->text_bytes, (size_t)1));
	snapshot->text_ends = malloc(MAX(snapshot->n_texts, (size_t)1) * sizeof(uint64_t));
	if (!snapshot->texts || !snapshot->text_ends)
		return -ENOMEM;
	snapshot->copied_tables = content == SEGMENT_SNAPSHOT_ALL ? SEGMENT_ALL : SPAN_TABLES;
	if (content == SEGMENT_SNAPSHOT_SPANS)
		r = copy_spans(snapshot, &builder->spans);
	for (unsigned int i = SEGMENT_TEXT + 1; i < SEGMENT_TABLE_COUNT && r == 0; i++) {
		struct builder_table *table = &snapshot->tables[i];

		table->layout = builder->tables[i].layout;
		if (!(snapshot->copied_tables & SEGMENT_SET(i)))
			continue;
		table->count = builder->tables[i].count;
		r = vec_reserve(&table->values, table->count * table->layout.n_columns);
	}
	if (r < 0)
		return r;
	*ret_snapshot = take_ptr(snapshot);
	return 0;
}

/* Returns the bytes copied. */
static size_t copy_texts(struct segment_snapshot *snapshot, const struct string_table *texts,
			 size_t max_bytes)
{
	size_t copied = 0;

	while (snapshot->n_copied_texts < snapshot->n_texts && copied < max_bytes) {
		size_t i = snapshot->n_copied_texts++;
		size_t start = i ? (size_t)snapshot->text_ends[i - 1] : 0;
		size_t length = string_table_length(texts, (string_id)i);

		memcpy(snapshot->texts + start, string_table_text(texts, (string_id)i), length);
		snapshot->text_ends[i] = start + length;
		copied += length + sizeof(uint64_t);
	}
	return copied;
}

/* Returns the bytes copied. */
static size_t copy_rows(struct builder_table *table, const struct builder_table *from,
			size_t max_bytes)
{
	size_t left = table->count * table->layout.n_columns - table->values.count;
	size_t n = MIN(left, max_bytes / sizeof(uint64_t));

	if (n > 0)
		memcpy(table->values.items + table->values.count,
		       from->values.items + table->values.count, n * sizeof(uint64_t));
	table->values.count += n;
	return n * sizeof(uint64_t);
}

int segment_snapshot_copy(struct segment_snapshot *snapshot, const struct segment_builder *builder,
			  size_t max_bytes)
{
	size_t copied = copy_texts(snapshot, builder->texts, max_bytes);

	if (snapshot->n_copied_texts < snapshot->n_texts)
		return 1;
	for (unsigned int i = SEGMENT_TEXT + 1; i < SEGMENT_TABLE_COUNT; i++) {
		struct builder_table *table = &snapshot->tables[i];

		copied += copy_rows(table, &builder->tables[i], max_bytes - MIN(copied, max_bytes));
		if (table->values.count < table->count * table->layout.n_columns)
			return 1;
	}
	return 0;
}

size_t segment_snapshot_bytes(const struct segment_snapshot *snapshot)
{
	size_t bytes = snapshot->text_bytes + snapshot->n_texts * sizeof(uint64_t);

	for (unsigned int i = 0; i < SEGMENT_TABLE_COUNT; i++)
		bytes += snapshot->tables[i].values.capacity * sizeof(uint64_t);
	return bytes + snapshot->spans.capacity * sizeof(*snapshot->spans.items);
}

/* @order: rows in the order of the result; NULL: as they are. */
static int make_columns(const struct builder_table *table, const uint32_t *order,
			struct arena *arena, const uint64_t **ret_columns)
{
	unsigned int n_columns = table->layout.n_columns;

	assert(table->values.count == table->count * n_columns);
	for (unsigned int k = 0; k < n_columns; k++) {
		uint64_t *column = arena_alloc_array(arena, table->count, sizeof(*column));

		if (!column)
			return -ENOMEM;
		for (size_t i = 0; i < table->count; i++)
			column[i] = table->values.items[(order ? order[i] : i) * n_columns + k];
		ret_columns[table->layout.first + k] = column;
	}
	return 0;
}

/* The rows in their order, and TOTAL. */
static int finish_rows(const struct segment_snapshot *snapshot, struct arena *arena,
		       struct segment *segment)
{
	const struct builder_table *rows = &snapshot->tables[SEGMENT_ROW];
	scoped_free uint32_t *order = malloc(MAX(rows->count, (size_t)1) * sizeof(*order));
	int r;

	if (!order)
		return -ENOMEM;
	r = segment_sort_samples(rows, snapshot->tables[SEGMENT_SERIES].count, order);
	if (r == 0)
		r = make_columns(rows, order, arena, segment->column);
	if (r < 0)
		return r;
	segment->count[SEGMENT_ROW] = rows->count;
	return segment_make_ranges(segment, arena);
}

/* TOTAL without rows. */
static int finish_spans(const struct segment_snapshot *snapshot, struct arena *arena,
			struct segment *segment)
{
	const struct slot_spans *spans = &snapshot->spans;
	uint64_t *columns[4];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		columns[i] = arena_alloc_array(arena, spans->count, sizeof(**columns));
		if (!columns[i])
			return -ENOMEM;
		segment->column[TOTAL_SERIES + i] = columns[i];
	}
	for (size_t i = 0; i < spans->count; i++) {
		if (spans->items[i].first_slot > spans->items[i].last_slot)
			continue;
		columns[0][n] = i;
		columns[1][n] = spans->items[i].first_slot;
		columns[2][n] = spans->items[i].last_slot;
		columns[3][n++] = 0;
	}
	segment->count[SEGMENT_TOTAL] = n;
	return 0;
}

int segment_snapshot_finish(const struct segment_snapshot *snapshot, struct arena *arena,
			    struct segment *ret_segment)
{
	struct segment segment = { .text_bytes = snapshot->text_bytes };
	int r = 0;

	for (unsigned int i = SEGMENT_TEXT + 1; i < SEGMENT_ROW && r == 0; i++) {
		if (!(snapshot->copied_tables & SEGMENT_SET(i)))
			continue;
		segment.count[i] = snapshot->tables[i].count;
		r = make_columns(&snapshot->tables[i], NULL, arena, segment.column);
	}
	if (r == 0)
		r = snapshot->copied_tables & SEGMENT_SET(SEGMENT_ROW)
			    ? finish_rows(snapshot, arena, &segment)
			    : finish_spans(snapshot, arena, &segment);
	if (r < 0)
		return r;
	segment.count[SEGMENT_TEXT] = snapshot->n_texts;
	segment.texts = arena_copy(arena, snapshot->texts, snapshot->text_bytes);
	segment.column[TEXT_END] = arena_copy(arena, snapshot->text_ends,
					      snapshot->n_texts * sizeof(*snapshot->text_ends));
	if (!segment.texts || !segment.column[TEXT_END])
		return -ENOMEM;
	*ret_segment = segment;
	return 0;
}
