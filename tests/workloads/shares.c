/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with a known profile: four named threads, each of which spends 70, 20 and 10 % of its
 * CPU time in work_a, work_b and work_c. The shares are numbers of identical loop steps, so that
 * they do not depend on the clock. Every round has these shares, so that the program may be stopped
 * at any time.
 *
 *   shares [SECONDS]    default 10; prints the expected shares first, its CPU time last
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "spin.h"

/* Programs that are built from this source differ, so that their build-IDs do. */
static const char program_name[] __attribute__((used)) = WORKLOAD_NAME;

static const char *const thread_names[] = { "ingest", "parse", "render", "flush" };
#define N_THREADS (sizeof(thread_names) / sizeof(thread_names[0]))

/*
 * The three functions have equal code and alignment, because a difference in speed would change the
 * shares.
 */
#define DEFINE_WORK(name)                                                                          \
	VISIBLE __attribute__((aligned(64))) uint64_t name(uint64_t seed, uint64_t units);         \
	uint64_t name(uint64_t seed, uint64_t units)                                               \
	{                                                                                          \
		return spin(seed, units);                                                          \
	}

DEFINE_WORK(work_a)
DEFINE_WORK(work_b)
DEFINE_WORK(work_c)

struct worker {
	pthread_t thread;
	const char *name;
	uint64_t deadline_ns;
	uint64_t seed;
};

/*
 * A round takes 1 to 3 ms, at random: rounds of constant length could stay synchronous with the
 * profiler's timer, which would then hit a function too often or never.
 */
VISIBLE static uint64_t work_round(uint64_t seed)
{
	uint64_t scale = 10 + (seed >> 33) % 21;

	seed = work_a(seed, 7 * scale);
	seed = work_b(seed, 2 * scale);
	return work_c(seed, scale);
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;

	pthread_setname_np(pthread_self(), worker->name);
	while (clock_read_ns(CLOCK_MONOTONIC) < worker->deadline_ns)
		worker->seed = work_round(worker->seed);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
	uint64_t deadline_ns = clock_read_ns(CLOCK_MONOTONIC) + seconds * 1000000000u;
	struct worker workers[N_THREADS];

	printf("truth work_a=70 work_b=20 work_c=10 threads=%zu seconds=%" PRIu64 "\n", N_THREADS,
	       seconds);
	fflush(stdout);

	for (size_t i = 0; i < N_THREADS; i++) {
		workers[i] = (struct worker){ .name = thread_names[i],
					      .deadline_ns = deadline_ns,
					      .seed = i + 1 };
		if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) != 0)
			return 1;
	}
	for (size_t i = 0; i < N_THREADS; i++)
		pthread_join(workers[i].thread, NULL);

	printf("cpu_ns %" PRIu64 "\n", clock_read_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
