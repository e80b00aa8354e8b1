/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of accepted batches are not sent again, so they must outlive flushes and restarts.
 */

#include "tests/unit/symbolizer/store/segment_db/segment_db_fixture.h"

static struct segment_db *restart(struct segment_db *db, const char *folder)
{
	(void)segment_db_free(db);
	return open_db(folder);
}

static void numbers_of_flushed_batches_are_known_after_a_restart(void **state)
{
	struct segment_db *db = open_db(*state);

	assert_int_equal(write_batch(db, batch_of(1, 1, NOON, true)), STORE_STORED);
	assert_ok(segment_db_flush(db, NOON));
	db = restart(db, *state);
	assert_int_equal(write_batch(db, batch_of(1, 2, NOON, false)), STORE_STORED);
	assert_batches(db, 2);
	(void)segment_db_free(db);
}

static void a_batch_in_the_inbox_uses_numbers_of_flushed_batches(void **state)
{
	struct segment_db *db = open_db(*state);

	assert_int_equal(write_batch(db, batch_of(1, 1, NOON, true)), STORE_STORED);
	assert_ok(segment_db_flush(db, NOON));
	assert_int_equal(write_batch(db, batch_of(1, 2, NOON, false)), STORE_STORED);
	db = restart(db, *state);
	assert_batches(db, 2);
	(void)segment_db_free(db);
}

enum { TYPES_PER_BATCH = 100 };

/* A batch with a row of each of @count event types, from type@first on, and one of on-cpu. */
static struct batch_builder *batch_of_types(uint64_t sequence, unsigned int first,
					    unsigned int count)
{
	struct batch_builder *builder =
		batch_builder_new(1, EPOCH, sequence, NOON - 5 * SECOND, NOON);

	batch_builder_use_format_2(builder);
	define_all(builder);
	for (unsigned int i = 0; i < count; i++) {
		struct batch_event_type type = { .unit = "events", .kind = EVENT_VALUE_SUM };
		char name[32];

		(void)snprintf(name, sizeof(name), "type%u", first + i);
		type.name = name;
		batch_builder_described_series(builder, 10 + first + i, 1, 4711, &type);
		batch_builder_row(builder, 10 + first + i, 0, NOON - 4 * SECOND, 1);
	}
	batch_builder_row(builder, 1, 0, NOON - 3 * SECOND, 1);
	return builder;
}

static int64_t count_types(const char *folder)
{
	return query_number(folder, "segments-2026-01-01.db",
			    "SELECT count(DISTINCT event) FROM segment WHERE event LIKE 'type%'");
}

static void ever_new_event_types_of_an_agent_are_not_stored(void **state)
{
	struct segment_db *db = open_db(*state);

	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(write_batch(db, batch_of_types(1 + i, i * TYPES_PER_BATCH,
								TYPES_PER_BATCH)),
				 STORE_STORED);
	assert_int_equal(segment_db_refused_series(db), 4 * TYPES_PER_BATCH - 256);
	/* The head, the inbox and the flush agree. */
	db = restart(db, *state);
	assert_int_equal(segment_db_refused_series(db), 0);
	assert_ok(segment_db_flush(db, NOON));
	assert_int_equal(count_types(*state), 256);
	assert_int_equal(total(db).n_rows, 256 + 4);
	/* Types that the agent has already, and known ones, are stored. */
	db = restart(db, *state);
	assert_int_equal(write_batch(db, batch_of_types(5, 0, TYPES_PER_BATCH)), STORE_STORED);
	assert_int_equal(segment_db_refused_series(db), 0);
	assert_int_equal(write_batch(db, batch_of_types(6, 1000, 1)), STORE_STORED);
	assert_int_equal(segment_db_refused_series(db), 1);
	assert_ok(segment_db_flush(db, NOON));
	assert_int_equal(total(db).n_rows, 256 + 4 + TYPES_PER_BATCH + 1 + 1);
	(void)segment_db_free(db);
}

static void a_batch_of_definitions_alone_is_kept(void **state)
{
	struct batch_builder *builder = batch_builder_new(1, EPOCH, 1, NOON - 5 * SECOND, NOON);
	struct segment_db *db = open_db(*state);

	define_all(builder);
	assert_int_equal(write_batch(db, builder), STORE_STORED);
	assert_ok(segment_db_flush(db, NOON));
	assert_int_equal(total(db).n_segments, 0);
	db = restart(db, *state);
	assert_int_equal(write_batch(db, batch_of(1, 2, NOON, false)), STORE_STORED);
	assert_batches(db, 1);
	(void)segment_db_free(db);
}

/* A batch that defines stack @number, and has a row of stack @used. */
static struct batch_builder *batch_with_stack(uint64_t sequence, uint32_t number, uint32_t used)
{
	const struct batch_frame frame = { FRAME_NATIVE, 1, number };
	struct batch_builder *builder =
		batch_builder_new(1, EPOCH, sequence, NOON - 5 * SECOND, NOON);

	batch_builder_stack(builder, number, STACK_CUT_NONE, &frame, 1);
	batch_builder_row(builder, 1, used, NOON - SECOND, 1);
	return builder;
}

static void many_chunks_of_an_epoch_become_one(void **state)
{
	struct segment_db *db = open_db(*state);

	assert_int_equal(write_batch(db, batch_of(1, 1, NOON, true)), STORE_STORED);
	for (uint32_t i = 2; i <= 40; i++) {
		assert_int_equal(write_batch(db, batch_with_stack(i, 100 + i, 100 + i)),
				 STORE_STORED);
		assert_ok(segment_db_flush(db, NOON));
	}
	assert_true(query_number(*state, "inbox.db", "SELECT count(*) FROM definition") < 32);
	db = restart(db, *state);
	for (uint32_t i = 2; i <= 40; i++)
		assert_int_equal(write_batch(db, batch_with_stack(39 + i, 500 + i, 100 + i)),
				 STORE_STORED);
	(void)segment_db_free(db);
}

static void numbers_of_evicted_agents_are_read_again(void **state)
{
	struct segment_db_options options = test_options(*state);
	struct segment_db *db = NULL;

	options.max_agents = 2;
	assert_ok(segment_db_open(&options, &db));
	for (uint8_t agent = 1; agent <= 5; agent++)
		assert_int_equal(write_batch(db, batch_of(agent, 1, NOON, true)), STORE_STORED);
	for (uint8_t agent = 1; agent <= 5; agent++)
		assert_int_equal(write_batch(db, batch_of(agent, 2, NOON, false)), STORE_STORED);
	(void)segment_db_free(db);
	assert_ok(segment_db_open(&options, &db));
	assert_batches(db, 10);
	(void)segment_db_free(db);
}

enum { N_STACKS = 300 };

/* A batch that defines as many stacks as fit into the smallest limit. */
static struct batch_builder *large_batch(uint64_t sequence, uint32_t first_stack, bool defines)
{
	struct batch_builder *builder = batch_of(1, sequence, NOON, defines);

	for (uint32_t i = 0; i < N_STACKS; i++) {
		const struct batch_frame frame = { FRAME_NATIVE, 1, first_stack + i };

		batch_builder_stack(builder, first_stack + i, STACK_CUT_NONE, &frame, 1);
	}
	return builder;
}

static void full_definitions_start_again_and_keep_accepted_batches(void **state)
{
	struct segment_db_options options = test_options(*state);
	struct segment_db *db = NULL;
	int64_t n_resets;

	options.max_numbers_bytes = 96 * KIB;
	assert_ok(segment_db_open(&options, &db));
	assert_int_equal(write_batch(db, large_batch(1, 1000, true)), STORE_STORED);
	assert_int_equal(write_batch(db, large_batch(2, 2000, false)), STORE_STORED);
	/* Its rows use definitions that are dropped to make room for its own. */
	assert_int_equal(write_batch(db, large_batch(3, 3000, false)), STORE_NEEDS_NUMBERS);
	/* The agent sends them, and the batch again. */
	assert_int_equal(write_batch(db, large_batch(4, 3000, true)), STORE_STORED);
	assert_int_equal(write_batch(db, large_batch(3, 3000, false)), STORE_STORED);
	n_resets = query_number(*state, "inbox.db", "SELECT sum(flags >> 1) FROM inbox");
	assert_int_equal(n_resets, 1);
	(void)segment_db_free(db);
	assert_ok(segment_db_open(&options, &db));
	assert_batches(db, 4);
	/* The definitions from before are not kept. */
	assert_int_equal(query_number(*state, "inbox.db", "SELECT count(*) FROM definition"), 1);
	(void)segment_db_free(db);
	assert_ok(segment_db_open(&options, &db));
	assert_int_equal(write_batch(db, batch_with_stack(5, 1, 3000)), STORE_STORED);
	assert_int_equal(write_batch(db, batch_with_stack(6, 1, 2000)), STORE_NEEDS_NUMBERS);
	(void)segment_db_free(db);
}

static void a_smaller_limit_of_definitions_loses_no_accepted_batch(void **state)
{
	struct segment_db_options options = test_options(*state);
	struct segment_db *db = open_db(*state);

	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(write_batch(db, large_batch(i + 1, 1000 * (i + 1), i == 0)),
				 STORE_STORED);
	(void)segment_db_free(db);
	options.max_numbers_bytes = 64 * KIB;
	assert_ok(segment_db_open(&options, &db));
	assert_batches(db, 10);
	(void)segment_db_free(db);
}

static void a_refused_batch_defines_nothing_durable(void **state)
{
	struct segment_db *db = open_db(*state);

	assert_int_equal(write_batch(db, batch_with_stack(1, 7, 8)), STORE_NEEDS_NUMBERS);
	assert_int_equal(query_number(*state, "inbox.db", "SELECT count(*) FROM inbox"), 0);
	assert_int_equal(query_number(*state, "inbox.db", "SELECT count(*) FROM epoch"), 0);
	db = restart(db, *state);
	assert_int_equal(write_batch(db, batch_of(1, 2, NOON, true)), STORE_STORED);
	assert_int_equal(write_batch(db, batch_with_stack(3, 9, 7)), STORE_NEEDS_NUMBERS);
	assert_batches(db, 1);
	(void)segment_db_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(numbers_of_flushed_batches_are_known_after_a_restart),
		in_folder(a_batch_in_the_inbox_uses_numbers_of_flushed_batches),
		in_folder(ever_new_event_types_of_an_agent_are_not_stored),
		in_folder(a_batch_of_definitions_alone_is_kept),
		in_folder(many_chunks_of_an_epoch_become_one),
		in_folder(numbers_of_evicted_agents_are_read_again),
		in_folder(full_definitions_start_again_and_keep_accepted_batches),
		in_folder(a_smaller_limit_of_definitions_loses_no_accepted_batch),
		in_folder(a_refused_batch_defines_nothing_durable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
