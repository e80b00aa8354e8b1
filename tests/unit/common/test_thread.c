/* SPDX-License-Identifier: Apache-2.0 */
#include "common/thread.h"

#include <signal.h>

#include "tests/support/unit.h"

static void *look(void *arg)
{
	(void)pthread_sigmask(SIG_SETMASK, NULL, arg);
	return NULL;
}

static void signals_are_blocked_in_the_thread_and_not_in_the_caller(void **state)
{
	sigset_t blocked, own;
	pthread_t thread;

	(void)state;
	assert_ok(thread_start("a-name", look, &blocked, &thread));
	assert_int_equal(pthread_join(thread, NULL), 0);
	(void)pthread_sigmask(SIG_SETMASK, NULL, &own);
	assert_int_equal(sigismember(&blocked, SIGTERM), 1);
	assert_int_equal(sigismember(&blocked, SIGHUP), 1);
	assert_int_equal(sigismember(&own, SIGTERM), 0);
}

static void *wait_for_lock(void *arg)
{
	(void)pthread_mutex_lock(arg);
	(void)pthread_mutex_unlock(arg);
	return NULL;
}

static void the_thread_has_the_name(void **state)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;
	char name[16];

	(void)state;
	(void)pthread_mutex_lock(&lock);
	assert_ok(thread_start("a-name", wait_for_lock, &lock, &thread));
	assert_int_equal(pthread_getname_np(thread, name, sizeof(name)), 0);
	(void)pthread_mutex_unlock(&lock);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_string_equal(name, "a-name");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_are_blocked_in_the_thread_and_not_in_the_caller),
		cmocka_unit_test(the_thread_has_the_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
