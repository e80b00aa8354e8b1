/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/sum_table.h"

#include "tests/support/unit.h"

static void put(struct sum_table *table, uint32_t group, uint64_t stack, uint64_t slot,
		uint64_t value)
{
	const struct store_sum_series series = { .group = group, .factor = 1 };

	assert_ok(sum_table_add(table, &series, stack, slot, value));
}

static void values_of_one_group_and_stack_are_summed(void **state)
{
	enum { GROUPS = 7, STACKS = 1500, ROUNDS = 3 };
	const struct store_sum_query query = {};
	struct store_sums sums = {};
	struct sum_table table;

	(void)state;
	assert_ok(sum_table_init(&table, &query, NULL));
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t group = 0; group < GROUPS; group++) {
			for (uint64_t stack = 0; stack < STACKS; stack++)
				put(&table, group, stack << 30, round, group * 10000 + stack);
		}
	}
	sum_table_take(&table, &sums);
	assert_int_equal(sums.count, GROUPS * STACKS);
	for (size_t i = 0; i < sums.count; i++) {
		assert_int_equal(sums.items[i].value, ROUNDS * (sums.items[i].group * 10000 +
								(sums.items[i].stack >> 30)));
		assert_int_equal(sums.items[i].last_slot, ROUNDS - 1);
	}
	store_sums_release(&sums);
}

static void a_state_keeps_the_value_of_its_last_slot(void **state)
{
	const struct store_sum_query query = { .policy = STORE_SUM_LAST };
	struct sum_table table;

	(void)state;
	assert_ok(sum_table_init(&table, &query, NULL));
	put(&table, 0, 1, 10, 5);
	put(&table, 0, 1, 20, 7);
	put(&table, 0, 1, 20, 1);
	put(&table, 0, 1, 15, 100);
	put(&table, 0, 2, 10, 9);
	put(&table, 0, 2, 30, 0);
	assert_int_equal(table.count, 2);
	assert_int_equal(table.items[0].value, 8);
	assert_int_equal(table.items[0].last_slot, 20);
	assert_int_equal(table.items[1].value, 0);
	assert_int_equal(table.items[1].last_slot, 30);
	sum_table_release(&table);
}

static void sums_and_products_saturate(void **state)
{
	const struct store_sum_series series = { .factor = UINT64_C(1) << 40 };
	const struct store_sum_query query = {};
	struct sum_table table;

	(void)state;
	assert_ok(sum_table_init(&table, &query, NULL));
	put(&table, 0, 1, 0, UINT64_MAX - 1);
	put(&table, 0, 1, 0, 10);
	assert_true(table.items[0].value == UINT64_MAX);
	assert_ok(sum_table_add(&table, &series, 2, 0, UINT64_C(1) << 30));
	assert_true(table.items[1].value == UINT64_MAX);
	sum_table_release(&table);
}

static void stacks_beyond_the_limit_share_an_item_of_their_group(void **state)
{
	const struct store_sum_query query = { .max_items = 10 };
	uint64_t sum = 0, other = 0;
	struct sum_table table;

	(void)state;
	assert_ok(sum_table_init(&table, &query, NULL));
	for (uint64_t stack = 1; stack <= 100; stack++)
		put(&table, (uint32_t)stack % 2, stack, 0, stack);
	put(&table, 0, 2, 0, 1000);
	assert_int_equal(table.count, 12);
	for (size_t i = 0; i < table.count; i++) {
		sum += table.items[i].value;
		if (table.items[i].stack == STORE_OTHER_STACKS)
			other += table.items[i].value;
	}
	assert_int_equal(sum, 5050 + 1000);
	assert_int_equal(other, 5050 - 55);
	sum_table_release(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_one_group_and_stack_are_summed),
		cmocka_unit_test(a_state_keeps_the_value_of_its_last_slot),
		cmocka_unit_test(sums_and_products_saturate),
		cmocka_unit_test(stacks_beyond_the_limit_share_an_item_of_their_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
