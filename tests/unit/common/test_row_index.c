/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "common/row_index.h"

#define N_ROWS    20000
#define N_COLUMNS 3

static void make_row(uint64_t number, uint64_t ret_values[N_COLUMNS])
{
	ret_values[0] = number % 7;
	ret_values[1] = number / 7;
	ret_values[2] = UINT64_MAX - number;
}

static void each_row_is_found_while_the_index_grows(void **state)
{
	uint64_t *rows = calloc(N_ROWS * N_COLUMNS, sizeof(*rows));
	struct row_index index;
	uint32_t row;

	(void)state;
	row_index_init(&index, N_COLUMNS);
	assert_int_equal(row_index_bytes(&index), 0);
	for (uint32_t i = 0; i < N_ROWS; i++) {
		make_row(i, rows + i * N_COLUMNS);
		assert_int_equal(row_index_add(&index, rows, rows + i * N_COLUMNS, i, &row), 1);
		assert_int_equal(row, i);
	}
	for (uint32_t i = 0; i < N_ROWS; i++) {
		uint64_t values[N_COLUMNS];

		make_row(i, values);
		assert_int_equal(row_index_add(&index, rows, values, N_ROWS, &row), 0);
		assert_int_equal(row, i);
	}
	assert_int_equal(index.count, N_ROWS);
	assert_true(row_index_bytes(&index) <= N_ROWS * 8 * 4);
	row_index_release(&index);
	free(rows);
}

static void a_row_that_is_undone_is_added_again(void **state)
{
	uint64_t rows[100 * N_COLUMNS];
	struct row_index index;
	uint32_t row;

	(void)state;
	row_index_init(&index, N_COLUMNS);
	for (uint32_t i = 0; i < 100; i++) {
		uint64_t *values = rows + i * N_COLUMNS;

		make_row(i, values);
		assert_int_equal(row_index_add(&index, rows, values, i, &row), 1);
		row_index_undo(&index, values, i);
		assert_int_equal(index.count, i);
		assert_int_equal(row_index_add(&index, rows, values, i, &row), 1);
	}
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(row_index_add(&index, rows, rows + i * N_COLUMNS, 100, &row), 0);
	row_index_release(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_is_found_while_the_index_grows),
		cmocka_unit_test(a_row_that_is_undone_is_added_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
