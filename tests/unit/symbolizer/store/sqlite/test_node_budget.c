/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/sqlite/node_budget.h"

#include "tests/support/unit.h"

#define NOW    (1000 * NSEC_PER_SEC)
#define MINUTE (60 * NSEC_PER_SEC)

static struct hash128 agent_of(uint8_t number)
{
	return hash128_of(&number, 1);
}

static void spent_nodes_come_back_within_an_hour(void **state)
{
	scoped(node_budget_freep) struct node_budget *budget = NULL;
	struct hash128 agent = agent_of(1), other = agent_of(2);

	(void)state;
	assert_ok(node_budget_new(8, &budget));
	assert_int_equal(node_budget_left(budget, &agent, NOW), NODE_BUDGET_PER_HOUR);
	node_budget_spend(budget, &agent, 1000, NOW);
	assert_int_equal(node_budget_left(budget, &agent, NOW), NODE_BUDGET_PER_HOUR - 1000);
	node_budget_spend(budget, &agent, NODE_BUDGET_PER_HOUR - 1000, NOW);
	assert_int_equal(node_budget_left(budget, &agent, NOW), 0);
	assert_int_equal(node_budget_left(budget, &other, NOW), NODE_BUDGET_PER_HOUR);
	assert_in_range(node_budget_left(budget, &agent, NOW + 30 * MINUTE),
			NODE_BUDGET_PER_HOUR / 2 - 8192, NODE_BUDGET_PER_HOUR / 2 + 8192);
	assert_int_equal(node_budget_left(budget, &agent, NOW + 60 * MINUTE), NODE_BUDGET_PER_HOUR);
}

static void agents_that_do_not_fit_share_one_budget(void **state)
{
	scoped(node_budget_freep) struct node_budget *budget = NULL;
	struct hash128 first = agent_of(1), second = agent_of(2), third = agent_of(3);

	(void)state;
	assert_ok(node_budget_new(1, &budget));
	node_budget_spend(budget, &first, 10, NOW);
	node_budget_spend(budget, &second, 20, NOW);
	assert_int_equal(node_budget_left(budget, &first, NOW), NODE_BUDGET_PER_HOUR - 10);
	assert_int_equal(node_budget_left(budget, &second, NOW), NODE_BUDGET_PER_HOUR - 20);
	assert_int_equal(node_budget_left(budget, &third, NOW), NODE_BUDGET_PER_HOUR - 20);
	/* The first one has all its nodes again, and leaves the table. */
	node_budget_spend(budget, &third, 30, NOW + MINUTE);
	assert_int_equal(node_budget_left(budget, &third, NOW + MINUTE), NODE_BUDGET_PER_HOUR - 30);
	assert_int_equal(node_budget_left(budget, &first, NOW + MINUTE), NODE_BUDGET_PER_HOUR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spent_nodes_come_back_within_an_hour),
		cmocka_unit_test(agents_that_do_not_fit_share_one_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
