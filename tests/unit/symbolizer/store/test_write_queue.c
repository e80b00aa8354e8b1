/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue in front of an engine that records its groups. Where a test needs a group of several
 * batches, the engine holds the first group until all others are in the queue.
 */

#include "tests/support/unit.h"

#include <semaphore.h>

#include "symbolizer/store/write_queue.h"

enum { N_WRITES = 12 };

#define ONE_HOUR_NS (3600 * NSEC_PER_SEC)

struct engine {
	struct write_queue *queue;
	sem_t may_write; /* posted once per group, if @held */
	bool held;
	size_t most; /* batches that the engine writes of one group; 0: all */
	size_t group_sizes[N_WRITES];
	size_t n_groups;
	unsigned int order[2 * N_WRITES];
	size_t n_written;
};

struct numbered_write {
	struct store_write write;
	unsigned int number;
	sem_t *done;
};

static size_t write_group(void *arg, struct store_write *const *writes, size_t count)
{
	struct engine *engine = arg;
	size_t n_written = engine->most ? MIN(engine->most, count) : count;

	if (engine->held)
		(void)sem_wait(&engine->may_write);
	engine->group_sizes[engine->n_groups++] = count;
	for (size_t i = 0; i < n_written; i++) {
		const struct numbered_write *write =
			container_of(writes[i], struct numbered_write, write);

		engine->order[engine->n_written++] = write->number;
		writes[i]->result = (int)write->number;
	}
	return n_written;
}

static void complete(struct store_write *write)
{
	(void)sem_post(container_of(write, struct numbered_write, write)->done);
}

struct fixture {
	struct engine engine;
	struct arena *arena;
	sem_t done;
	struct numbered_write writes[N_WRITES];
};

static void set_up(struct fixture *fixture, size_t max_writes, size_t max_bytes,
		   uint64_t spacing_ns)
{
	const struct write_queue_options options = {
		.max_writes = max_writes,
		.max_bytes = max_bytes,
		.spacing_ns = spacing_ns,
		.write_group = write_group,
		.arg = &fixture->engine,
	};

	assert_ok(arena_new(MIB, &fixture->arena));
	assert_non_null(arena_alloc(fixture->arena, 1000));
	assert_ok(sem_init(&fixture->done, 0, 0));
	assert_ok(sem_init(&fixture->engine.may_write, 0, 0));
	for (unsigned int i = 0; i < N_WRITES; i++)
		fixture->writes[i] = (struct numbered_write){
			.write = { .arena = fixture->arena, .complete = complete },
			.number = i,
			.done = &fixture->done,
		};
	assert_ok(write_queue_new(&options, &fixture->engine.queue));
}

static void tear_down(struct fixture *fixture)
{
	(void)write_queue_free(fixture->engine.queue);
	(void)sem_destroy(&fixture->done);
	(void)sem_destroy(&fixture->engine.may_write);
	(void)arena_free(fixture->arena);
}

static void begin(struct fixture *fixture, unsigned int first, unsigned int end)
{
	for (unsigned int i = first; i < end; i++)
		write_queue_begin(fixture->engine.queue, &fixture->writes[i].write);
}

static void release_groups(struct fixture *fixture, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		(void)sem_post(&fixture->engine.may_write);
}

static void wait_for(struct fixture *fixture, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		while (sem_wait(&fixture->done) < 0)
			;
}

static void assert_order(const struct fixture *fixture)
{
	assert_int_equal(fixture->engine.n_written, N_WRITES);
	for (unsigned int i = 0; i < N_WRITES; i++) {
		assert_int_equal(fixture->engine.order[i], i);
		assert_int_equal(fixture->writes[i].write.result, i);
	}
}

static void batches_that_arrive_during_a_group_are_the_next_group(void **state)
{
	struct fixture fixture = { .engine.held = true };

	(void)state;
	set_up(&fixture, N_WRITES, MIB, 0);
	begin(&fixture, 0, N_WRITES);
	release_groups(&fixture, N_WRITES);
	wait_for(&fixture, N_WRITES);
	/* The first group has those that arrived before the thread took it. */
	assert_true(fixture.engine.n_groups <= 2);
	assert_order(&fixture);
	tear_down(&fixture);
}

static void a_group_is_bounded_in_batches(void **state)
{
	struct fixture fixture = { .engine.held = true };

	(void)state;
	set_up(&fixture, 5, MIB, 0);
	begin(&fixture, 0, N_WRITES);
	release_groups(&fixture, N_WRITES);
	wait_for(&fixture, N_WRITES);
	for (size_t i = 0; i < fixture.engine.n_groups; i++)
		assert_true(fixture.engine.group_sizes[i] <= 5);
	assert_order(&fixture);
	tear_down(&fixture);
}

static void a_batch_larger_than_a_group_is_written_alone(void **state)
{
	struct fixture fixture = { .engine.held = true };

	(void)state;
	set_up(&fixture, N_WRITES, 100, 0);
	begin(&fixture, 0, N_WRITES);
	release_groups(&fixture, N_WRITES);
	wait_for(&fixture, N_WRITES);
	assert_int_equal(fixture.engine.n_groups, N_WRITES);
	assert_order(&fixture);
	tear_down(&fixture);
}

static void batches_that_the_engine_did_not_write_keep_their_order(void **state)
{
	struct fixture fixture = { .engine.held = true, .engine.most = 1 };

	(void)state;
	set_up(&fixture, N_WRITES, MIB, 0);
	begin(&fixture, 0, 6);
	release_groups(&fixture, 3);
	wait_for(&fixture, 3);
	begin(&fixture, 6, N_WRITES);
	release_groups(&fixture, N_WRITES);
	wait_for(&fixture, N_WRITES - 3);
	assert_order(&fixture);
	tear_down(&fixture);
}

/* With a spacing of an hour, the test ends only if no batch waits for it. */
static void one_client_never_waits_for_further_batches(void **state)
{
	struct fixture fixture = {};

	(void)state;
	set_up(&fixture, N_WRITES, MIB, ONE_HOUR_NS);
	for (unsigned int i = 0; i < N_WRITES; i++) {
		begin(&fixture, i, i + 1);
		wait_for(&fixture, 1);
	}
	assert_order(&fixture);
	tear_down(&fixture);
}

/* Six batches were in progress, so that a smaller group would wait for an hour. */
static void a_stopping_queue_completes_all_batches_at_once(void **state)
{
	struct fixture fixture = { .engine.held = true };

	(void)state;
	set_up(&fixture, 6, MIB, ONE_HOUR_NS);
	begin(&fixture, 0, 7);
	release_groups(&fixture, N_WRITES);
	begin(&fixture, 7, N_WRITES);
	tear_down(&fixture);
	assert_order(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_that_arrive_during_a_group_are_the_next_group),
		cmocka_unit_test(a_group_is_bounded_in_batches),
		cmocka_unit_test(a_batch_larger_than_a_group_is_written_alone),
		cmocka_unit_test(batches_that_the_engine_did_not_write_keep_their_order),
		cmocka_unit_test(one_client_never_waits_for_further_batches),
		cmocka_unit_test(a_stopping_queue_completes_all_batches_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
