/* SPDX-License-Identifier: Apache-2.0 */
#include "common/thread.h"

#include <signal.h>

int thread_start(const char *name, void *(*run)(void *argument), void *argument,
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
