/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "symbolizer/store/clickhouse/id_table.h"

static struct hash128 id_of(uint8_t byte)
{
	return (struct hash128){ .bytes = { byte } };
}

static uint32_t number_of(struct id_table *table, uint8_t byte)
{
	const struct hash128 id = id_of(byte);
	uint32_t number;

	assert_ok(id_table_number(table, &id, &number));
	return number;
}

static void numbers_are_dense_and_zero_is_the_zero_hash(void **state)
{
	scoped(id_table_freep) struct id_table *table = NULL;
	const struct hash128 id = id_of(7);

	(void)state;
	assert_ok(id_table_new(10, NULL, &table));
	assert_int_equal(number_of(table, 7), 1);
	assert_int_equal(number_of(table, 8), 2);
	assert_int_equal(number_of(table, 7), 1);
	assert_int_equal(number_of(table, 0), 0);
	assert_memory_equal(id_table_id(table, 1), &id, sizeof(id));
	assert_null(id_table_id(table, 3));
	assert_null(id_table_id(table, UINT64_MAX));
}

static void a_full_table_refuses_new_ids_only(void **state)
{
	scoped(id_table_freep) struct id_table *table = NULL;
	const struct hash128 third = id_of(3);
	uint32_t number;

	(void)state;
	assert_ok(id_table_new(2, NULL, &table));
	assert_int_equal(number_of(table, 1), 1);
	assert_int_equal(number_of(table, 2), 2);
	assert_errno(id_table_number(table, &third, &number), -ENOSPC);
	assert_int_equal(number_of(table, 2), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_dense_and_zero_is_the_zero_hash),
		cmocka_unit_test(a_full_table_refuses_new_ids_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
