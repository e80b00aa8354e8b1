/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache of numbers, with a hearth.db that has no numbers.
 */

#include "tests/support/unit.h"

#include "symbolizer/store/sqlite/agent_cache.h"

#define MAX_NUMBERS 100

struct fixture {
	char *folder;
	struct sqlite_db *hearth;
	struct agent_cache *cache;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_ok(temp_folder_setup((void **)&fixture->folder));
	assert_ok(hearth_db_open(fixture->folder, true, &fixture->hearth));
	assert_ok(agent_cache_new(MAX_NUMBERS, &fixture->cache));
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	(void)agent_cache_free(fixture->cache);
	(void)sqlite_db_free(fixture->hearth);
	assert_ok(temp_folder_teardown((void **)&fixture->folder));
	free(fixture);
	return 0;
}

static struct agent *use_agent(struct fixture *fixture, uint8_t id)
{
	const struct batch batch = { .agent_id = { .bytes = { id } }, .epoch = 1 };
	struct agent *agent = NULL;

	assert_ok(agent_cache_find(fixture->cache, fixture->hearth, "default", &batch, &agent));
	return agent;
}

static void remember(struct fixture *fixture, struct agent *agent, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		agent_remember(fixture->cache, agent, NUMBER_STACK, i, i * 10);
}

static int knows(struct fixture *fixture, struct agent *agent, uint32_t number)
{
	uint64_t id = 0;
	int r = agent_number(fixture->cache, fixture->hearth, agent, NUMBER_STACK, number, &id);

	assert_int_equal(id, r > 0 ? number * 10 : 0);
	return r;
}

static void new_numbers_of_known_agents_evict_other_agents(void **state)
{
	struct fixture *fixture = *state;

	/* After the first round no agent is new. */
	for (uint32_t round = 0; round < 10; round++)
		for (uint8_t id = 1; id <= 4; id++) {
			remember(fixture, use_agent(fixture, id), 1 + round * 20, 20);
			assert_true(agent_cache_count(fixture->cache) <= MAX_NUMBERS);
		}
}

static void the_agent_in_use_is_not_evicted(void **state)
{
	struct fixture *fixture = *state;
	struct agent *agent;

	remember(fixture, use_agent(fixture, 1), 1, 60);
	agent = use_agent(fixture, 2);
	remember(fixture, agent, 1, 3 * MAX_NUMBERS);
	assert_int_equal(agent_cache_count(fixture->cache), 3 * MAX_NUMBERS);
	for (uint32_t i = 1; i <= 3 * MAX_NUMBERS; i++)
		assert_int_equal(knows(fixture, agent, i), 1);
	/* Agent 2 is evicted when another agent is in use. */
	agent = use_agent(fixture, 1);
	assert_int_equal(agent_cache_count(fixture->cache), 0);
	assert_int_equal(knows(fixture, agent, 1), 0);
}

static void a_lookup_evicts_agents_beyond_the_limit(void **state)
{
	struct fixture *fixture = *state;

	remember(fixture, use_agent(fixture, 1), 1, 1);
	remember(fixture, use_agent(fixture, 2), 1, 2 * MAX_NUMBERS);
	remember(fixture, use_agent(fixture, 3), 1, 1);
	assert_int_equal(agent_cache_count(fixture->cache), 1);
	remember(fixture, use_agent(fixture, 2), 1, 2 * MAX_NUMBERS);
	assert_int_equal(agent_cache_count(fixture->cache), 2 * MAX_NUMBERS);
	assert_int_equal(knows(fixture, use_agent(fixture, 3), 1), 0);
	assert_int_equal(agent_cache_count(fixture->cache), 0);
}

int main(void)
{
#define with_cache(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		with_cache(new_numbers_of_known_agents_evict_other_agents),
		with_cache(the_agent_in_use_is_not_evicted),
		with_cache(a_lookup_evicts_agents_beyond_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
