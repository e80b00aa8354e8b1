/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "common/arena.h"
#include "symbolizer/store/head/agents.h"

static struct batch_series series_1 = {
	.number = 1,
	.thread_name = "main",
	.type = EVENT_ON_CPU,
	.cpu = -1,
	.period_ns = 1,
};
static struct batch_row row_1 = { .series = 1, .slot = 1, .value = 1 };

static struct batch batch_of(uint8_t agent, uint64_t epoch, bool defined)
{
	return (struct batch){
		.agent_id = { .bytes = { agent } },
		.epoch = epoch,
		.host = { .name = "",
			  .machine_id = "",
			  .boot_id = "",
			  .agent_version = "",
			  .kernel_release = "",
			  .architecture = "" },
		.series = &series_1,
		.n_series = defined ? 1 : 0,
		.rows = &row_1,
		.n_rows = 1,
	};
}

static int learn(struct agents *agents, const char *tenant, struct batch batch)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_missing missing = {};
	const struct agent *agent;
	int r;

	assert_ok(arena_new(MIB, &arena));
	r = agents_learn(agents, tenant, &batch, arena, &missing, &agent);
	if (r == STORE_NEEDS_NUMBERS) {
		assert_int_equal(missing.n_series, 1);
		assert_int_equal(missing.series[0], 1);
	}
	return r;
}

static void numbers_belong_to_a_tenant_an_agent_and_an_epoch(void **state)
{
	scoped(agents_freep) struct agents *agents = NULL;

	(void)state;
	assert_ok(agents_new(MIB, 8, &agents));
	assert_int_equal(learn(agents, "a", batch_of(1, 1, false)), STORE_NEEDS_NUMBERS);
	assert_int_equal(learn(agents, "a", batch_of(1, 1, true)), STORE_STORED);
	assert_int_equal(learn(agents, "a", batch_of(1, 1, false)), STORE_STORED);
	assert_int_equal(learn(agents, "b", batch_of(1, 1, false)), STORE_NEEDS_NUMBERS);
	assert_int_equal(learn(agents, "a", batch_of(2, 1, false)), STORE_NEEDS_NUMBERS);
	assert_int_equal(learn(agents, "a", batch_of(1, 2, false)), STORE_NEEDS_NUMBERS);
}

static void the_agent_that_sent_nothing_for_longest_is_dropped(void **state)
{
	scoped(agents_freep) struct agents *agents = NULL;

	(void)state;
	assert_ok(agents_new(MIB, 2, &agents));
	assert_int_equal(learn(agents, "a", batch_of(1, 1, true)), STORE_STORED);
	assert_int_equal(learn(agents, "a", batch_of(2, 1, true)), STORE_STORED);
	assert_int_equal(learn(agents, "a", batch_of(1, 1, false)), STORE_STORED);
	assert_int_equal(learn(agents, "a", batch_of(3, 1, true)), STORE_STORED);
	assert_int_equal(learn(agents, "a", batch_of(1, 1, false)), STORE_STORED);
	assert_int_equal(learn(agents, "a", batch_of(2, 1, false)), STORE_NEEDS_NUMBERS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_belong_to_a_tenant_an_agent_and_an_epoch),
		cmocka_unit_test(the_agent_that_sent_nothing_for_longest_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
