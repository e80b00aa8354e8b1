/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the threads of the sender and of the uploader have in common. */

#include <pthread.h>

/* Starts a thread with all signals blocked, because the main thread handles signals. */
int network_thread_start(const char *name, void *(*run)(void *argument), void *argument,
			 pthread_t *ret_thread);

/* Initialises a condition that waits by CLOCK_MONOTONIC. */
void network_thread_init_wake(pthread_cond_t *ret_wake);
