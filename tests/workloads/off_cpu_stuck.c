/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unusual waits.
 *
 *   stuck deadlock          Two threads take two locks in a loop, and after a second in opposite
 *                           order: they hang until the program is killed. Prints "stuck" then.
 *   stuck sleep SECONDS     One wait of that length in sleep_long(). Prints its microseconds.
 *   stuck migrate SECONDS   A thread is bound to another CPU while it waits in wait_for_move().
 *                           Prints how often it resumed on another CPU, and the microseconds that
 *                           it waited.
 *   stuck exec SECONDS      Sleeps, then executes another program, which sleeps as long in
 *                           sleep_long().
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spin.h"

#define MS 1000000u

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_have_one;
static uint64_t busy_until_ns;

VISIBLE void take_locks(pthread_mutex_t *one, pthread_mutex_t *other);
VISIBLE void lock_first_then_second(void);
VISIBLE void lock_second_then_first(void);
VISIBLE void sleep_long(uint64_t seconds);
VISIBLE void wait_for_move(int fd);
VISIBLE int become_another(char *program, char *seconds);

static void sleep_ns(uint64_t ns)
{
	struct timespec time = { .tv_sec = (time_t)(ns / 1000000000u),
				 .tv_nsec = (long)(ns % 1000000000u) };

	nanosleep(&time, NULL);
}

void take_locks(pthread_mutex_t *one, pthread_mutex_t *other)
{
	while (clock_read_ns(CLOCK_MONOTONIC) < busy_until_ns) {
		pthread_mutex_lock(&first);
		pthread_mutex_lock(&second);
		spin(1, 2);
		pthread_mutex_unlock(&second);
		pthread_mutex_unlock(&first);
	}
	pthread_mutex_lock(one);
	pthread_barrier_wait(&both_have_one);
	pthread_mutex_lock(other);
	/* Never reached. Keeps the compiler from making the call above a tail call. */
	__asm__ volatile("");
}

void lock_first_then_second(void)
{
	take_locks(&first, &second);
	__asm__ volatile("");
}

void lock_second_then_first(void)
{
	take_locks(&second, &first);
	__asm__ volatile("");
}

static void *run_first(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "first");
	lock_first_then_second();
	return NULL;
}

static void *run_second(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "second");
	lock_second_then_first();
	return NULL;
}

static int deadlock(void)
{
	pthread_t threads[2];

	busy_until_ns = clock_read_ns(CLOCK_MONOTONIC) + 1000 * (uint64_t)MS;
	pthread_barrier_init(&both_have_one, NULL, 2);
	pthread_create(&threads[0], NULL, run_first, NULL);
	pthread_create(&threads[1], NULL, run_second, NULL);
	sleep_ns(1500 * (uint64_t)MS);
	printf("stuck\n");
	fflush(stdout);
	pthread_join(threads[0], NULL);
	return 0;
}

void sleep_long(uint64_t seconds)
{
	sleep_ns(seconds * 1000 * MS);
	__asm__ volatile("");
}

static int sleep_once(uint64_t seconds)
{
	uint64_t start_ns = clock_read_ns(CLOCK_MONOTONIC);

	sleep_long(seconds);
	printf("%" PRIu64 "\n", (clock_read_ns(CLOCK_MONOTONIC) - start_ns) / 1000);
	return 0;
}

static pthread_t mover_of;
static int move_fds[2];
static uint64_t stop_ns;

void wait_for_move(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		exit(1);
}

static void bind_to(pthread_t thread, int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	pthread_setaffinity_np(thread, sizeof(cpus), &cpus);
}

/* Moves the waiting thread every 5 ms, and wakes it 5 ms later. */
static void *move(void *arg)
{
	int cpu = 0;

	(void)arg;
	while (clock_read_ns(CLOCK_MONOTONIC) < stop_ns + 100 * MS) {
		sleep_ns(5 * MS);
		bind_to(mover_of, cpu = !cpu);
		sleep_ns(5 * MS);
		if (write(move_fds[1], "", 1) != 1)
			exit(1);
	}
	return NULL;
}

static int migrate(uint64_t seconds)
{
	uint64_t moves = 0;
	uint64_t waited_ns = 0;
	pthread_t mover;

	if (pipe(move_fds) < 0)
		return 1;
	mover_of = pthread_self();
	stop_ns = clock_read_ns(CLOCK_MONOTONIC) + seconds * 1000 * MS;
	pthread_create(&mover, NULL, move, NULL);
	while (clock_read_ns(CLOCK_MONOTONIC) < stop_ns) {
		int cpu = sched_getcpu();
		uint64_t wall_ns = clock_read_ns(CLOCK_MONOTONIC);
		uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

		wait_for_move(move_fds[0]);
		cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
		waited_ns += clock_read_ns(CLOCK_MONOTONIC) - wall_ns - cpu_ns;
		moves += sched_getcpu() != cpu;
	}
	printf("%" PRIu64 " %" PRIu64 "\n", moves, waited_ns / 1000);
	return 0;
}

int become_another(char *program, char *seconds)
{
	char *const arguments[] = { program, "sleep", seconds, NULL };

	sleep_ns(strtoull(seconds, NULL, 10) * 1000 * MS);
	execv(program, arguments);
	return 1;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 10;

	if (argc > 1 && strcmp(argv[1], "deadlock") == 0)
		return deadlock();
	if (argc > 1 && strcmp(argv[1], "sleep") == 0)
		return sleep_once(seconds);
	if (argc > 1 && strcmp(argv[1], "migrate") == 0)
		return migrate(seconds);
	if (argc > 2 && strcmp(argv[1], "exec") == 0)
		return become_another(argv[0], argv[2]);
	return 2;
}
