/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process with several writing threads is killed again and again. Each time the files are intact,
 * and every acknowledged batch is stored exactly once. HEARTH_CRASH_KILLS is the number of kills,
 * HEARTH_TEST_SEED the seed of their times.
 */

#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/support/test_seed.h"

enum { N_AGENTS = 4, KILLS = 20 };

#define MIDNIGHT (NOON + 12 * 3600 * NSEC_PER_SEC)

#define NEW_STACKS    20
#define ROWS_OF_BATCH (3 + NEW_STACKS)
#define SUM_OF_BATCH  (7 + NEW_STACKS)

struct acknowledgement {
	uint32_t agent;
	uint32_t sequence;
};

struct agent_thread {
	struct store *store;
	int acknowledge_fd;
	uint32_t agent;
	uint32_t next;
};

/* The rows of every second agent are on two days. Each batch has new stacks. */
static struct batch_builder *batch_of(uint32_t agent, uint32_t sequence)
{
	uint64_t closed = agent % 2 ? NOON : MIDNIGHT + 2 * NSEC_PER_SEC;
	struct batch_builder *builder = batch_builder_new((uint8_t)agent, EPOCH, sequence,
							  closed - 5 * NSEC_PER_SEC, closed);

	define_all(builder);
	batch_builder_row(builder, 1, 1, closed - 4 * NSEC_PER_SEC, 1);
	batch_builder_row(builder, 1, 2, closed - 3 * NSEC_PER_SEC, 2);
	batch_builder_row(builder, 1, 0, closed - 1 * NSEC_PER_SEC, 4);
	for (uint32_t i = 0; i < NEW_STACKS; i++) {
		uint32_t number = sequence * 100 + i;
		const struct batch_frame frames[] = { { FRAME_NATIVE, 1,
							number * UINT64_C(0x9e3779b97f4a7c15) },
						      { FRAME_NATIVE, 1, agent } };

		batch_builder_stack(builder, number, STACK_CUT_NONE, frames, 2);
		batch_builder_row(builder, 1, number, closed - NSEC_PER_SEC, 1);
	}
	return builder;
}

static void *write_until_killed(void *arg)
{
	struct agent_thread *thread = arg;

	for (uint32_t sequence = thread->next;; sequence++) {
		const struct acknowledgement acknowledgement = {
			.agent = thread->agent,
			.sequence = sequence,
		};
		int r = write_batch(thread->store, batch_of(thread->agent, sequence));

		if (r != STORE_STORED && r != STORE_DUPLICATE)
			_exit(1);
		if (write(thread->acknowledge_fd, &acknowledgement, sizeof(acknowledgement)) !=
		    sizeof(acknowledgement))
			_exit(2);
	}
	return NULL;
}

static void serve(const char *folder, int acknowledge_fd, const uint32_t *next)
{
	struct test_clock clock = test_clock_at(NOON);
	struct store *store = open_store(folder, &clock);
	struct agent_thread threads[N_AGENTS];
	pthread_t id;

	for (uint32_t i = 0; i < N_AGENTS; i++) {
		threads[i] = (struct agent_thread){
			.store = store,
			.acknowledge_fd = acknowledge_fd,
			.agent = i + 1,
			.next = next[i],
		};
		if (pthread_create(&id, NULL, write_until_killed, &threads[i]) != 0)
			_exit(3);
	}
	for (;;)
		(void)pause();
}

/*
 * Kills the server @delay_ns after its first acknowledgement, or after its start if not @wait.
 * Updates @acknowledged.
 */
static void run_and_kill(const char *folder, const uint32_t *next, bool wait, long delay_ns,
			 uint32_t *acknowledged)
{
	const struct timespec delay = { .tv_nsec = delay_ns };
	struct acknowledgement one = {};
	int fds[2];
	int status;
	pid_t pid;

	assert_ok(pipe2(fds, O_CLOEXEC));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(fds[0]);
		serve(folder, fds[1], next);
	}
	(void)close(fds[1]);
	if (wait && read(fds[0], &one, sizeof(one)) == sizeof(one))
		acknowledged[one.agent - 1] = MAX(acknowledged[one.agent - 1], one.sequence);
	(void)nanosleep(&delay, NULL);
	assert_ok(kill(pid, SIGKILL));
	while (read(fds[0], &one, sizeof(one)) == sizeof(one))
		acknowledged[one.agent - 1] = MAX(acknowledged[one.agent - 1], one.sequence);
	(void)close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void assert_intact(const char *path)
{
	sqlite3_stmt *row = NULL;
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &row, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(row, 0), "ok");
	(void)sqlite3_finalize(row);
	(void)sqlite3_close(db);
}

static void assert_files_intact(const char *folder)
{
	DIR *entries = opendir(folder);
	const struct dirent *entry;

	assert_non_null(entries);
	while ((entry = readdir(entries))) {
		const char *end = strrchr(entry->d_name, '.');

		if (end && strcmp(end, ".db") == 0) {
			scoped_free char *path = path_in(folder, entry->d_name);

			assert_intact(path);
		}
	}
	(void)closedir(entries);
}

struct agent_sum {
	uint64_t n_rows[N_AGENTS];
	uint64_t sum[N_AGENTS];
	const struct store_series *series;
};

static int add_row(void *arg, uint32_t series_index, uint64_t stack_id, uint64_t slot,
		   uint64_t value)
{
	struct agent_sum *sums = arg;
	/* "host-3" */
	size_t agent = (size_t)(sums->series[series_index].process->host->name[5] - '1');

	(void)stack_id;
	(void)slot;
	assert_true(agent < N_AGENTS);
	sums->n_rows[agent]++;
	sums->sum[agent] += value;
	return 0;
}

static void sum_agents(struct store *store, struct agent_sum *ret_sums)
{
	const struct store_series_query query = {};
	scoped(store_view_closep) struct store_view *view = open_view(store, "default");
	struct store_range range = { .to_slot = UINT64_MAX };
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_series *series;
	uint64_t ids[N_AGENTS];
	size_t count;

	assert_ok(arena_new(64 * MIB, &arena));
	assert_ok(store_find_series(view, &query, arena, &series, &count));
	assert_true(count <= N_AGENTS);
	for (size_t i = 0; i < count; i++)
		ids[i] = series[i].id;
	*ret_sums = (struct agent_sum){ .series = series };
	range.series_ids = ids;
	range.n_series = count;
	assert_ok(store_scan(view, &range, add_row, ret_sums));
}

/* The batch after the last acknowledged one may be stored, also in one of its two days only. */
static void assert_exactly_once(const char *folder, const uint32_t *acknowledged)
{
	struct test_clock clock = test_clock_at(NOON);
	struct store *store = open_store(folder, &clock);
	struct agent_sum sums;

	sum_agents(store, &sums);
	for (uint32_t i = 0; i < N_AGENTS; i++) {
		assert_true(sums.n_rows[i] >= (uint64_t)acknowledged[i] * ROWS_OF_BATCH);
		assert_true(sums.n_rows[i] <= (uint64_t)(acknowledged[i] + 1) * ROWS_OF_BATCH);
		/* As the agent would: sends the batch after it, again or for the first time. */
		assert_true(write_batch(store, batch_of(i + 1, acknowledged[i] + 1)) > 0);
	}
	sum_agents(store, &sums);
	for (uint32_t i = 0; i < N_AGENTS; i++) {
		assert_int_equal(sums.n_rows[i], (uint64_t)(acknowledged[i] + 1) * ROWS_OF_BATCH);
		assert_int_equal(sums.sum[i], (uint64_t)(acknowledged[i] + 1) * SUM_OF_BATCH);
	}
	(void)store_free(store);
}

static void every_acknowledged_batch_is_stored_exactly_once_after_a_kill(void **state)
{
	const char *text = getenv("HEARTH_CRASH_KILLS");
	long n_kills = text ? strtol(text, NULL, 10) : KILLS;
	unsigned int seed = (unsigned int)test_seed();
	uint32_t acknowledged[N_AGENTS] = {};
	uint64_t total = 0;

	for (long kill = 0; kill < n_kills; kill++) {
		uint32_t next[N_AGENTS];

		/* In every second round, the agents have not received their last answer. */
		for (uint32_t i = 0; i < N_AGENTS; i++)
			next[i] = MAX(acknowledged[i] + (kill % 2 == 0), 1u);
		run_and_kill(*state, next, kill % 4 != 3, rand_r(&seed) % 20000000L, acknowledged);
		assert_files_intact(*state);
		assert_exactly_once(*state, acknowledged);
		for (uint32_t i = 0; i < N_AGENTS; i++)
			acknowledged[i]++;
	}
	for (uint32_t i = 0; i < N_AGENTS; i++)
		total += acknowledged[i];
	/* At least one batch in each round that waited for an answer. */
	assert_true(total >= (uint64_t)n_kills * N_AGENTS + (uint64_t)n_kills / 4);
	print_message("%ld kills, %llu batches acknowledged\n", n_kills, (unsigned long long)total);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			every_acknowledged_batch_is_stored_exactly_once_after_a_kill,
			temp_folder_setup, temp_folder_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
