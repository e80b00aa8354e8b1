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

static struct agents *new_agents(size_t max_numbers_bytes, size_t max_agents,
				 size_t max_all_numbers_bytes)
{
	const struct agents_options options = { .max_numbers_bytes = max_numbers_bytes,
						.max_agents = max_agents,
						.max_all_numbers_bytes = max_all_numbers_bytes };
	struct agents *agents = NULL;

	assert_ok(agents_new(&options, &agents));
	return agents;
}

static int learn(struct agents *agents, const char *tenant, struct batch batch)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_missing missing = {};
	int r;

	assert_ok(arena_new(MIB, &arena));
	r = agents_learn(agents, tenant, &batch, arena, &missing);
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
	agents = new_agents(MIB, 8, 0);
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
	agents = new_agents(MIB, 2, 0);
	assert_int_equal(learn(agents, "a", batch_of(1, 1, true)), STORE_STORED);
	assert_int_equal(learn(agents, "a", batch_of(2, 1, true)), STORE_STORED);
	assert_int_equal(learn(agents, "a", batch_of(1, 1, false)), STORE_STORED);
	assert_int_equal(learn(agents, "a", batch_of(3, 1, true)), STORE_STORED);
	assert_int_equal(learn(agents, "a", batch_of(1, 1, false)), STORE_STORED);
	assert_int_equal(learn(agents, "a", batch_of(2, 1, false)), STORE_NEEDS_NUMBERS);
}

/* Whether the numbers are in memory. Does not change when they were used. */
static bool knows(const struct agents *agents, uint8_t agent, uint64_t epoch)
{
	const struct batch batch = batch_of(agent, epoch, false);

	return agents_find(agents, "a", &batch) != NULL;
}

static void store(struct agents *agents, uint8_t agent, uint64_t epoch)
{
	const struct batch batch = batch_of(agent, epoch, true);

	assert_int_equal(learn(agents, "a", batch), STORE_STORED);
	agents_note_stored(agents, "a", &batch);
}

static void numbers_can_be_set_and_forgotten(void **state)
{
	scoped(agents_freep) struct agents *agents = NULL;
	const struct batch batch = batch_of(1, 1, true);
	struct numbers_missing missing = {};
	struct numbers *numbers;

	(void)state;
	agents = new_agents(MIB, 2, 0);
	assert_int_equal(agents_bytes(agents), 0);
	assert_false(knows(agents, 1, 1));
	for (int i = 0; i < 2; i++) {
		assert_ok(numbers_new(MIB, &numbers));
		assert_ok(numbers_learn(numbers, &batch, &missing));
		numbers_missing_release(&missing);
		assert_ok(agents_set_numbers_take(agents, "a", &batch, numbers));
		assert_ptr_equal(agents_find(agents, "a", &batch)->numbers, numbers);
		assert_int_equal(agents_bytes(agents), numbers_bytes(numbers));
	}
	agents_forget(agents, "a", &batch);
	agents_forget(agents, "a", &batch);
	assert_false(knows(agents, 1, 1));
	assert_int_equal(agents_bytes(agents), 0);
	for (uint8_t agent = 1; agent <= 3; agent++) {
		const struct batch next = batch_of(agent, 1, true);

		assert_ok(numbers_new(MIB, &numbers));
		assert_ok(agents_set_numbers_take(agents, "a", &next, numbers));
	}
	assert_false(knows(agents, 1, 1));
	assert_true(knows(agents, 2, 1) && knows(agents, 3, 1));
}

/* A batch that defines @count series from @first on. */
static struct batch many_series(struct batch_series *series, uint32_t first, uint32_t count)
{
	struct batch batch = batch_of(1, 1, true);

	for (uint32_t i = 0; i < count; i++) {
		series[i] = series_1;
		series[i].number = first + i;
	}
	batch.series = series;
	batch.n_series = count;
	batch.n_rows = 0;
	return batch;
}

static void full_numbers_are_reported_or_dropped(void **state)
{
	enum { COUNT = 100 };
	scoped(agents_freep) struct agents *agents = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch_series series[COUNT];
	struct store_missing missing;
	struct batch batch;
	uint32_t first = 1;
	int r = STORE_STORED;

	(void)state;
	assert_ok(arena_new(MIB, &arena));
	agents = new_agents(64 * KIB, 2, 0);
	while (r == STORE_STORED) {
		assert_in_range(first, 1, 100000);
		batch = many_series(series, first, COUNT);
		r = agents_try_learn(agents, "a", &batch, arena, &missing);
		first += COUNT;
	}
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(learn(agents, "a", batch_of(1, 1, false)), STORE_STORED);
	assert_int_equal(agents_learn(agents, "a", &batch, arena, &missing), STORE_STORED);
	assert_int_equal(learn(agents, "a", batch_of(1, 1, false)), STORE_NEEDS_NUMBERS);
	assert_int_equal(agents_bytes(agents),
			 numbers_bytes(agents_find(agents, "a", &batch)->numbers));
}

static void numbers_of_older_epochs_are_dropped_at_the_next_trim(void **state)
{
	scoped(agents_freep) struct agents *agents = NULL;
	const struct batch other_tenant = batch_of(1, 1, true);

	(void)state;
	agents = new_agents(MIB, 100, 0);
	assert_int_equal(learn(agents, "b", other_tenant), STORE_STORED);
	store(agents, 2, 1);
	store(agents, 1, 1);
	store(agents, 1, 2);
	/* Learned, but not stored. */
	assert_int_equal(learn(agents, "a", batch_of(1, 9, true)), STORE_STORED);
	store(agents, 1, 3);
	assert_true(knows(agents, 1, 1) && knows(agents, 1, 2));
	agents_trim(agents);
	assert_false(knows(agents, 1, 1) || knows(agents, 1, 2));
	assert_true(knows(agents, 1, 3) && knows(agents, 1, 9) && knows(agents, 2, 1));
	assert_non_null(agents_find(agents, "b", &other_tenant));

	/* Late batches of a spool: the numbers stay until the agent begins the next epoch. */
	store(agents, 1, 2);
	store(agents, 1, 3);
	agents_trim(agents);
	assert_true(knows(agents, 1, 2) && knows(agents, 1, 3));
	store(agents, 1, 9);
	agents_trim(agents);
	assert_false(knows(agents, 1, 2) || knows(agents, 1, 3));
	assert_true(knows(agents, 1, 9));
}

enum { N_AGENTS = 64 };

static size_t bytes_of_one(void)
{
	scoped(agents_freep) struct agents *agents = NULL;

	agents = new_agents(MIB, 1, 0);
	store(agents, 1, 1);
	return agents_bytes(agents);
}

static void a_trim_keeps_the_newer_half(void **state)
{
	scoped(agents_freep) struct agents *agents = NULL;
	const size_t max_bytes = (N_AGENTS - 1) * bytes_of_one();
	size_t n_known = 0;

	(void)state;
	agents = new_agents(MIB, 100, max_bytes);
	for (uint8_t agent = 0; agent < N_AGENTS; agent++)
		store(agents, agent, 1);
	assert_int_equal(agents_bytes(agents), N_AGENTS * bytes_of_one());
	agents_trim(agents);
	for (uint8_t agent = 0; agent < N_AGENTS; agent++) {
		assert_true(knows(agents, agent, 1) || agent < N_AGENTS / 2);
		n_known += knows(agents, agent, 1);
	}
	/* 1/16 of the limit is free, so that not every group of batches drops some. */
	assert_int_equal(n_known, max_bytes * 15 / 16 / bytes_of_one());
	agents_trim(agents);
	assert_int_equal(agents_bytes(agents), n_known * bytes_of_one());
}

static void a_trim_drops_the_newer_half_too_if_it_must(void **state)
{
	scoped(agents_freep) struct agents *agents = NULL;

	(void)state;
	agents = new_agents(MIB, 100, 3 * bytes_of_one());
	for (uint8_t agent = 0; agent < N_AGENTS; agent++)
		store(agents, agent, 1);
	agents_trim(agents);
	assert_int_equal(agents_bytes(agents), 2 * bytes_of_one());
	assert_true(knows(agents, N_AGENTS - 1, 1) || knows(agents, N_AGENTS - 2, 1) ||
		    knows(agents, N_AGENTS - 3, 1) || knows(agents, N_AGENTS - 4, 1));
}

static void numbers_over_the_limit_alone_are_dropped(void **state)
{
	scoped(agents_freep) struct agents *agents = NULL;

	(void)state;
	agents = new_agents(MIB, 100, 100);
	store(agents, 1, 1);
	assert_true(knows(agents, 1, 1));
	agents_trim(agents);
	assert_int_equal(agents_bytes(agents), 0);
}

/* With room for 3/4 of the agents, always dropping the one used least recently would find none. */
static void some_agents_that_send_in_turns_are_found(void **state)
{
	enum { ROUNDS = 20 };
	scoped(agents_freep) struct agents *agents = NULL;
	const size_t max_bytes = N_AGENTS * 3 / 4 * bytes_of_one();
	size_t n_found = 0;

	(void)state;
	agents = new_agents(MIB, 100, max_bytes);
	for (int round = 0; round < ROUNDS; round++) {
		for (uint8_t agent = 0; agent < N_AGENTS; agent++) {
			agents_trim(agents);
			assert_true(agents_bytes(agents) <= max_bytes);
			n_found += knows(agents, agent, 1);
			store(agents, agent, 1);
		}
	}
	assert_true(n_found > ROUNDS * N_AGENTS / 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_belong_to_a_tenant_an_agent_and_an_epoch),
		cmocka_unit_test(the_agent_that_sent_nothing_for_longest_is_dropped),
		cmocka_unit_test(numbers_can_be_set_and_forgotten),
		cmocka_unit_test(full_numbers_are_reported_or_dropped),
		cmocka_unit_test(numbers_of_older_epochs_are_dropped_at_the_next_trim),
		cmocka_unit_test(a_trim_keeps_the_newer_half),
		cmocka_unit_test(a_trim_drops_the_newer_half_too_if_it_must),
		cmocka_unit_test(numbers_over_the_limit_alone_are_dropped),
		cmocka_unit_test(some_agents_that_send_in_turns_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
