/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/paging/rule_pool.h"

#include "tests/unit/agent/paging/plain_pool.h"

#define MAX_RULES 600u

struct fixture {
	struct plain_pool *plain;
	struct slot_pool slots;
	struct rule_pool rules;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->plain = plain_pool_new();
	assert_ok(slot_pool_init(&fixture->slots, &fixture->plain->backend, 1));
	assert_ok(rule_pool_init(&fixture->rules, &fixture->slots, MAX_RULES));
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	rule_pool_release(&fixture->rules);
	slot_pool_release(&fixture->slots);
	plain_pool_free(fixture->plain);
	free(fixture);
	return 0;
}

static struct abi_unwind_rule rule(int32_t offset)
{
	return (struct abi_unwind_rule){ .cfa = UNWIND_CFA_SP, .cfa_offset = offset };
}

static void expect_rule(const struct fixture *fixture, uint16_t number, int32_t offset)
{
	struct abi_unwind_rule expected = rule(offset);

	assert_memory_equal(&fixture->plain->parts[0][number / 256].rules[number % 256], &expected,
			    sizeof(expected));
}

static uint16_t take(struct fixture *fixture, int32_t offset, uint32_t n_rows)
{
	struct abi_unwind_rule wanted = rule(offset);

	return rule_pool_take(&fixture->rules, &wanted, n_rows);
}

static void equal_rules_have_one_number(void **state)
{
	struct fixture *fixture = *state;
	struct abi_unwind_rule none = { .cfa = UNWIND_CFA_NONE };
	uint16_t number = take(fixture, 8, 1);

	assert_int_equal(rule_pool_take(&fixture->rules, &none, 5), UNWIND_RULE_NONE);
	assert_int_equal(take(fixture, 8, 3), number);
	assert_int_not_equal(take(fixture, 16, 1), number);
	assert_int_equal(rule_pool_count(&fixture->rules), 4);
	expect_rule(fixture, number, 8);
}

static void a_number_is_reused_after_its_last_row_is_dropped(void **state)
{
	struct fixture *fixture = *state;
	uint16_t number = take(fixture, 8, 2);

	rule_pool_drop(&fixture->rules, number);
	assert_int_not_equal(take(fixture, 16, 1), number);
	rule_pool_drop(&fixture->rules, number);
	assert_int_equal(take(fixture, 24, 1), number);
	expect_rule(fixture, number, 24);
	assert_int_not_equal(take(fixture, 8, 1), number);
}

static void without_a_free_number_the_rule_is_unsupported_and_counted(void **state)
{
	struct fixture *fixture = *state;
	uint16_t number = 0;

	for (uint32_t i = 0; i < MAX_RULES - 2; i++)
		number = take(fixture, 1000 + (int32_t)i, 1);
	assert_int_equal(number, MAX_RULES - 1);
	assert_int_equal(take(fixture, 7, 12), UNWIND_RULE_UNSUPPORTED);
	assert_int_equal(fixture->rules.n_refused, 12);
	/* Rules that have a number can still be taken. */
	assert_int_equal(take(fixture, 1000, 1), 2);
	/* The rows drop the same numbers that they took. */
	for (int i = 0; i < 12; i++)
		rule_pool_drop(&fixture->rules, UNWIND_RULE_UNSUPPORTED);
	rule_pool_drop(&fixture->rules, number);
	assert_int_equal(take(fixture, 7, 1), number);
	assert_int_equal(fixture->rules.n_refused, 12);
}

int main(void)
{
#define with_pool(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	static const struct CMUnitTest tests[] = {
		with_pool(equal_rules_have_one_number),
		with_pool(a_number_is_reused_after_its_last_row_is_dropped),
		with_pool(without_a_free_number_the_rule_is_unsupported_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
