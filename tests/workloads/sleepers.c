/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sleepers THREADS SECONDS: threads that repeatedly sleep for 12 to 28 ms. Prints the sum of the
 * microseconds that they slept.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static _Atomic uint64_t slept_ns;
static uint64_t end_ns;

static uint64_t now_ns(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

__attribute__((noinline)) static void sleep_briefly(uint64_t ms)
{
	const struct timespec pause = { .tv_nsec = (long)(ms * 1000000) };

	(void)nanosleep(&pause, NULL);
}

static void *run(void *arg)
{
	uint64_t turn = (uintptr_t)arg, own_ns = 0, before, after = now_ns();

	while (after < end_ns) {
		before = after;
		sleep_briefly(12 + turn++ * 7 % 17);
		after = now_ns();
		own_ns += after - before;
	}
	slept_ns += own_ns;
	return NULL;
}

int main(int argc, char **argv)
{
	size_t n_threads = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	pthread_t *threads = calloc(n_threads ? n_threads : 1, sizeof(*threads));
	pthread_attr_t attributes;

	if (n_threads == 0 || !threads || pthread_attr_init(&attributes) != 0 ||
	    pthread_attr_setstacksize(&attributes, 131072) != 0)
		return 2;
	end_ns = now_ns() + strtoul(argv[2], NULL, 10) * 1000000000;
	for (size_t i = 0; i < n_threads; i++) {
		if (pthread_create(&threads[i], &attributes, run, (void *)i) != 0)
			return 1;
	}
	for (size_t i = 0; i < n_threads; i++)
		(void)pthread_join(threads[i], NULL);
	printf("%llu\n", (unsigned long long)slept_ns / 1000);
	return 0;
}
