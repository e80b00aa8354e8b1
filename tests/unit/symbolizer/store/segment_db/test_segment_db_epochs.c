/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions of ended epochs, and of more agents than fit into the memory. */

#include "tests/unit/symbolizer/store/segment_db/segment_db_fixture.h"

static struct batch_builder *in_epoch(uint64_t epoch, struct batch_builder *builder)
{
	batch_builder_message(builder)->epoch = epoch;
	return builder;
}

/* A batch of an agent that has the number @agent in each epoch. */
static int write_in_epoch(struct segment_db *db, uint8_t agent, uint64_t epoch, uint64_t sequence,
			  bool defines)
{
	return write_batch(db, in_epoch(epoch, batch_of(agent, sequence, NOON, defines)));
}

static int64_t n_definitions(const char *folder)
{
	return query_number(folder, "inbox.db", "SELECT count(*) FROM definition");
}

static void numbers_of_ended_epochs_leave_the_memory(void **state)
{
	struct segment_db *db = open_db(*state);
	size_t bytes;

	assert_int_equal(segment_db_numbers_bytes(db), 0);
	assert_int_equal(write_in_epoch(db, 1, 1, 1, true), STORE_STORED);
	bytes = segment_db_numbers_bytes(db);
	assert_true(bytes > 0);
	assert_int_equal(write_in_epoch(db, 1, 2, 1, true), STORE_STORED);
	assert_int_equal(segment_db_numbers_bytes(db), 2 * bytes);
	assert_int_equal(write_in_epoch(db, 1, 2, 2, false), STORE_STORED);
	assert_int_equal(segment_db_numbers_bytes(db), bytes);

	/* A late batch of the spool: its numbers are read from the inbox, once. */
	assert_int_equal(write_in_epoch(db, 1, 1, 2, false), STORE_STORED);
	assert_int_equal(segment_db_numbers_bytes(db), 2 * bytes);
	assert_int_equal(write_in_epoch(db, 1, 2, 3, false), STORE_STORED);
	assert_int_equal(segment_db_numbers_bytes(db), 2 * bytes);
	assert_ok(segment_db_flush(db, NOON));
	assert_int_equal(write_in_epoch(db, 1, 3, 1, true), STORE_STORED);
	assert_int_equal(write_in_epoch(db, 1, 3, 2, false), STORE_STORED);
	assert_int_equal(segment_db_numbers_bytes(db), bytes);
	/* From the table of definitions. */
	assert_int_equal(write_in_epoch(db, 1, 1, 3, false), STORE_STORED);
	(void)segment_db_free(db);
	db = open_db(*state);
	assert_batches(db, 8);
	(void)segment_db_free(db);
}

/* The batches of two epochs of one agent, in one group. */
static void a_group_with_two_epochs_of_an_agent_is_stored(void **state)
{
	enum { COUNT = 4 };
	struct segment_db *db = open_db(*state);
	struct segment_db_write writes[COUNT];
	struct test_batch tests[COUNT];

	assert_int_equal(write_in_epoch(db, 1, 2, 1, true), STORE_STORED);
	for (uint64_t i = 0; i < COUNT; i++) {
		test_batch_init(&tests[i], in_epoch(i + 1, batch_of(1, 2, NOON, i != 1)));
		writes[i] = test_batch_write(&tests[i], "default");
	}
	assert_int_equal(segment_db_write(db, writes, COUNT, NOON), COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(writes[i].result, STORE_STORED);
		test_batch_release(&tests[i]);
	}
	assert_batches(db, COUNT + 1);
	(void)segment_db_free(db);
}

enum { N_AGENTS = 12, N_ROUNDS = 5 };

/* Memory of the definitions of one agent. */
static size_t measure(const char *folder)
{
	struct segment_db *db = open_db(folder);
	size_t bytes;

	assert_int_equal(write_in_epoch(db, N_AGENTS, 1, 1, true), STORE_STORED);
	bytes = segment_db_numbers_bytes(db);
	(void)segment_db_free(db);
	return bytes;
}

static void numbers_beyond_the_limit_are_read_again(void **state)
{
	struct segment_db_options options = test_options(*state);
	const size_t bytes = measure(*state);
	struct segment_db *db = NULL;

	options.max_all_numbers_bytes = 4 * bytes;
	assert_ok(segment_db_open(&options, &db));
	for (uint64_t round = 1; round <= N_ROUNDS; round++) {
		for (uint8_t agent = 0; agent < N_AGENTS; agent++) {
			assert_int_equal(write_in_epoch(db, agent, 1, round, round == 1),
					 STORE_STORED);
			assert_in_range(segment_db_numbers_bytes(db), bytes, 5 * bytes);
		}
		if (round % 2 == 0)
			assert_ok(segment_db_flush(db, NOON));
	}
	(void)segment_db_free(db);
	assert_ok(segment_db_open(&options, &db));
	assert_in_range(segment_db_numbers_bytes(db), bytes, 5 * bytes);
	assert_batches(db, N_ROUNDS * N_AGENTS + 1);
	(void)segment_db_free(db);
}

static void one_group_may_exceed_the_limit(void **state)
{
	struct segment_db_options options = test_options(*state);
	const size_t bytes = measure(*state);
	struct segment_db_write writes[N_AGENTS];
	struct test_batch tests[N_AGENTS];
	struct segment_db *db = NULL;

	options.max_all_numbers_bytes = bytes;
	assert_ok(segment_db_open(&options, &db));
	for (uint8_t agent = 0; agent < N_AGENTS; agent++) {
		test_batch_init(&tests[agent], in_epoch(1, batch_of(agent, 1, NOON, true)));
		writes[agent] = test_batch_write(&tests[agent], "default");
	}
	assert_int_equal(segment_db_write(db, writes, N_AGENTS, NOON), N_AGENTS);
	assert_true(segment_db_numbers_bytes(db) >= N_AGENTS * bytes);
	for (size_t i = 0; i < N_AGENTS; i++) {
		assert_int_equal(writes[i].result, STORE_STORED);
		test_batch_release(&tests[i]);
	}
	assert_int_equal(write_in_epoch(db, 0, 1, 2, false), STORE_STORED);
	assert_int_equal(segment_db_numbers_bytes(db), bytes);
	assert_batches(db, N_AGENTS + 2);
	(void)segment_db_free(db);
}

static void definitions_of_superseded_epochs_are_dropped(void **state)
{
	const uint64_t late = NOON + 1;
	struct segment_db *db = open_db(*state);

	assert_int_equal(write_in_epoch(db, 1, 1, 1, true), STORE_STORED);
	assert_int_equal(write_in_epoch(db, 2, 1, 1, true), STORE_STORED);
	assert_ok(segment_db_flush(db, NOON));
	/* No agent has a newer epoch, nor has the agent with this ID of another tenant. */
	assert_int_equal(write_batch_in(db, "other", in_epoch(2, batch_of(1, 1, NOON, true))),
			 STORE_STORED);
	assert_ok(segment_db_drop_superseded(db, late));
	assert_int_equal(n_definitions(*state), 2);
	assert_int_equal(write_in_epoch(db, 1, 2, 1, true), STORE_STORED);
	/* The older epoch has not been silent for long enough. */
	assert_ok(segment_db_drop_superseded(db, NOON));
	assert_int_equal(n_definitions(*state), 2);
	/* A batch of it waits in the inbox. */
	assert_int_equal(write_in_epoch(db, 1, 1, 2, false), STORE_STORED);
	assert_ok(segment_db_drop_superseded(db, late));
	assert_int_equal(n_definitions(*state), 2);
	assert_ok(segment_db_flush(db, NOON));
	assert_int_equal(n_definitions(*state), 4);
	assert_ok(segment_db_drop_superseded(db, late));
	assert_int_equal(n_definitions(*state), 3);

	/* Also those in memory. A duplicate is recognized. */
	assert_int_equal(write_in_epoch(db, 1, 1, 3, false), STORE_NEEDS_NUMBERS);
	assert_int_equal(write_in_epoch(db, 1, 1, 2, false), STORE_DUPLICATE);
	assert_int_equal(write_in_epoch(db, 1, 1, 3, true), STORE_STORED);
	assert_int_equal(write_in_epoch(db, 1, 1, 4, false), STORE_STORED);
	assert_int_equal(write_in_epoch(db, 1, 2, 2, false), STORE_STORED);
	assert_int_equal(write_in_epoch(db, 2, 1, 2, false), STORE_STORED);
	(void)segment_db_free(db);
	db = open_db(*state);
	assert_batches(db, 9);
	(void)segment_db_free(db);
}

/* More than one commit deletes. */
static void many_superseded_epochs_are_dropped(void **state)
{
	enum { COUNT = 90 };
	struct segment_db_options options = test_options(*state);
	struct segment_db *db = NULL;

	options.max_agents = 1000;
	assert_ok(segment_db_open(&options, &db));
	for (uint64_t epoch = 1; epoch <= 2; epoch++)
		for (uint8_t agent = 0; agent < COUNT; agent++)
			assert_int_equal(write_in_epoch(db, agent, epoch, 1, true), STORE_STORED);
	assert_ok(segment_db_flush(db, NOON));
	assert_int_equal(n_definitions(*state), 2 * COUNT);
	assert_ok(segment_db_drop_superseded(db, NOON + 1));
	assert_int_equal(n_definitions(*state), COUNT);
	assert_int_equal(query_number(*state, "inbox.db",
				      "SELECT count(*) FROM definition WHERE epoch IN"
				      " (SELECT id FROM epoch WHERE epoch = 1)"),
			 0);
	assert_int_equal(query_number(*state, "inbox.db", "SELECT count(*) FROM epoch"), 2 * COUNT);
	for (uint8_t agent = 0; agent < COUNT; agent++)
		assert_int_equal(write_in_epoch(db, agent, 2, 2, false), STORE_STORED);
	assert_batches(db, 3 * COUNT);
	(void)segment_db_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(numbers_of_ended_epochs_leave_the_memory),
		in_folder(a_group_with_two_epochs_of_an_agent_is_stored),
		in_folder(numbers_beyond_the_limit_are_read_again),
		in_folder(one_group_may_exceed_the_limit),
		in_folder(definitions_of_superseded_epochs_are_dropped),
		in_folder(many_superseded_epochs_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
