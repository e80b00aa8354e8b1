/* SPDX-License-Identifier: Apache-2.0 */
#include "common/condition.h"

#include "common/clock.h"
#include "tests/support/unit.h"

struct signalled {
	pthread_mutex_t lock;
	pthread_cond_t condition;
	bool is_set;
};

static void init(struct signalled *signalled)
{
	signalled->is_set = false;
	(void)pthread_mutex_init(&signalled->lock, NULL);
	condition_init(&signalled->condition);
}

static void release(struct signalled *signalled)
{
	(void)pthread_cond_destroy(&signalled->condition);
	(void)pthread_mutex_destroy(&signalled->lock);
}

static void *set(void *arg)
{
	struct signalled *signalled = arg;

	(void)pthread_mutex_lock(&signalled->lock);
	signalled->is_set = true;
	(void)pthread_cond_broadcast(&signalled->condition);
	(void)pthread_mutex_unlock(&signalled->lock);
	return NULL;
}

static void waiting_ends_at_the_deadline(void **state)
{
	const uint64_t deadline_ns = clock_monotonic_ns(&system_clock) + NSEC_PER_MSEC;
	struct signalled signalled;

	(void)state;
	init(&signalled);
	(void)pthread_mutex_lock(&signalled.lock);
	while (condition_wait_until(&signalled.condition, &signalled.lock, deadline_ns))
		;
	(void)pthread_mutex_unlock(&signalled.lock);
	assert_true(clock_monotonic_ns(&system_clock) >= deadline_ns);
	release(&signalled);
}

static void a_signal_ends_waiting_before_the_deadline(void **state)
{
	const uint64_t deadlines_ns[] = {
		UINT64_MAX,
		clock_monotonic_ns(&system_clock) + 3600 * NSEC_PER_SEC,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(deadlines_ns); i++) {
		struct signalled signalled;
		pthread_t thread;

		init(&signalled);
		(void)pthread_mutex_lock(&signalled.lock);
		assert_int_equal(pthread_create(&thread, NULL, set, &signalled), 0);
		while (!signalled.is_set)
			assert_true(condition_wait_until(&signalled.condition, &signalled.lock,
							 deadlines_ns[i]));
		(void)pthread_mutex_unlock(&signalled.lock);
		assert_int_equal(pthread_join(thread, NULL), 0);
		release(&signalled);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waiting_ends_at_the_deadline),
		cmocka_unit_test(a_signal_ends_waiting_before_the_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
