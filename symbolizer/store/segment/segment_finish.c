/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables are sorted in the order of segment_tables.def, each after its references have been
 * replaced by the new rows of the tables before. Most tables are sorted by their columns from left
 * to right. The prefix tree is put into depth-first order, with the children of a node in the order
 * of their frames. Lists and the tables without an order keep that in which they were added.
 */

#include "symbolizer/store/segment/segment_builder_private.h"

/* The old rows in their new order, and the new row for each old row. */
struct order {
	uint32_t *old_row;
	uint32_t *new_row;
};

struct finish {
	const struct segment_builder *builder;
	/* Copies of the builder's values, which are renumbered: readers still use the builder. */
	struct builder_table tables[SEGMENT_TABLE_COUNT];
	struct order orders[SEGMENT_TABLE_COUNT];
};

static void finish_release(struct finish *finish)
{
	for (unsigned int i = 0; i < SEGMENT_TABLE_COUNT; i++) {
		vec_release(&finish->tables[i].values);
		free(finish->orders[i].old_row);
		free(finish->orders[i].new_row);
	}
}

static int copy_table(struct finish *finish, enum segment_table id)
{
	const struct builder_table *from = &finish->builder->tables[id];
	struct builder_table *table = &finish->tables[id];
	int r;

	table->layout = from->layout;
	table->count = from->count;
	r = vec_reserve(&table->values, from->values.count);
	if (r < 0 || from->values.count == 0)
		return r;
	memcpy(table->values.items, from->values.items,
	       from->values.count * sizeof(*from->values.items));
	table->values.count = from->values.count;
	return 0;
}

struct row_sort {
	const uint64_t *values;
	unsigned int n_columns;
};

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct row_sort *sort = arg;
	const uint64_t *left = sort->values + *(const uint32_t *)a * (size_t)sort->n_columns;
	const uint64_t *right = sort->values + *(const uint32_t *)b * (size_t)sort->n_columns;

	for (unsigned int k = 0; k < sort->n_columns; k++) {
		if (left[k] != right[k])
			return left[k] < right[k] ? -1 : 1;
	}
	return 0;
}

static bool is_sorted(const struct row_sort *sort, const uint32_t *rows, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (compare_rows(&rows[i - 1], &rows[i], (void *)(uintptr_t)sort) > 0)
			return false;
	}
	return true;
}

static void sort_by_columns(const struct builder_table *table, uint32_t *rows)
{
	struct row_sort sort = { .values = table->values.items,
				 .n_columns = table->layout.n_columns };

	if (!is_sorted(&sort, rows, table->count))
		qsort_r(rows, table->count, sizeof(*rows), compare_rows, &sort);
}

int segment_sort_samples(const struct builder_table *table, size_t n_series, uint32_t *rows)
{
	struct row_sort sort = { .values = table->values.items,
				 .n_columns = table->layout.n_columns };
	scoped_free uint32_t *starts = calloc(n_series + 2, sizeof(*starts));

	if (!starts)
		return -ENOMEM;
	for (size_t i = 0; i < table->count; i++)
		starts[sort.values[i * sort.n_columns]]++;
	for (uint32_t i = 0, sum = 0; i <= n_series + 1; i++) {
		uint32_t count = starts[i];

		starts[i] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < table->count; i++)
		rows[starts[sort.values[i * sort.n_columns]]++] = i;
	/* starts[i] is now the end of series i. */
	for (size_t i = 0; i <= n_series; i++) {
		size_t first = i ? starts[i - 1] : 0, count = starts[i] - first;

		if (!is_sorted(&sort, rows + first, count))
			qsort_r(rows + first, count, sizeof(*rows), compare_rows, &sort);
	}
	return 0;
}

/*
 * Puts nodes into depth-first order. by_parent has the nodes sorted by (parent, frame), so that the
 * children of a node are adjacent. next_child has for each node the index in by_parent of its first
 * child that is not in the order yet, plus one. There, item 0 is the root, and item i + 1 is row i.
 */
static int sort_nodes(const struct builder_table *table, uint32_t *rows)
{
	size_t count = table->count;
	scoped_free uint32_t *by_parent = malloc((count + 1) * sizeof(*by_parent));
	scoped_free uint32_t *next_child = calloc(count + 2, sizeof(*next_child));
	const uint64_t *values = table->values.items;
	uint64_t node = 0;

	if (!by_parent || !next_child)
		return -ENOMEM;
	memcpy(by_parent, rows, count * sizeof(*rows));
	sort_by_columns(table, by_parent);
	for (size_t i = count; i > 0; i--)
		next_child[values[2 * (size_t)by_parent[i - 1]]] = (uint32_t)i; /* index + 1 */
	for (size_t n_sorted = 0; n_sorted < count;) {
		uint32_t child = next_child[node];

		if (child == 0) {
			node = values[2 *
				      (node - 1)]; /* all children are done: back to the parent */
			continue;
		}
		rows[n_sorted++] = by_parent[child - 1];
		next_child[node] = child < count && values[2 * (size_t)by_parent[child]] == node
					   ? child + 1
					   : 0;
		node = (uint64_t)by_parent[child - 1] + 1;
	}
	return 0;
}

static uint64_t new_value(const struct finish *finish, const struct column_layout *layout,
			  uint64_t value)
{
	const uint32_t *new_row = finish->orders[layout->target].new_row;

	switch (layout->reference) {
	case REFERENCE_ROW_OF:
		return new_row[value];
	case REFERENCE_MAYBE:
	case REFERENCE_EARLIER:
		return value ? new_row[value - 1] + UINT64_C(1) : 0;
	case REFERENCE_NUMBER:
		break;
	}
	return value;
}

/* Replaces references to tables of which the order is final. */
static void renumber(struct finish *finish, enum segment_table id, bool to_itself)
{
	struct builder_table *table = &finish->tables[id];

	for (unsigned int k = 0; k < table->layout.n_columns; k++) {
		const struct column_layout *layout = &segment_columns[table->layout.first + k];

		if (layout->reference == REFERENCE_NUMBER || (layout->target == id) != to_itself)
			continue;
		for (size_t i = k; i < table->values.count; i += table->layout.n_columns)
			table->values.items[i] = new_value(finish, layout, table->values.items[i]);
	}
}

static int sort_table(struct finish *finish, enum segment_table id)
{
	struct builder_table *table = &finish->tables[id];
	struct order *order = &finish->orders[id];
	size_t count = segment_builder_count(finish->builder, id);
	int r = 0;

	order->old_row = malloc((count + 1) * sizeof(*order->old_row));
	order->new_row = malloc((count + 1) * sizeof(*order->new_row));
	if (!order->old_row || !order->new_row)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		order->old_row[i] = i;
	r = copy_table(finish, id);
	if (r < 0)
		return r;
	renumber(finish, id, false);
	switch (id) {
	case SEGMENT_PROCESS:
	case SEGMENT_SERIES:
	case SEGMENT_FRAME:
	case SEGMENT_STACK:
	case SEGMENT_TOTAL:
		sort_by_columns(table, order->old_row);
		break;
	case SEGMENT_NODE:
		r = sort_nodes(table, order->old_row);
		break;
	case SEGMENT_ROW:
		r = segment_sort_samples(table,
					 segment_builder_count(finish->builder, SEGMENT_SERIES),
					 order->old_row);
		break;
	default:
		break;
	}
	for (uint32_t i = 0; i < count; i++)
		order->new_row[order->old_row[i]] = i;
	renumber(finish, id, true);
	return r;
}

static int make_texts(const struct finish *finish, struct arena *arena, struct segment *segment)
{
	const struct string_table *texts = finish->builder->texts;
	uint32_t count = string_table_count(texts);
	uint8_t *bytes = arena_alloc(arena, MAX(string_table_bytes(texts), (size_t)1));
	uint64_t *ends = arena_alloc_array(arena, count, sizeof(*ends));
	size_t end = 0;

	if (!bytes || !ends)
		return -ENOMEM;
	for (string_id i = 0; i < count; i++) {
		memcpy(bytes + end, string_table_text(texts, i), string_table_length(texts, i));
		end += string_table_length(texts, i);
		ends[i] = end;
	}
	segment->count[SEGMENT_TEXT] = count;
	segment->column[TEXT_END] = ends;
	segment->texts = bytes;
	segment->text_bytes = end;
	return 0;
}

static int make_columns(const struct finish *finish, enum segment_table id, struct arena *arena,
			struct segment *segment)
{
	const struct builder_table *table = &finish->tables[id];
	const uint32_t *old_row = finish->orders[id].old_row;
	unsigned int n_columns = table->layout.n_columns;

	for (unsigned int k = 0; k < n_columns; k++) {
		uint64_t *column = arena_alloc_array(arena, table->count, sizeof(*column));

		if (!column)
			return -ENOMEM;
		for (size_t i = 0; i < table->count; i++)
			column[i] = table->values.items[(size_t)old_row[i] * n_columns + k];
		segment->column[table->layout.first + k] = column;
	}
	segment->count[id] = table->count;
	return 0;
}

/* Returns whether two adjacent rows of a roll-up are sums of the same stack and time, or series. */
static bool same_sum(const uint64_t *a, const uint64_t *b, enum segment_table id)
{
	return a[0] == b[0] && (id == SEGMENT_TOTAL || (a[1] == b[1] && a[2] == b[2]));
}

/* Adds row @b to the row @a. */
static int add_sum(uint64_t *a, const uint64_t *b, enum segment_table id)
{
	if (id == SEGMENT_TOTAL) {
		a[1] = MIN(a[1], b[1]);
		a[2] = MAX(a[2], b[2]);
	}
	return __builtin_add_overflow(a[3], b[3], &a[3]) ? -EOVERFLOW : 0;
}

/* Adds up equal rows in the order, and removes all but the first from it. */
static int add_up(struct finish *finish, enum segment_table id)
{
	struct builder_table *table = &finish->tables[id];
	uint32_t *rows = finish->orders[id].old_row;
	size_t n_kept = 0;

	for (size_t i = 0; i < table->count; i++) {
		uint64_t *row = table->values.items + (size_t)rows[i] * table->layout.n_columns;
		uint64_t *last = n_kept ? table->values.items +
						  (size_t)rows[n_kept - 1] * table->layout.n_columns
					: NULL;

		if (!last || !same_sum(last, row, id)) {
			rows[n_kept++] = rows[i];
		} else {
			int r = add_sum(last, row, id);

			if (r < 0)
				return r;
		}
	}
	table->count = n_kept;
	return 0;
}

int segment_builder_finish(const struct segment_builder *builder, struct arena *arena,
			   struct segment *ret_segment)
{
	scoped(finish_release) struct finish finish = { .builder = builder };
	struct segment segment = {};
	int r = 0;

	if (segment_builder_count(builder, SEGMENT_HEAD) != 1)
		return -EINVAL;
	for (unsigned int i = 0; i < SEGMENT_TABLE_COUNT && r == 0; i++)
		r = sort_table(&finish, i);
	if (r == 0 && finish.tables[SEGMENT_HEAD].values.items[0] == SEGMENT_ROLLUP) {
		r = add_up(&finish, SEGMENT_ROW);
		if (r == 0)
			r = add_up(&finish, SEGMENT_TOTAL);
	}
	if (r == 0)
		r = make_texts(&finish, arena, &segment);
	for (unsigned int i = SEGMENT_TEXT + 1; i < SEGMENT_TABLE_COUNT && r == 0; i++)
		r = make_columns(&finish, i, arena, &segment);
	if (r == 0 && segment.column[HEAD_KIND][0] == SEGMENT_SAMPLES)
		r = segment_make_ranges(&segment, arena);
	if (r == 0)
		*ret_segment = segment;
	return r;
}
