/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fair_lock.h"

#include <sched.h>

#include "tests/support/unit.h"

struct shared {
	struct fair_lock lock;
	unsigned int order[3]; /* which threads had the lock */
	size_t n;
	uint64_t count;
};

struct thread {
	struct shared *shared;
	unsigned int number;
	pthread_t id;
};

static void note(struct shared *shared, unsigned int number)
{
	assert_true(shared->n < ARRAY_SIZE(shared->order));
	shared->order[shared->n++] = number;
}

static void *take_once(void *arg)
{
	struct thread *thread = arg;

	fair_lock_take(&thread->shared->lock);
	note(thread->shared, thread->number);
	fair_lock_give(&thread->shared->lock);
	return NULL;
}

static void start_waiting(struct thread *thread, size_t n_waiting)
{
	assert_int_equal(pthread_create(&thread->id, NULL, take_once, thread), 0);
	while (fair_lock_waiting(&thread->shared->lock) < n_waiting)
		(void)sched_yield();
}

static void threads_get_the_lock_in_the_order_in_which_they_asked(void **state)
{
	struct shared shared = {};
	struct thread threads[] = { { .shared = &shared, .number = 1 },
				    { .shared = &shared, .number = 2 } };

	(void)state;
	fair_lock_init(&shared.lock);
	fair_lock_take(&shared.lock);
	start_waiting(&threads[0], 1);
	start_waiting(&threads[1], 2);
	fair_lock_give(&shared.lock);
	/* Those who wait come first. */
	fair_lock_take(&shared.lock);
	note(&shared, 3);
	fair_lock_give(&shared.lock);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_join(threads[i].id, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(shared.order); i++)
		assert_int_equal(shared.order[i], i + 1);
	fair_lock_release(&shared.lock);
}

#define ROUNDS 2000

static void *count(void *arg)
{
	struct shared *shared = arg;

	for (int i = 0; i < ROUNDS; i++) {
		fair_lock_take(&shared->lock);
		shared->count++;
		fair_lock_give(&shared->lock);
	}
	return NULL;
}

static void one_thread_at_a_time_has_the_lock(void **state)
{
	struct shared shared = {};
	pthread_t threads[4];

	(void)state;
	fair_lock_init(&shared.lock);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count, &shared), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(shared.count, ROUNDS * ARRAY_SIZE(threads));
	assert_int_equal(fair_lock_waiting(&shared.lock), 0);
	fair_lock_release(&shared.lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_get_the_lock_in_the_order_in_which_they_asked),
		cmocka_unit_test(one_thread_at_a_time_has_the_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
