/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/stack_values.h"

#include "tests/support/unit.h"

static void values_of_one_group_and_stack_are_summed(void **state)
{
	enum { GROUPS = 7, STACKS = 1500, ROUNDS = 3 };
	scoped(stack_values_freep) struct stack_values *values = NULL;
	const struct stack_value *items;
	size_t count;

	(void)state;
	assert_ok(stack_values_new(&values));
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t group = 0; group < GROUPS; group++) {
			for (uint64_t stack = 0; stack < STACKS; stack++)
				assert_ok(stack_values_add(values, group, stack << 30, round,
							   group * 10000 + stack));
		}
	}
	items = stack_values_items(values, &count);
	assert_int_equal(count, GROUPS * STACKS);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(items[i].value,
				 ROUNDS * (items[i].group * 10000 + (items[i].stack >> 30)));
		assert_int_equal(items[i].last_slot, ROUNDS - 1);
	}
}

static void a_state_keeps_the_value_of_its_last_slot(void **state)
{
	scoped(stack_values_freep) struct stack_values *values = NULL;
	const struct stack_value *items;
	size_t count;

	(void)state;
	assert_ok(stack_values_new(&values));
	assert_ok(stack_values_replace(values, 0, 1, 10, 5));
	assert_ok(stack_values_replace(values, 0, 1, 20, 7));
	assert_ok(stack_values_replace(values, 0, 1, 20, 1));
	assert_ok(stack_values_replace(values, 0, 1, 15, 100));
	assert_ok(stack_values_replace(values, 0, 2, 10, 9));
	assert_ok(stack_values_replace(values, 0, 2, 30, 0));
	items = stack_values_items(values, &count);
	assert_int_equal(count, 2);
	assert_int_equal(items[0].value, 8);
	assert_int_equal(items[0].last_slot, 20);
	assert_int_equal(items[1].value, 0);
	assert_int_equal(items[1].last_slot, 30);
}

static void sums_saturate(void **state)
{
	scoped(stack_values_freep) struct stack_values *values = NULL;
	size_t count;

	(void)state;
	assert_ok(stack_values_new(&values));
	assert_ok(stack_values_add(values, 0, 1, 0, UINT64_MAX - 1));
	assert_ok(stack_values_add(values, 0, 1, 0, 10));
	assert_true(stack_values_items(values, &count)->value == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_one_group_and_stack_are_summed),
		cmocka_unit_test(a_state_keeps_the_value_of_its_last_slot),
		cmocka_unit_test(sums_saturate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
