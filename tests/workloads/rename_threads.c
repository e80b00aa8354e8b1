/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads rename themselves while they run, including the main thread, as some runtimes do. The
 * service must keep the name from exec (rename_threads), and the thread must have its new name.
 *
 *   rename_threads [SECONDS]
 */
#include <pthread.h>
#include <stdlib.h>

#include "spin.h"

VISIBLE uint64_t renamed_work(uint64_t end_ns);

uint64_t renamed_work(uint64_t end_ns)
{
	uint64_t seed = end_ns;

	while (clock_read_ns(CLOCK_MONOTONIC) < end_ns)
		seed = spin(seed, 100);
	return seed;
}

static void *second_thread(void *arg)
{
	const uint64_t *end_ns = arg;

	pthread_setname_np(pthread_self(), "second-name");
	renamed_work(*end_ns);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
	uint64_t end_ns = clock_read_ns(CLOCK_MONOTONIC) + seconds * 1000000000u;
	pthread_t thread;

	pthread_setname_np(pthread_self(), "MainThread");
	if (pthread_create(&thread, NULL, second_thread, &end_ns) != 0)
		return 1;
	renamed_work(end_ns);
	pthread_join(thread, NULL);
	return 0;
}
