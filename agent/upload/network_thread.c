/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/upload/network_thread.h"

#include <signal.h>
#include <time.h>

int network_thread_start(const char *name, void *(*run)(void *argument), void *argument,
			 pthread_t *ret_thread)
{
	sigset_t all, old;
	int r;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(ret_thread, NULL, run, argument);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r != 0)
		return -r;
	(void)pthread_setname_np(*ret_thread, name);
	return 0;
}

void network_thread_init_wake(pthread_cond_t *ret_wake)
{
	pthread_condattr_t attributes;

	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(ret_wake, &attributes);
	(void)pthread_condattr_destroy(&attributes);
}
