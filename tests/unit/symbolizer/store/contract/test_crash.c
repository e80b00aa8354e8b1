/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server with several writing threads, and a thread that flushes and merges, is killed again and
 * again. Each time the files are intact, and every acknowledged batch is stored exactly once.
 * HEARTH_CRASH_KILLS is the number of kills, HEARTH_TEST_SEED the seed of their times.
 */

#include "tests/unit/symbolizer/store/contract/contract_fixture.h"

#include <pthread.h>

#include "tests/support/killed_server.h"
#include "tests/support/test_seed.h"

enum { N_AGENTS = 4, KILLS = 20 };

#define MIDNIGHT (NOON + 12 * 3600 * NSEC_PER_SEC)

/* Hours of the batches are over, so that a merge makes roll-ups. */
#define NOW (MIDNIGHT + 4 * 3600 * NSEC_PER_SEC)

#define NEW_STACKS    20
#define ROWS_OF_BATCH (3 + NEW_STACKS)
#define SUM_OF_BATCH  (7 + NEW_STACKS)

struct agent_thread {
	struct killed_server *server;
	struct store *store;
	uint32_t agent;
};

/* The rows of every second agent are on two days. Each batch has new stacks. */
static struct batch_builder *batch_of(uint32_t agent, uint64_t sequence)
{
	uint64_t closed = agent % 2 ? MIDNIGHT + 2 * NSEC_PER_SEC : NOON;
	struct batch_builder *builder = batch_builder_new((uint8_t)(agent + 1), EPOCH, sequence,
							  closed - 5 * NSEC_PER_SEC, closed);

	define_all(builder);
	batch_builder_row(builder, 1, 1, closed - 4 * NSEC_PER_SEC, 1);
	batch_builder_row(builder, 1, 2, closed - 3 * NSEC_PER_SEC, 2);
	batch_builder_row(builder, 1, 0, closed - 1 * NSEC_PER_SEC, 4);
	for (uint32_t i = 0; i < NEW_STACKS; i++) {
		uint32_t number = (uint32_t)sequence * 100 + i;
		const struct batch_frame frames[] = { { FRAME_NATIVE, 1,
							number * UINT64_C(0x9e3779b97f4a7c15) },
						      { FRAME_NATIVE, 1, agent + 1 } };

		batch_builder_stack(builder, number, STACK_CUT_NONE, frames, 2);
		batch_builder_row(builder, 1, number, closed - NSEC_PER_SEC, 1);
	}
	return builder;
}

static void *write_until_killed(void *arg)
{
	struct agent_thread *thread = arg;

	for (uint64_t sequence = thread->server->next[thread->agent];; sequence++) {
		int r = write_batch(thread->store, batch_of(thread->agent, sequence));

		if (r != STORE_STORED && r != STORE_DUPLICATE)
			_exit(1);
		killed_server_acknowledge(thread->server, thread->agent, sequence);
	}
	return NULL;
}

static void serve(struct killed_server *server)
{
	struct contract *contract = server->context;
	struct agent_thread threads[N_AGENTS];
	pthread_t id;

	contract_reopen(contract);
	for (uint32_t i = 0; i < N_AGENTS; i++) {
		threads[i] = (struct agent_thread){ server, contract->store, i };
		if (pthread_create(&id, NULL, write_until_killed, &threads[i]) != 0)
			_exit(2);
	}
	while (contract->engine->settle)
		if (contract->engine->settle(contract->store) < 0)
			_exit(3);
	for (;;)
		(void)pause();
}

struct agent_sums {
	uint64_t n_rows[N_AGENTS];
	uint64_t sum[N_AGENTS];
	const struct store_series *series;
};

static int add_row(void *arg, uint32_t series_index, uint64_t stack_id, uint64_t slot,
		   uint64_t value)
{
	struct agent_sums *sums = arg;
	/* "host-3" */
	size_t agent = (size_t)(sums->series[series_index].process->host->name[5] - '1');

	(void)stack_id;
	(void)slot;
	assert_true(agent < N_AGENTS);
	sums->n_rows[agent]++;
	sums->sum[agent] += value;
	return 0;
}

static struct agent_sums sum_agents(struct contract *contract)
{
	scoped(store_view_closep) struct store_view *view = open_view(contract->store, "default");
	struct store_range range = { .to_slot = UINT64_MAX };
	struct agent_sums sums = {};
	uint64_t ids[N_AGENTS];

	arena_clear(contract->arena);
	sums.series = contract_series(contract, view, &range.n_series);
	assert_true(range.n_series <= N_AGENTS);
	for (size_t i = 0; i < range.n_series; i++)
		ids[i] = sums.series[i].id;
	range.series_ids = ids;
	assert_int_equal(store_scan(view, &range, add_row, &sums), 0);
	return sums;
}

/*
 * The batch after the last acknowledged one may be stored; by SQLite also in one of its two days
 * only. The agent sends it, again or for the first time.
 */
static void assert_exactly_once(struct contract *contract, uint64_t *acknowledged)
{
	struct agent_sums sums;

	contract_reopen(contract);
	sums = sum_agents(contract);
	for (uint32_t i = 0; i < N_AGENTS; i++) {
		assert_in_range(sums.n_rows[i], acknowledged[i] * ROWS_OF_BATCH,
				(acknowledged[i] + 1) * ROWS_OF_BATCH);
		if (contract->engine->settle)
			assert_int_equal(sums.n_rows[i] % ROWS_OF_BATCH, 0);
		acknowledged[i]++;
		assert_true(write_batch(contract->store, batch_of(i, acknowledged[i])) > 0);
	}
	sums = sum_agents(contract);
	for (uint32_t i = 0; i < N_AGENTS; i++) {
		assert_int_equal(sums.n_rows[i], acknowledged[i] * ROWS_OF_BATCH);
		assert_int_equal(sums.sum[i], acknowledged[i] * SUM_OF_BATCH);
	}
	assert_no_faults(contract->store);
	contract->store = store_free(contract->store);
}

static void every_acknowledged_batch_is_stored_exactly_once_after_a_kill(void **state)
{
	const uint64_t n_kills = killed_server_kills(KILLS);
	unsigned int seed = (unsigned int)test_seed();
	uint64_t acknowledged[N_AGENTS] = {}, next[N_AGENTS], total = 0;
	struct contract *contract = *state;
	struct killed_server server = { .serve = serve, .context = contract, .next = next };

	contract->store = store_free(contract->store);
	contract->clock.wall_ns = NOW;
	for (uint64_t kill = 0; kill < n_kills; kill++) {
		/* In every second round, the agents have not received their last answer. */
		for (uint32_t i = 0; i < N_AGENTS; i++)
			next[i] = MAX(acknowledged[i] + (kill % 2 == 0), UINT64_C(1));
		killed_server_run(&server, kill % 4 != 3, rand_r(&seed) % 30000000L, acknowledged);
		assert_databases_intact(contract->folder);
		assert_exactly_once(contract, acknowledged);
	}
	for (uint32_t i = 0; i < N_AGENTS; i++)
		total += acknowledged[i];
	/* At least one batch in each round that waited for an answer. */
	assert_true(total >= n_kills * N_AGENTS + n_kills / 4);
	print_message("%llu kills, %llu batches acknowledged\n", (unsigned long long)n_kills,
		      (unsigned long long)total);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_both_engines(every_acknowledged_batch_is_stored_exactly_once_after_a_kill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
