/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "symbolizer/ingest/executables_in_use.h"

static struct executable_id id_of(uint32_t seed)
{
	struct executable_id id;
	uint32_t bytes[5] = { seed, 1, 2, 3, 4 };

	assert_ok(executable_id_set(&id, EXECUTABLE_ID_GNU, bytes, sizeof(bytes)));
	return id;
}

static struct batch batch_of(uint8_t agent, uint64_t epoch)
{
	return (struct batch){ .agent_id = { .bytes = { agent } }, .epoch = epoch };
}

static void executables_are_returned_round_robin(void **state)
{
	scoped(executables_in_use_freep) struct executables_in_use *table = NULL;
	struct batch batch = batch_of(1, 1);
	struct agent_in_use *agent;
	unsigned int seen[3] = {};

	(void)state;
	assert_ok(executables_in_use_new(&table));
	assert_int_equal(agent_use(table, "default", &batch, &agent), 1);
	assert_null(agent_use_next(table, agent));
	for (uint32_t i = 0; i < 3; i++) {
		struct executable_id id = id_of(i);

		assert_ok(agent_use_add(table, agent, &id, ROLE_USER, "lib"));
		/* Adding an executable again changes nothing. */
		assert_ok(agent_use_add(table, agent, &id, ROLE_USER, "lib"));
	}
	assert_int_equal(agent_use_count(agent), 3);
	for (int i = 0; i < 6; i++)
		seen[agent_use_next(table, agent)->id.bytes[0]]++;
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		assert_int_equal(seen[i], 2);
}

static void a_new_epoch_of_an_agent_starts_with_an_empty_list(void **state)
{
	scoped(executables_in_use_freep) struct executables_in_use *table = NULL;
	struct executable_id id = id_of(1);
	struct batch first = batch_of(1, 10);
	struct batch second = batch_of(1, 20);
	struct agent_in_use *agent;

	(void)state;
	assert_ok(executables_in_use_new(&table));
	assert_int_equal(agent_use(table, "default", &first, &agent), 1);
	assert_ok(agent_use_add(table, agent, &id, ROLE_KERNEL, "[kernel]"));
	assert_int_equal(agent_use(table, "default", &first, &agent), 0);
	assert_int_equal(agent_use_count(agent), 1);
	assert_string_equal(agent_use_next(table, agent)->name, "[kernel]");
	assert_int_equal(agent_use(table, "default", &second, &agent), 1);
	assert_int_equal(agent_use_count(agent), 0);
	/* A late batch of the previous epoch does not clear the list. */
	assert_int_equal(agent_use(table, "default", &first, &agent), 0);
	/* Agents of two tenants are distinct, even with equal IDs. */
	assert_int_equal(agent_use(table, "other", &second, &agent), 1);
}

static void full_tables_stay_usable(void **state)
{
	enum { MORE_THAN_ONE_AGENT_MAY_HAVE = 70000 };
	scoped(executables_in_use_freep) struct executables_in_use *table = NULL;
	struct agent_in_use *agent;

	(void)state;
	assert_ok(executables_in_use_new(&table));
	for (uint8_t k = 1; k <= 3; k++) {
		struct batch batch = batch_of(k, 1);

		assert_int_equal(agent_use(table, "default", &batch, &agent), 1);
		for (uint32_t i = 0; i < MORE_THAN_ONE_AGENT_MAY_HAVE; i++) {
			struct executable_id id = id_of(k << 20 | i);

			assert_ok(agent_use_add(table, agent, &id, ROLE_USER, "x"));
		}
		assert_true(agent_use_count(agent) <= 65536);
	}
	/* The table of identities is full: agents can still add the known ones. */
	{
		struct batch batch = batch_of(9, 1);
		struct executable_id known = id_of(1 << 20 | 5);
		struct executable_id unknown = id_of(9 << 20);

		assert_int_equal(agent_use(table, "default", &batch, &agent), 1);
		assert_ok(agent_use_add(table, agent, &unknown, ROLE_USER, "x"));
		assert_int_equal(agent_use_count(agent), 0);
		assert_ok(agent_use_add(table, agent, &known, ROLE_USER, "x"));
		assert_int_equal(agent_use_count(agent), 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(executables_are_returned_round_robin),
		cmocka_unit_test(a_new_epoch_of_an_agent_starts_with_an_empty_list),
		cmocka_unit_test(full_tables_stay_usable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
