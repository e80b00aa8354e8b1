/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that accepts batches in one thread, and flushes, merges and rolls up in another, is
 * killed again and again. Each time every acknowledged batch is stored exactly once.
 * HEARTH_CRASH_KILLS is the number of kills, HEARTH_TEST_SEED the seed of their times.
 */

#include "tests/unit/symbolizer/store/segment_db/segment_db_fixture.h"

#include <pthread.h>

#include "symbolizer/store/segment_db/batch_scan.h"
#include "tests/support/killed_server.h"
#include "tests/support/test_seed.h"

enum { N_AGENTS = 4, KILLS = 40, NEW_STACKS = 20 };

#define ROWS_OF_ROUND (ROWS_OF_BATCH + NEW_STACKS)
#define SUM_OF_ROUND  (SUM_OF_BATCH + NEW_STACKS * PERIOD_NS)

/*
 * The rows of every second agent are on two days, and the batches of each agent in several hours.
 * Each batch has new stacks, and only the first one of an agent has the other definitions.
 */
static struct batch_builder *crash_batch(uint8_t agent, uint64_t sequence)
{
	uint64_t closed = agent % 2 ? NOON + sequence % 3 * HOUR : MIDNIGHT + 2 * SECOND;
	struct batch_builder *builder = batch_of(agent, sequence, closed, sequence == 1);

	for (uint32_t i = 0; i < NEW_STACKS; i++) {
		uint32_t number = (uint32_t)sequence * 100 + i;
		const struct batch_frame frames[] = { { FRAME_NATIVE, 1,
							number * UINT64_C(0x9e3779b97f4a7c15) },
						      { FRAME_NATIVE, 1, agent } };

		batch_builder_stack(builder, number, STACK_CUT_NONE, frames, 2);
		batch_builder_row(builder, 1, number, closed - SECOND, 1);
	}
	batch_builder_counter(builder, "sequences_total{}", sequence);
	return builder;
}

static struct segment_db *open_small(const char *folder)
{
	struct segment_db_options options = test_options(folder);
	struct segment_db *db = NULL;

	/* A write flushes sometimes too. */
	options.max_head_bytes = 256 * KIB;
	if (segment_db_open(&options, &db) < 0)
		_exit(1);
	return db;
}

static void *maintain_until_killed(void *arg)
{
	const struct segment_db_compaction compaction = { .closed_slot = UINT64_MAX,
							  .max_merge_bytes = 8 * MIB };

	for (;;) {
		size_t n_changed;

		if (segment_db_flush(arg, NOON) < 0)
			_exit(2);
		if (segment_db_compact(arg, &compaction, &n_changed) < 0)
			_exit(7);
	}
	return NULL;
}

/* Writes one batch of each agent as a group, and acknowledges them. */
static void write_group(struct segment_db *db, const struct killed_server *server)
{
	struct segment_db_write writes[N_AGENTS];
	struct test_batch tests[N_AGENTS];

	for (uint32_t i = 0; i < N_AGENTS; i++) {
		test_batch_init(&tests[i], crash_batch((uint8_t)(i + 1), server->next[i]));
		writes[i] = test_batch_write(&tests[i], "default");
	}
	if (segment_db_write(db, writes, N_AGENTS, NOON) != N_AGENTS)
		_exit(3);
	for (uint32_t i = 0; i < N_AGENTS; i++) {
		if (writes[i].result != STORE_STORED && writes[i].result != STORE_DUPLICATE)
			_exit(4);
		killed_server_acknowledge(server, i, server->next[i]++);
		test_batch_release(&tests[i]);
	}
}

static void serve(struct killed_server *server)
{
	struct segment_db *db = open_small(server->context);
	pthread_t thread;

	if (pthread_create(&thread, NULL, maintain_until_killed, db) != 0)
		_exit(6);
	for (;;)
		write_group(db, server);
}

struct agent_sums {
	struct segment_codec codec;
	uint64_t rows[N_AGENTS];
	uint64_t sums[N_AGENTS];
};

/* The samples, or the totals of a roll-up. */
static void add_value(struct agent_sums *sums, const struct segment *segment, uint64_t series,
		      uint64_t value)
{
	uint64_t process = segment->column[SERIES_PROCESS][series];
	uint64_t host = segment->column[PROCESS_HOST][process];
	/* "host-3" */
	struct bytes_view name = segment_text(segment, segment->column[HOST_NAME][host]);
	size_t agent = (size_t)(name.data[5] - '1');

	assert_true(agent < N_AGENTS);
	sums->rows[agent]++;
	sums->sums[agent] += value;
}

static int add_segment(void *arg, const struct segment_info *info, struct bytes_view content)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct agent_sums *sums = arg;
	struct segment segment;

	assert_ok(arena_new(256 * MIB, &arena));
	assert_ok(segment_decode(content, SEGMENT_ALL, &sums->codec, arena, &segment));
	if (info->kind == SEGMENT_ROLLUP) {
		for (size_t i = 0; i < segment.count[SEGMENT_TOTAL]; i++)
			add_value(sums, &segment, segment.column[TOTAL_SERIES][i],
				  segment.column[TOTAL_VALUE][i]);
		return 0;
	}
	for (size_t i = 0; i < segment.count[SEGMENT_ROW]; i++) {
		uint64_t series = segment.column[ROW_SERIES][i] - 1;
		uint64_t period = segment.column[SERIES_PERIOD_NS][series];

		add_value(sums, &segment, series,
			  segment.column[ROW_VALUE][i] * (period ? period : 1));
	}
	return 0;
}

static struct agent_sums sum_agents(struct segment_db *db, bool prefer_rollups)
{
	const struct segment_db_query query = { .to_slot = UINT64_MAX,
						.prefer_rollups = prefer_rollups };
	struct agent_sums sums = {};
	size_t n_damaged;

	assert_ok(segment_db_scan(db, &query, add_segment, &sums, &n_damaged));
	assert_int_equal(n_damaged, 0);
	segment_codec_release(&sums.codec);
	return sums;
}

struct agent_log {
	uint64_t batches[N_AGENTS];
	uint64_t sequences[N_AGENTS], counted[N_AGENTS];
};

static int add_logged(void *arg, const struct segment_db_batch *batch)
{
	struct agent_log *log = arg;
	size_t agent = batch->agent.bytes[0] - 1u;

	log->batches[agent]++;
	log->sequences[agent] += batch->sequence;
	log->counted[agent] += batch->values[0];
	return 0;
}

/* The log has the batches 1 to n[agent], each once, with its counter. */
static void assert_logged(struct segment_db *db, const uint64_t *n)
{
	static const char *const names[] = { "sequences_total{}" };
	const struct segment_db_batch_query query = { .tenant = "default",
						      .to_slot = UINT64_MAX,
						      .names = names,
						      .n_names = 1,
						      .max_batches = SIZE_MAX };
	struct agent_log log = {};

	assert_ok(segment_db_scan_counters(db, &query, add_logged, &log));
	for (uint32_t i = 0; i < N_AGENTS; i++) {
		assert_int_equal(log.batches[i], n[i]);
		assert_int_equal(log.sequences[i], n[i] * (n[i] + 1) / 2);
		assert_int_equal(log.counted[i], n[i] * (n[i] + 1) / 2);
	}
}

/* The batch after the last acknowledged one may be stored. The agent sends it again. */
static void assert_exactly_once(const char *folder, uint64_t *acknowledged)
{
	struct segment_db *db = open_small(folder);
	struct agent_sums sums, rollups;
	uint64_t stored[N_AGENTS];
	size_t n_faults;

	assert_ok(segment_db_flush(db, NOON));
	assert_ok(segment_db_check(db, &n_faults));
	assert_int_equal(n_faults, 0);
	sums = sum_agents(db, false);
	rollups = sum_agents(db, true);
	assert_memory_equal(sums.sums, rollups.sums, sizeof(sums.sums));
	for (uint32_t i = 0; i < N_AGENTS; i++) {
		assert_true(sums.rows[i] == acknowledged[i] * ROWS_OF_ROUND ||
			    sums.rows[i] == (acknowledged[i] + 1) * ROWS_OF_ROUND);
		stored[i] = sums.rows[i] / ROWS_OF_ROUND;
	}
	assert_logged(db, stored);
	for (uint32_t i = 0; i < N_AGENTS; i++) {
		acknowledged[i]++;
		assert_true(write_batch(db, crash_batch((uint8_t)(i + 1), acknowledged[i])) > 0);
	}
	assert_logged(db, acknowledged);
	assert_ok(segment_db_flush(db, NOON));
	assert_logged(db, acknowledged);
	sums = sum_agents(db, false);
	for (uint32_t i = 0; i < N_AGENTS; i++) {
		assert_int_equal(sums.rows[i], acknowledged[i] * ROWS_OF_ROUND);
		assert_int_equal(sums.sums[i], acknowledged[i] * SUM_OF_ROUND);
	}
	(void)segment_db_free(db);
}

static void every_acknowledged_batch_is_stored_exactly_once_after_a_kill(void **state)
{
	const uint64_t n_kills = killed_server_kills(KILLS);
	unsigned int seed = (unsigned int)test_seed();
	uint64_t acknowledged[N_AGENTS] = {}, next[N_AGENTS];
	struct killed_server server = { .serve = serve, .context = *state, .next = next };

	for (uint64_t kill = 0; kill < n_kills; kill++) {
		/* In every second round, the agents have not received their last answer. */
		for (uint32_t i = 0; i < N_AGENTS; i++)
			next[i] = MAX(acknowledged[i] + (kill % 2 == 0), UINT64_C(1));
		killed_server_run(&server, kill % 4 != 3, rand_r(&seed) % 100000000L, acknowledged);
		assert_databases_intact(*state);
		assert_exactly_once(*state, acknowledged);
	}
	print_message("%llu kills, %llu batches of each agent\n", (unsigned long long)n_kills,
		      (unsigned long long)acknowledged[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(every_acknowledged_batch_is_stored_exactly_once_after_a_kill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
