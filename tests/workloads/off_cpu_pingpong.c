/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes as many context switches as possible: pairs of threads pass a byte back and forth over two
 * pipes.
 *
 *   pingpong [PAIRS [SECONDS [WORK_NS [CPU]]]]    default 1, 10, 0
 *
 * Each thread works for WORK_NS before it passes the byte. With CPU all threads are bound to that
 * CPU. They have SCHED_BATCH, so they do not preempt each other: the thread that passes the byte
 * continues until it waits, so that its time off the CPU equals its waiting time.
 *
 * Prints three numbers at the end: how often a byte was passed, the microseconds that the threads
 * did not run, and the microseconds of these that they were runnable (according to the kernel:
 * preempted, which is not a wait, or woken and not yet running, which is part of the wait).
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "spin.h"

struct player {
	int from, to;
	uint64_t count;
	uint64_t off_cpu_ns;
	uint64_t delayed_ns;
	pthread_t thread;
};

static uint64_t end_ns;
static uint64_t work_ns;

VISIBLE int wait_for_ball(int fd);

int wait_for_ball(int fd)
{
	char ball;
	ssize_t n_read = read(fd, &ball, 1);

	__asm__ volatile("" : "+r"(n_read));
	return n_read == 1;
}

VISIBLE void work(uint64_t seed);

void work(uint64_t seed)
{
	uint64_t until_ns = clock_read_ns(CLOCK_MONOTONIC) + work_ns;

	while (clock_read_ns(CLOCK_MONOTONIC) < until_ns)
		__asm__ volatile("" : "+r"(seed));
}

/* Returns the second field: time on a run queue. */
static uint64_t delayed_ns(void)
{
	FILE *file = fopen("/proc/thread-self/schedstat", "r");
	uint64_t delayed = 0;

	if (!file || fscanf(file, "%*u %" SCNu64, &delayed) != 1)
		exit(1);
	fclose(file);
	return delayed;
}

static void *play(void *arg)
{
	struct player *player = arg;
	uint64_t start_ns = clock_read_ns(CLOCK_MONOTONIC);
	uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	player->delayed_ns = delayed_ns();
	while (wait_for_ball(player->from)) {
		player->count++;
		if (work_ns > 0)
			work(player->count);
		if (player->count % 64 == 0 && clock_read_ns(CLOCK_MONOTONIC) >= end_ns)
			break;
		if (write(player->to, "", 1) != 1)
			break;
	}
	/* The first thread that ends also ends the other one. */
	close(player->to);
	player->off_cpu_ns = clock_read_ns(CLOCK_MONOTONIC) - start_ns -
			     (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns);
	player->delayed_ns = delayed_ns() - player->delayed_ns;
	return NULL;
}

int main(int argc, char **argv)
{
	size_t n_players = 2 * (argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
	uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 10;
	struct player *players = calloc(n_players, sizeof(*players));
	uint64_t count = 0;
	uint64_t off_cpu_ns = 0;
	uint64_t delayed = 0;
	const struct sched_param batch = {};
	cpu_set_t cpus;

	if (sched_setscheduler(0, SCHED_BATCH, &batch) < 0)
		return 1;
	if (!players)
		return 1;
	end_ns = clock_read_ns(CLOCK_MONOTONIC) + seconds * 1000000000u;
	work_ns = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	if (argc > 4) {
		CPU_ZERO(&cpus);
		CPU_SET(strtoul(argv[4], NULL, 10), &cpus);
		sched_setaffinity(0, sizeof(cpus), &cpus);
	}
	for (size_t i = 0; i < n_players; i += 2) {
		int there[2], back[2];

		if (pipe(there) < 0 || pipe(back) < 0 || write(there[1], "", 1) != 1)
			return 1;
		players[i] = (struct player){ .from = there[0], .to = back[1] };
		players[i + 1] = (struct player){ .from = back[0], .to = there[1] };
	}
	for (size_t i = 0; i < n_players; i++)
		pthread_create(&players[i].thread, NULL, play, &players[i]);
	for (size_t i = 0; i < n_players; i++) {
		pthread_join(players[i].thread, NULL);
		count += players[i].count;
		off_cpu_ns += players[i].off_cpu_ns;
		delayed += players[i].delayed_ns;
	}
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", count, off_cpu_ns / 1000, delayed / 1000);
	free(players);
	return 0;
}
