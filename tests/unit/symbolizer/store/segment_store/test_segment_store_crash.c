/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server with writing threads and a thread that flushes and merges is killed again and again.
 * Each time every acknowledged batch is stored exactly once. HEARTH_CRASH_KILLS is the number of
 * kills, HEARTH_TEST_SEED the seed of their times.
 */

#include "tests/unit/symbolizer/store/segment_store/segment_store_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/support/test_seed.h"

enum { N_AGENTS = 3, KILLS = 20 };

#define MIDNIGHT (NOON + 12 * 3600 * NSEC_PER_SEC)

/* Hours of the batches are closed, so that a merge makes roll-ups. */
#define NOW (MIDNIGHT + 4 * 3600 * NSEC_PER_SEC)

#define NEW_STACKS    20
#define ROWS_OF_BATCH (3 + NEW_STACKS)
#define SUM_OF_BATCH  (7 + NEW_STACKS)

struct acknowledgement {
	uint32_t agent, sequence;
};

struct agent_thread {
	struct store *store;
	int acknowledge_fd;
	uint32_t agent, next;
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
		const struct acknowledgement acknowledgement = { thread->agent, sequence };
		int r = write_batch(thread->store, batch_of(thread->agent, sequence));

		if (r != STORE_STORED && r != STORE_DUPLICATE)
			_exit(1);
		if (write(thread->acknowledge_fd, &acknowledgement, sizeof(acknowledgement)) !=
		    sizeof(acknowledgement))
			_exit(2);
	}
	return NULL;
}

static void serve(const char *folder, int acknowledge_fd, const uint32_t *acknowledged)
{
	struct test_clock clock = test_clock_at(NOW);
	struct store *store = open_segment_store(folder, &clock.clock, 0);
	struct agent_thread threads[N_AGENTS];
	pthread_t id;

	for (uint32_t i = 0; i < N_AGENTS; i++) {
		threads[i] = (struct agent_thread){ .store = store,
						    .acknowledge_fd = acknowledge_fd,
						    .agent = i + 1,
						    .next = acknowledged[i] + 1 };
		if (pthread_create(&id, NULL, write_until_killed, &threads[i]) != 0)
			_exit(3);
	}
	for (;;)
		if (segment_store_settle(store) < 0)
			_exit(4);
}

static void receive(const struct acknowledgement *one, uint32_t *acknowledged)
{
	acknowledged[one->agent - 1] = MAX(acknowledged[one->agent - 1], one->sequence);
}

/* Kills the server @delay_ns after its first acknowledgement, or after its start if not @wait. */
static void run_and_kill(const char *folder, bool wait, long delay_ns, uint32_t *acknowledged)
{
	const struct timespec delay = { .tv_nsec = delay_ns };
	struct acknowledgement one;
	int fds[2], status;
	pid_t pid;

	assert_ok(pipe2(fds, O_CLOEXEC));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(fds[0]);
		serve(folder, fds[1], acknowledged);
	}
	(void)close(fds[1]);
	if (wait && read(fds[0], &one, sizeof(one)) == sizeof(one))
		receive(&one, acknowledged);
	(void)nanosleep(&delay, NULL);
	assert_ok(kill(pid, SIGKILL));
	while (read(fds[0], &one, sizeof(one)) == sizeof(one))
		receive(&one, acknowledged);
	(void)close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

/* The batch of an agent after its last acknowledged one may be stored too. */
static void assert_exactly_once(const char *folder, uint32_t *acknowledged)
{
	struct test_clock clock = test_clock_at(NOW);
	struct store *store = open_segment_store(folder, &clock.clock, 0);
	struct totals totals = total_of(store, 0, 0);
	uint64_t n_batches = 0;
	size_t n_faults;

	for (uint32_t i = 0; i < N_AGENTS; i++)
		n_batches += acknowledged[i];
	assert_int_equal(totals.n_damaged, 0);
	assert_in_range(totals.n_rows, n_batches * ROWS_OF_BATCH,
			(n_batches + N_AGENTS) * ROWS_OF_BATCH);
	assert_int_equal(totals.n_rows % ROWS_OF_BATCH, 0);
	for (uint32_t i = 0; i < N_AGENTS; i++) {
		/* As the agent would: sends the batch after it, again or for the first time. */
		assert_true(write_batch(store, batch_of(i + 1, acknowledged[i] + 1)) > 0);
		acknowledged[i]++;
	}
	n_batches += N_AGENTS;
	assert_totals(store, 0, 0, n_batches * ROWS_OF_BATCH, n_batches * SUM_OF_BATCH);
	assert_ok(store_verify(store, &n_faults));
	assert_int_equal(n_faults, 0);
	(void)store_free(store);
}

static void every_acknowledged_batch_is_stored_exactly_once_after_a_kill(void **state)
{
	const char *text = getenv("HEARTH_CRASH_KILLS");
	const long n_kills = text ? strtol(text, NULL, 10) : KILLS;
	unsigned int seed = (unsigned int)test_seed();
	uint32_t acknowledged[N_AGENTS] = {};

	for (long i = 0; i < n_kills; i++) {
		run_and_kill(*state, i % 4 != 3, rand_r(&seed) % 30000000L, acknowledged);
		assert_exactly_once(*state, acknowledged);
	}
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
