/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of agents: they survive restarts of the server, are requested if the server lacks
 * them, and are removed eight days after the last batch of the epoch.
 */

#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#include <sqlite3.h>

#include "symbolizer/store/sqlite/sqlite_store_private.h"

static void acknowledged_numbers_survive_a_restart(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	struct store *store = open_store(*state, &clock);

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	(void)store_free(store);
	for (uint64_t i = 2; i < 5; i++) {
		store = open_store(*state, &clock);
		assert_int_equal(write_batch(store, batch_at(i, NOON + i * NSEC_PER_SEC, false)),
				 STORE_STORED);
		assert_totals(store, 0, 0, 3 * i, 7 * i);
		(void)store_free(store);
	}
}

static void a_server_with_an_empty_store_requests_all_numbers(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_missing missing;
	struct store_stats stats;

	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	assert_int_equal(
		write_batch_in(store, "default", batch_at(7, NOON, false), arena, &missing),
		STORE_NEEDS_NUMBERS);
	assert_int_equal(missing.n_series, 1);
	assert_int_equal(missing.series[0], 1);
	assert_int_equal(missing.n_stacks, 2);
	assert_int_equal(missing.stacks[0] + missing.stacks[1], 3);
	assert_int_equal(missing.n_processes, 0);
	assert_int_equal(missing.n_executables, 0);
	assert_ok(store_stats(store, &stats));
	assert_int_equal(stats.n_batches, 0);
	/* The same batch, with the missing definitions. */
	assert_int_equal(write_batch(store, batch_at(7, NOON, true)), STORE_STORED);
	assert_totals(store, 0, 0, 3, 7);
}

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

static void unknown_numbers_in_definitions_are_requested(void **state)
{
	const struct batch_frame frames[] = { { FRAME_NATIVE, 30, 1 }, { FRAME_KERNEL, 31, 2 } };
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	struct batch_builder *builder = batch_builder_new(1, EPOCH, 1, NOON, NOON + NSEC_PER_SEC);
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_missing missing;

	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	batch_builder_process(builder, 1, 1, 1, "p", 32);
	batch_builder_path(builder, 33, "/lib/x");
	batch_builder_series(builder, 1, 1, 1, "t", EVENT_ON_CPU, 1);
	batch_builder_series(builder, 2, 40, 1, "t", EVENT_ON_CPU, 1);
	batch_builder_stack(builder, 1, STACK_CUT_NONE, frames, 2);
	batch_builder_row(builder, 1, 1, NOON, 1);
	assert_int_equal(write_batch_in(store, "default", builder, arena, &missing),
			 STORE_NEEDS_NUMBERS);
	assert_int_equal(missing.n_executables, 4);
	assert_int_equal(missing.n_processes, 1);
	assert_int_equal(missing.processes[0], 40);
	assert_int_equal(missing.n_series, 0);
	assert_int_equal(missing.n_stacks, 0);
}

static void numbers_with_empty_definitions_are_not_requested_again(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	struct store *store = open_store(*state, &clock);
	struct batch_builder *builder;

	/* The agent no longer has stack 2 and series 5. */
	builder = batch_at(1, NOON, true);
	batch_builder_stack(builder, 3, STACK_CUT_NONE, NULL, 0);
	batch_builder_series(builder, 5, 0, 0, "", EVENT_NONE, 0);
	batch_builder_row(builder, 1, 3, NOON - NSEC_PER_SEC, 16);
	batch_builder_row(builder, 5, 1, NOON - NSEC_PER_SEC, 32);
	assert_int_equal(write_batch(store, builder), STORE_STORED);
	assert_totals(store, 0, 0, 4, 23);
	(void)store_free(store);
	/* Both numbers are known afterwards. */
	store = open_store(*state, &clock);
	builder = batch_builder_new(1, EPOCH, 2, NOON, NOON + NSEC_PER_SEC);
	batch_builder_row(builder, 5, 3, NOON, 1);
	batch_builder_row(builder, 1, 3, NOON, 64);
	assert_int_equal(write_batch(store, builder), STORE_STORED);
	assert_totals(store, 0, 0, 5, 87);
	(void)store_free(store);
}

static void numbers_of_two_epochs_are_distinct(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch_builder *builder =
		batch_builder_new(1, EPOCH + 1, 1, NOON, NOON + NSEC_PER_SEC);
	struct store_missing missing;

	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	batch_builder_row(builder, 1, 0, NOON, 1);
	assert_int_equal(write_batch_in(store, "default", builder, arena, &missing),
			 STORE_NEEDS_NUMBERS);
	assert_int_equal(missing.n_series, 1);
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

static void the_executables_of_an_epoch_are_listed(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	struct batch_builder *builder = batch_at(1, NOON, true);
	const struct hash128 agent = { .bytes = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
						  1 } };
	struct executable_id second = test_build_id(2);
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_executable *executables;
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	batch_builder_executable(builder, 2, &second, "libc.so.6", ROLE_USER);
	batch_builder_executable(builder, 3, NULL, "memory", ROLE_USER);
	assert_int_equal(write_batch(store, builder), STORE_STORED);
	assert_ok(store_agent_executables(store, "default", &agent, EPOCH, 10, arena, &executables,
					  &count));
	assert_int_equal(count, 2);
	assert_string_equal(executables[0].name, "libc.so.6");
	assert_ok(store_agent_executables(store, "default", &agent, EPOCH, 1, arena, &executables,
					  &count));
	assert_int_equal(count, 1);
	assert_ok(store_agent_executables(store, "other", &agent, EPOCH, 10, arena, &executables,
					  &count));
	assert_int_equal(count, 0);
}

static void thousands_of_numbers_are_right_with_and_without_the_cache(void **state)
{
	enum { N_STACKS = 20000 };
	struct test_clock clock = test_clock_at(NOON);
	struct store *store = open_store(*state, &clock);
	struct batch_builder *builder = batch_at(1, NOON, true);
	struct store_stats stats;

	for (uint32_t i = 0; i < N_STACKS; i++) {
		const struct batch_frame frames[] = { { FRAME_NATIVE, 1, i * 16 },
						      { FRAME_NATIVE, 1, 0x900000 + i % 100 },
						      { FRAME_NATIVE, 1, 0x1000 } };

		batch_builder_stack(builder, 10 + i, STACK_CUT_NONE, frames, 3);
		batch_builder_row(builder, 1, 10 + i, NOON - NSEC_PER_SEC, 1);
	}
	assert_int_equal(write_batch(store, builder), STORE_STORED);
	assert_ok(store_stats(store, &stats));
	assert_int_equal(stats.n_stacks, N_STACKS + 2);
	for (uint64_t round = 2; round < 4; round++) {
		builder = batch_builder_new(1, EPOCH, round, NOON, NOON + NSEC_PER_SEC);
		for (uint32_t i = 0; i < N_STACKS; i += 7)
			batch_builder_row(builder, 1, 10 + i, NOON, 1);
		assert_int_equal(write_batch(store, builder), STORE_STORED);
		(void)store_free(store);
		store = open_store(*state, &clock);
	}
	assert_totals(store, 0, 0, 3 + N_STACKS + 2 * (N_STACKS / 7 + 1),
		      7 + N_STACKS + 2 * (N_STACKS / 7 + 1));
	(void)store_free(store);
}

#define in_folder(test)                                                                            \
	cmocka_unit_test_setup_teardown(test, temp_folder_setup, temp_folder_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(acknowledged_numbers_survive_a_restart),
		in_folder(a_server_with_an_empty_store_requests_all_numbers),
		in_folder(an_agent_waits_after_too_many_new_stacks_within_an_hour),
		in_folder(unknown_numbers_in_definitions_are_requested),
		in_folder(numbers_with_empty_definitions_are_not_requested_again),
		in_folder(numbers_of_two_epochs_are_distinct),
		in_folder(numbers_of_old_epochs_are_removed),
		in_folder(old_epochs_are_removed_a_few_per_batch),
		in_folder(the_executables_of_an_epoch_are_listed),
		in_folder(thousands_of_numbers_are_right_with_and_without_the_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
