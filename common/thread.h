/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>

/*
 * Starts a thread with all signals blocked, because the main thread handles signals. 0 or negative
 * errno.
 */
int thread_start(const char *name, void *(*run)(void *argument), void *argument,
		 pthread_t *ret_thread);
