/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds tables in the order of segment_tables.def: a table refers only to tables before it, for
 * which the new rows are known then.
 */

#include "common/hash_table.h"
#include "symbolizer/store/segment/segment_builder_private.h"

/* Arrays of the new row for each old row, by table. */
struct row_map {
	uint64_t *rows[SEGMENT_TABLE_COUNT];
};

static void row_map_release(struct row_map *map)
{
	for (unsigned int i = 0; i < SEGMENT_TABLE_COUNT; i++)
		free(map->rows[i]);
}

static uint64_t map_value(const struct row_map *map, const struct column_layout *layout,
			  uint64_t value)
{
	switch (layout->reference) {
	case REFERENCE_ROW_OF:
		return map->rows[layout->target][value];
	case REFERENCE_MAYBE:
	case REFERENCE_EARLIER:
		return value ? map->rows[layout->target][value - 1] + 1 : 0;
	case REFERENCE_NUMBER:
		break;
	}
	return value;
}

static int add_texts(struct segment_builder *builder, const struct segment *segment,
		     struct row_map *map)
{
	for (size_t i = 0; i < segment->count[SEGMENT_TEXT]; i++) {
		struct bytes_view text = segment_text(segment, i);
		int r = segment_builder_text(builder, text.data, text.size,
					     &map->rows[SEGMENT_TEXT][i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int add_table(struct segment_builder *builder, const struct segment *segment,
		     enum segment_table table, struct row_map *map)
{
	const struct table_layout layout = segment_table_layout(table);
	uint64_t values[SEGMENT_MAX_COLUMNS];

	for (size_t i = 0; i < segment->count[table]; i++) {
		int r;

		for (unsigned int k = 0; k < layout.n_columns; k++)
			values[k] = map_value(map, &segment_columns[layout.first + k],
					      segment->column[layout.first + k][i]);
		r = segment_builder_add(builder, table, values, &map->rows[table][i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A head that differs makes a second row. */
static int check_head(const struct segment_builder *builder)
{
	return segment_builder_count(builder, SEGMENT_HEAD) == 1 ? 0 : -EINVAL;
}

/* Adds the tables of the set. */
static int add_tables(struct segment_builder *builder, const struct segment *segment,
		      unsigned int tables, struct row_map *map)
{
	int r = 0;

	for (unsigned int i = 0; i < SEGMENT_TABLE_COUNT && r == 0; i++) {
		if (!(tables & SEGMENT_SET(i)))
			continue;
		map->rows[i] = malloc(MAX(segment->count[i], (size_t)1) * sizeof(uint64_t));
		if (!map->rows[i])
			return -ENOMEM;
		r = i == SEGMENT_TEXT ? add_texts(builder, segment, map)
				      : add_table(builder, segment, i, map);
	}
	return r;
}

int segment_builder_add_segment(struct segment_builder *builder, const struct segment *segment)
{
	/* Those of samples are made again of all rows. */
	const unsigned int made =
		segment->column[HEAD_KIND][0] == SEGMENT_SAMPLES ? SEGMENT_SET(SEGMENT_TOTAL) : 0;
	scoped(row_map_release) struct row_map map = {};
	int r;

	r = add_tables(builder, segment, SEGMENT_ALL & ~made, &map);
	return r < 0 ? r : check_head(builder);
}

static int add_rollup_head(struct segment_builder *builder, const struct segment *segment,
			   const struct row_map *map)
{
	const struct table_layout layout = segment_table_layout(SEGMENT_HEAD);
	uint64_t values[SEGMENT_MAX_COLUMNS];
	int r;

	for (unsigned int k = 0; k < layout.n_columns; k++)
		values[k] = map_value(map, &segment_columns[layout.first + k],
				      segment->column[layout.first + k][0]);
	values[0] = SEGMENT_ROLLUP; /* HEAD_KIND is the first column */
	r = segment_builder_add(builder, SEGMENT_HEAD, values, NULL);
	return r < 0 ? r : check_head(builder);
}

/* Computes the value of a row in the unit of the event type. */
static int value_in_unit(const struct segment *segment, size_t row, uint64_t *ret_value)
{
	uint64_t series = segment->column[ROW_SERIES][row];
	uint64_t period = series ? segment->column[SERIES_PERIOD_NS][series - 1] : 0;
	uint64_t value = segment->column[ROW_VALUE][row];

	if (period > 0 && __builtin_mul_overflow(value, period, &value))
		return -EOVERFLOW;
	*ret_value = value;
	return 0;
}

static int add_to(uint64_t *sum, uint64_t value)
{
	return __builtin_add_overflow(*sum, value, sum) ? -EOVERFLOW : 0;
}

/* A row of the roll-up. */
struct sum_key {
	uint64_t slot;  /* first of the range */
	uint64_t stack; /* of the segment */
};

/* @sums: struct sum_key -> u64 */
static int sum_stacks(const struct segment *segment, uint64_t slots_per_row,
		      struct hash_table *sums)
{
	const uint64_t *slots = segment->column[ROW_SLOT], *stacks = segment->column[ROW_STACK];
	int r = 0;

	for (size_t i = 0; i < segment->count[SEGMENT_ROW] && r == 0; i++) {
		const struct sum_key key = { .slot = slots[i] - slots[i] % slots_per_row,
					     .stack = stacks[i] };
		uint64_t *sum;
		uint64_t value;

		r = value_in_unit(segment, i, &value);
		if (r < 0 || value == 0)
			continue;
		r = hash_table_insert(sums, &key, (void **)&sum);
		if (r >= 0)
			r = add_to(sum, value);
	}
	return r;
}

static int add_stack_sums(struct segment_builder *builder, const struct segment *segment,
			  uint64_t slots_per_row, const struct row_map *map)
{
	scoped(hash_table_freep) struct hash_table *sums = NULL;
	const struct sum_key *key;
	const uint64_t *sum;
	size_t cursor = 0;
	int r;

	r = hash_table_new(sizeof(*key), sizeof(*sum), SEGMENT_MAX_ROWS, &sums);
	if (r == 0)
		r = sum_stacks(segment, slots_per_row, sums);
	while (r == 0 && hash_table_next(sums, &cursor, (const void **)&key, (void **)&sum))
		r = segment_builder_add(
			builder, SEGMENT_ROW,
			(uint64_t[]){ 0, key->slot,
				      map_value(map, &segment_columns[ROW_STACK], key->stack),
				      *sum },
			NULL);
	return r;
}

/* Rows are sorted by series. */
static int add_totals(struct segment_builder *builder, const struct segment *segment,
		      const struct row_map *map)
{
	const uint64_t *series = segment->column[ROW_SERIES], *slots = segment->column[ROW_SLOT];
	size_t n_rows = segment->count[SEGMENT_ROW];
	size_t i = 0;

	while (i < n_rows && series[i] == 0)
		i++;
	while (i < n_rows) {
		uint64_t total[] = { map->rows[SEGMENT_SERIES][series[i] - 1], slots[i], slots[i],
				     0 };
		uint64_t current = series[i], value;
		int r = 0;

		for (; i < n_rows && series[i] == current && r == 0; i++) {
			total[1] = MIN(total[1], slots[i]);
			total[2] = MAX(total[2], slots[i]);
			r = value_in_unit(segment, i, &value);
			if (r == 0)
				r = add_to(&total[3], value);
		}
		if (r == 0)
			r = segment_builder_add(builder, SEGMENT_TOTAL, total, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

int segment_builder_add_rollup(struct segment_builder *builder, const struct segment *segment,
			       uint64_t slots_per_row)
{
	static const unsigned int definitions =
		SEGMENT_ALL & ~(SEGMENT_SET(SEGMENT_HEAD) | SEGMENT_SET(SEGMENT_ROW) |
				SEGMENT_SET(SEGMENT_TOTAL));
	scoped(row_map_release) struct row_map map = {};
	int r;

	assert(slots_per_row > 0);
	if (segment->column[HEAD_EVENT_KIND][0] == EVENT_VALUE_STATE ||
	    segment->column[HEAD_KIND][0] != SEGMENT_SAMPLES)
		return -EINVAL;
	r = add_tables(builder, segment, definitions, &map);
	if (r == 0)
		r = add_rollup_head(builder, segment, &map);
	if (r == 0)
		r = add_stack_sums(builder, segment, slots_per_row, &map);
	return r < 0 ? r : add_totals(builder, segment, &map);
}
