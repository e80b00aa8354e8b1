/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of agents: they survive restarts of the server, and are requested if the server lacks
 * them.
 */

#include "tests/unit/symbolizer/store/contract/contract_fixture.h"

static void acknowledged_numbers_survive_a_restart(void **state)
{
	struct contract *contract = *state;

	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_STORED);
	for (uint64_t i = 2; i < 5; i++) {
		contract_reopen(contract);
		assert_int_equal(
			contract_write(contract, batch_at(i, NOON + i * NSEC_PER_SEC, false)),
			STORE_STORED);
		assert_totals(contract->store, 0, 0, 3 * i, 7 * i);
	}
}

static void a_server_with_an_empty_store_requests_all_numbers(void **state)
{
	struct contract *contract = *state;
	struct store_missing missing;
	struct store_stats stats;

	assert_int_equal(contract_write_in(contract, "default", batch_at(7, NOON, false), &missing),
			 STORE_NEEDS_NUMBERS);
	assert_int_equal(missing.n_series, 1);
	assert_int_equal(missing.series[0], 1);
	assert_int_equal(missing.n_stacks, 2);
	assert_int_equal(missing.stacks[0] + missing.stacks[1], 3);
	assert_int_equal(missing.n_processes, 0);
	assert_int_equal(missing.n_executables, 0);
	assert_ok(store_stats(contract->store, &stats));
	assert_int_equal(stats.n_batches, 0);
	/* The same batch, with the missing definitions. */
	assert_int_equal(contract_write(contract, batch_at(7, NOON, true)), STORE_STORED);
	assert_totals(contract->store, 0, 0, 3, 7);
}

static void unknown_numbers_in_definitions_are_requested(void **state)
{
	const struct batch_frame frames[] = { { FRAME_NATIVE, 30, 1 }, { FRAME_KERNEL, 31, 2 } };
	struct contract *contract = *state;
	struct batch_builder *builder = batch_builder_new(1, EPOCH, 1, NOON, NOON + NSEC_PER_SEC);
	struct store_missing missing;

	batch_builder_process(builder, 1, 1, 1, "p", 32);
	batch_builder_path(builder, 33, "/lib/x");
	batch_builder_series(builder, 1, 1, 1, "t", EVENT_ON_CPU, 1);
	batch_builder_series(builder, 2, 40, 1, "t", EVENT_ON_CPU, 1);
	batch_builder_stack(builder, 1, STACK_CUT_NONE, frames, 2);
	batch_builder_row(builder, 1, 1, NOON, 1);
	assert_int_equal(contract_write_in(contract, "default", builder, &missing),
			 STORE_NEEDS_NUMBERS);
	assert_int_equal(missing.n_executables, 4);
	assert_int_equal(missing.n_processes, 1);
	assert_int_equal(missing.processes[0], 40);
	assert_int_equal(missing.n_series, 0);
	assert_int_equal(missing.n_stacks, 0);
}

static void numbers_with_empty_definitions_are_not_requested_again(void **state)
{
	struct contract *contract = *state;
	struct batch_builder *builder;

	/* The agent no longer has stack 2 and series 5. */
	builder = batch_at(1, NOON, true);
	batch_builder_stack(builder, 3, STACK_CUT_NONE, NULL, 0);
	batch_builder_series(builder, 5, 0, 0, "", EVENT_NONE, 0);
	batch_builder_row(builder, 1, 3, NOON - NSEC_PER_SEC, 16);
	batch_builder_row(builder, 5, 1, NOON - NSEC_PER_SEC, 32);
	assert_int_equal(contract_write(contract, builder), STORE_STORED);
	assert_totals(contract->store, 0, 0, 4, 23);
	/* Both numbers are known afterwards. */
	contract_reopen(contract);
	builder = batch_builder_new(1, EPOCH, 2, NOON, NOON + NSEC_PER_SEC);
	batch_builder_row(builder, 5, 3, NOON, 1);
	batch_builder_row(builder, 1, 3, NOON, 64);
	assert_int_equal(contract_write(contract, builder), STORE_STORED);
	assert_totals(contract->store, 0, 0, 5, 87);
}

static void numbers_of_two_epochs_are_distinct(void **state)
{
	struct contract *contract = *state;
	struct batch_builder *builder =
		batch_builder_new(1, EPOCH + 1, 1, NOON, NOON + NSEC_PER_SEC);
	struct store_missing missing;

	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_STORED);
	batch_builder_row(builder, 1, 0, NOON, 1);
	assert_int_equal(contract_write_in(contract, "default", builder, &missing),
			 STORE_NEEDS_NUMBERS);
	assert_int_equal(missing.n_series, 1);
}

static void the_executables_of_an_epoch_are_listed(void **state)
{
	struct contract *contract = *state;
	struct batch_builder *builder = batch_at(1, NOON, true);
	const struct hash128 agent = { .bytes = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
						  1 } };
	struct executable_id second = test_build_id(2);
	struct store_executable *executables;
	size_t count;

	batch_builder_executable(builder, 2, &second, "libc.so.6", ROLE_USER);
	batch_builder_executable(builder, 3, NULL, "memory", ROLE_USER);
	assert_int_equal(contract_write(contract, builder), STORE_STORED);
	assert_ok(store_agent_executables(contract->store, "default", &agent, EPOCH, 10,
					  contract->arena, &executables, &count));
	assert_int_equal(count, 2);
	assert_string_equal(executables[0].name, "libc.so.6");
	assert_ok(store_agent_executables(contract->store, "default", &agent, EPOCH, 1,
					  contract->arena, &executables, &count));
	assert_int_equal(count, 1);
	assert_ok(store_agent_executables(contract->store, "other", &agent, EPOCH, 10,
					  contract->arena, &executables, &count));
	assert_int_equal(count, 0);
}

static void thousands_of_numbers_are_right_before_and_after_a_restart(void **state)
{
	enum { N_STACKS = 20000 };
	struct contract *contract = *state;
	struct batch_builder *builder = batch_at(1, NOON, true);

	for (uint32_t i = 0; i < N_STACKS; i++) {
		const struct batch_frame frames[] = { { FRAME_NATIVE, 1, i * 16 },
						      { FRAME_NATIVE, 1, 0x900000 + i % 100 },
						      { FRAME_NATIVE, 1, 0x1000 } };

		batch_builder_stack(builder, 10 + i, STACK_CUT_NONE, frames, 3);
		batch_builder_row(builder, 1, 10 + i, NOON - NSEC_PER_SEC, 1);
	}
	assert_int_equal(contract_write(contract, builder), STORE_STORED);
	for (uint64_t round = 2; round < 4; round++) {
		builder = batch_builder_new(1, EPOCH, round, NOON, NOON + NSEC_PER_SEC);
		for (uint32_t i = 0; i < N_STACKS; i += 7)
			batch_builder_row(builder, 1, 10 + i, NOON, 1);
		assert_int_equal(contract_write(contract, builder), STORE_STORED);
		contract_reopen(contract);
	}
	assert_totals(contract->store, 0, 0, 3 + N_STACKS + 2 * (N_STACKS / 7 + 1),
		      7 + N_STACKS + 2 * (N_STACKS / 7 + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_each_engine(acknowledged_numbers_survive_a_restart),
		on_each_engine(a_server_with_an_empty_store_requests_all_numbers),
		on_each_engine(unknown_numbers_in_definitions_are_requested),
		on_each_engine(numbers_with_empty_definitions_are_not_requested_again),
		on_each_engine(numbers_of_two_epochs_are_distinct),
		on_each_engine(the_executables_of_an_epoch_are_listed),
		on_each_engine(thousands_of_numbers_are_right_before_and_after_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
