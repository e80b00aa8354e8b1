/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of the numbers of agents: how many new stacks an hour allows, and the removal of an epoch
 * eight days after its last batch.
 */

#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#include <sqlite3.h>

#include "symbolizer/store/sqlite/sqlite_store_private.h"

/* The batch needs three new nodes of the tree of stacks, and the agent has two left. */
static void an_agent_waits_after_too_many_new_stacks_within_an_hour(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	struct node_budget *budget = sqlite_store_of(store)->writer->node_budget;
	struct hash128 agent_id, agent;
	struct store_stats stats;

	memset(&agent_id, 1, sizeof(agent_id));
	agent = node_budget_key("default", &agent_id);
	node_budget_spend(budget, &agent, NODE_BUDGET_PER_HOUR - 2, NOON);
	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), -EDQUOT);
	assert_ok(store_stats(store, &stats));
	assert_int_equal(stats.n_batches, 0);
	assert_int_equal(stats.n_stacks, 0);
	/* A refused batch costs nothing of what is left. */
	assert_int_equal(node_budget_left(budget, &agent, NOON), 2);
	clock.wall_ns += 3600 * NSEC_PER_SEC;
	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	assert_totals(store, 0, 0, 3, 7);
	assert_int_equal(node_budget_left(budget, &agent, clock.wall_ns), NODE_BUDGET_PER_HOUR - 3);
	/* Known stacks need no new nodes. */
	node_budget_spend(budget, &agent, NODE_BUDGET_PER_HOUR - 3, clock.wall_ns);
	assert_int_equal(write_batch(store, batch_at(2, NOON, true)), STORE_STORED);
}

static void numbers_of_old_epochs_are_removed(void **state)
{
	const uint64_t day = 24 * 3600 * NSEC_PER_SEC;
	struct test_clock clock = test_clock_at(NOON);
	struct store *store = open_store(*state, &clock);
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch_builder *builder;
	struct store_missing missing;

	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	/* Seven days later the agent is known, and this batch extends that. */
	advance_clock(store, &clock, NOON + 7 * day);
	assert_int_equal(write_batch(store, batch_at(2, NOON + day, false)), STORE_STORED);
	advance_clock(store, &clock, NOON + 14 * day);
	assert_int_equal(write_batch(store, batch_at(3, NOON + 2 * day, false)), STORE_STORED);
	/* A batch of another agent makes the writer remove old epochs. */
	advance_clock(store, &clock, NOON + 23 * day);
	builder = batch_builder_new(2, EPOCH, 1, NOON, NOON + NSEC_PER_SEC);
	assert_int_equal(write_batch(store, builder), STORE_STORED);
	assert_int_equal(write_batch_in(store, "default", batch_at(4, NOON + 3 * day, false), arena,
					&missing),
			 STORE_NEEDS_NUMBERS);
	assert_totals(store, 0, 0, 9, 21);
	/* Duplicates of its batches are still recognized. */
	assert_int_equal(write_batch(store, batch_at(3, NOON + 2 * day, true)), STORE_DUPLICATE);
	(void)store_free(store);
}

static int64_t count_epochs(const char *folder)
{
	scoped_free char *path = path_in(folder, "hearth.db");
	sqlite3_stmt *row = NULL;
	sqlite3 *db = NULL;
	int64_t count;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM epoch", -1, &row, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	count = sqlite3_column_int64(row, 0);
	(void)sqlite3_finalize(row);
	(void)sqlite3_close(db);
	return count;
}

static void old_epochs_are_removed_a_few_per_batch(void **state)
{
	enum { N_GONE = 40 };
	static const int64_t left_after[] = { N_GONE - 16 + 1, N_GONE - 32 + 1, 1, 1 };
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);

	for (uint8_t agent = 10; agent < 10 + N_GONE; agent++)
		assert_int_equal(write_batch(store, batch_builder_new(agent, EPOCH, 1, NOON,
								      NOON + NSEC_PER_SEC)),
				 STORE_STORED);
	advance_clock(store, &clock, NOON + UINT64_C(9 * 24 * 3600) * NSEC_PER_SEC);
	for (size_t i = 0; i < ARRAY_SIZE(left_after); i++) {
		assert_int_equal(write_batch(store, batch_builder_new(1, EPOCH, 1 + i, NOON,
								      NOON + NSEC_PER_SEC)),
				 STORE_STORED);
		assert_int_equal(count_epochs(*state), left_after[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(an_agent_waits_after_too_many_new_stacks_within_an_hour),
		in_folder(numbers_of_old_epochs_are_removed),
		in_folder(old_epochs_are_removed_a_few_per_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
