/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are sorted by series, then by slot. So the rows of a thread are adjacent, and slots only
 * decrease where another series begins. Therefore the differences of both columns are small. If all
 * values are one, the value column is omitted.
 */
#include "agent/wire/encode_tables.h"

#include <stdlib.h>

#include "common/limits.h"

/* 104 days in ns, 9 PB in bytes. A larger value is an error, but must not invalidate the batch. */
#define MAX_ROW_VALUE (UINT64_C(1) << 53)

static int compare_rows(const void *a, const void *b)
{
	const struct window_row *one = a, *other = b;

	if (one->series != other->series)
		return one->series < other->series ? -1 : 1;
	if (one->slot != other->slot)
		return one->slot < other->slot ? -1 : 1;
	return (one->stack > other->stack) - (one->stack < other->stack);
}

/* Saturates at the largest value that the server accepts. */
static uint64_t add_values(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? MAX_ROW_VALUE : MIN(sum, MAX_ROW_VALUE);
}

static void join_equal_rows(struct window *window)
{
	struct window_row *rows = window->rows;
	size_t count = 0;

	for (size_t i = 0; i < window->n_rows; i++) {
		if (count > 0 && compare_rows(&rows[count - 1], &rows[i]) == 0) {
			rows[count - 1].value = add_values(rows[count - 1].value, rows[i].value);
			continue;
		}
		rows[count] = rows[i];
		rows[count].value = MIN(rows[i].value, MAX_ROW_VALUE);
		count++;
	}
	window->n_rows = count;
}

static uint64_t smallest_slot(const struct window *window)
{
	uint64_t smallest = UINT64_MAX;

	for (size_t i = 0; i < window->n_rows; i++)
		smallest = MIN(smallest, window->rows[i].slot);
	return smallest;
}

static bool all_values_are_one(const struct window *window)
{
	for (size_t i = 0; i < window->n_rows; i++)
		if (window->rows[i].value != 1)
			return false;
	return true;
}

static int difference(uint64_t value, uint64_t before, int32_t *ret_difference)
{
	int64_t result = (int64_t)(value - before);

	if (result < INT32_MIN || result > INT32_MAX)
		return -ERANGE;
	*ret_difference = (int32_t)result;
	return 0;
}

static int fill_columns(const struct window *window, Hearth__V1__RowTable *table)
{
	uint64_t last_series = 0;
	uint64_t last_slot = table->first_slot;

	for (size_t i = 0; i < window->n_rows; i++) {
		const struct window_row *row = &window->rows[i];
		int r;

		r = difference(row->series, last_series, &table->series[i]);
		if (r < 0)
			return r;
		r = difference(row->slot, last_slot, &table->slot[i]);
		if (r < 0)
			return r;
		table->stack[i] = row->stack;
		if (table->value)
			table->value[i] = row->value;
		last_series = row->series;
		last_slot = row->slot;
	}
	return 0;
}

static int new_table(const struct window *window, struct arena *arena,
		     Hearth__V1__RowTable **ret_table)
{
	Hearth__V1__RowTable *table = arena_alloc(arena, sizeof(*table));
	size_t count = window->n_rows;

	if (!table)
		return -ENOMEM;
	hearth__v1__row_table__init(table);
	table->first_slot = smallest_slot(window);
	table->n_series = table->n_slot = table->n_stack = count;
	table->series = arena_alloc_array(arena, count, sizeof(*table->series));
	table->slot = arena_alloc_array(arena, count, sizeof(*table->slot));
	table->stack = arena_alloc_array(arena, count, sizeof(*table->stack));
	if (!table->series || !table->slot || !table->stack)
		return -ENOMEM;
	if (!all_values_are_one(window)) {
		table->n_value = count;
		table->value = arena_alloc_array(arena, count, sizeof(*table->value));
		if (!table->value)
			return -ENOMEM;
	}
	*ret_table = table;
	return 0;
}

int encode_rows(struct window *window, struct arena *arena, Hearth__V1__RowTable **ret_table)
{
	Hearth__V1__RowTable *table;
	int r;

	*ret_table = NULL;
	if (window->n_rows == 0)
		return 0;
	qsort(window->rows, window->n_rows, sizeof(*window->rows), compare_rows);
	join_equal_rows(window);
	if (window->n_rows == 0)
		return 0;
	if (window->n_rows > BATCH_MAX_ROWS)
		return -EFBIG;

	r = new_table(window, arena, &table);
	if (r < 0)
		return r;
	r = fill_columns(window, table);
	if (r < 0)
		return r;
	*ret_table = table;
	return 0;
}
