/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits of known kinds, each in a separate function and thread. The call that waits is timed.
 *
 *   off_cpu_waits [SECONDS [FILE]]    default 10; reads FILE, of 16 MiB, past the page cache
 *   off_cpu_waits SECONDS asleep      only the thread that sleeps, 50 times a second
 *
 * Prints a line for each function at the end: its name, the number of waits, and their
 * microseconds.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spin.h"

#define MS 1000000u

#define DISK_BLOCK_BYTES (4 << 20)
#define DISK_FILE_BYTES  (16 << 20)

struct waiter {
	const char *name; /* name of the function; without "wait_" also of the thread */
	void (*wait)(struct waiter *waiter);
	uint64_t end_ns;
	uint64_t count;
	uint64_t waited_ns;
	int fd;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t condition_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static uint64_t signals;
static int pipe_fds[2];
static uint64_t stop_ns;

static void sleep_ns(uint64_t ns)
{
	struct timespec time = { .tv_sec = (time_t)(ns / 1000000000u),
				 .tv_nsec = (long)(ns % 1000000000u) };

	nanosleep(&time, NULL);
}

VISIBLE void wait_in_nanosleep(struct waiter *waiter);
VISIBLE void wait_for_mutex(struct waiter *waiter);
VISIBLE void wait_for_condition(struct waiter *waiter);
VISIBLE void wait_for_pipe(struct waiter *waiter);
VISIBLE void wait_for_disk(struct waiter *waiter);

void wait_in_nanosleep(struct waiter *waiter)
{
	(void)waiter;
	sleep_ns(20 * MS);
}

void wait_for_mutex(struct waiter *waiter)
{
	(void)waiter;
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

void wait_for_condition(struct waiter *waiter)
{
	uint64_t seen;

	(void)waiter;
	pthread_mutex_lock(&condition_lock);
	for (seen = signals; seen == signals;)
		pthread_cond_wait(&condition, &condition_lock);
	pthread_mutex_unlock(&condition_lock);
}

void wait_for_pipe(struct waiter *waiter)
{
	char byte;

	(void)waiter;
	if (read(pipe_fds[0], &byte, 1) != 1)
		exit(1);
}

void wait_for_disk(struct waiter *waiter)
{
	static char block[DISK_BLOCK_BYTES] __attribute__((aligned(4096)));
	off_t offset = (off_t)(waiter->count * DISK_BLOCK_BYTES % DISK_FILE_BYTES);

	if (pread(waiter->fd, block, sizeof(block), offset) != (ssize_t)sizeof(block))
		exit(1);
}

/* Holds the lock for 30 of every 40 ms. */
static void *hold_lock(void *arg)
{
	(void)arg;
	while (clock_read_ns(CLOCK_MONOTONIC) < stop_ns + 100 * MS) {
		pthread_mutex_lock(&lock);
		sleep_ns(30 * MS);
		pthread_mutex_unlock(&lock);
		sleep_ns(10 * MS);
	}
	return NULL;
}

static void *feed(void *arg)
{
	(void)arg;
	while (clock_read_ns(CLOCK_MONOTONIC) < stop_ns + 100 * MS) {
		sleep_ns(15 * MS);
		pthread_mutex_lock(&condition_lock);
		signals++;
		pthread_cond_signal(&condition);
		pthread_mutex_unlock(&condition_lock);
		if (write(pipe_fds[1], "", 1) != 1)
			exit(1);
	}
	return NULL;
}

/* Measures the time off the CPU, because the CPU time of the call is not a wait. */
static void *repeat(void *arg)
{
	struct waiter *waiter = arg;

	pthread_setname_np(pthread_self(), waiter->name + sizeof("wait_") - 1);
	while (clock_read_ns(CLOCK_MONOTONIC) < stop_ns) {
		uint64_t wall_ns = clock_read_ns(CLOCK_MONOTONIC);
		uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

		waiter->wait(waiter);
		cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
		waiter->waited_ns += clock_read_ns(CLOCK_MONOTONIC) - wall_ns - cpu_ns;
		waiter->count++;
		/* If the lock was free, the thread must not spin. */
		if (waiter->wait == wait_for_mutex)
			sleep_ns(1 * MS);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct waiter waiters[] = {
		{ .name = "wait_in_nanosleep", .wait = wait_in_nanosleep },
		{ .name = "wait_for_mutex", .wait = wait_for_mutex },
		{ .name = "wait_for_condition", .wait = wait_for_condition },
		{ .name = "wait_for_pipe", .wait = wait_for_pipe },
		{ .name = "wait_for_disk", .wait = wait_for_disk, .fd = -1 },
	};
	size_t n_waiters = sizeof(waiters) / sizeof(waiters[0]);
	pthread_t threads[sizeof(waiters) / sizeof(waiters[0])];
	pthread_t holder, feeder;

	stop_ns = clock_read_ns(CLOCK_MONOTONIC) +
		  (argc > 1 ? strtoull(argv[1], NULL, 10) : 10) * 1000 * MS;
	if (argc > 2 && strcmp(argv[2], "asleep") == 0)
		n_waiters = 1;
	else if (argc > 2)
		waiters[n_waiters - 1].fd = open(argv[2], O_RDONLY | O_DIRECT);
	if (n_waiters > 1 && waiters[n_waiters - 1].fd < 0)
		n_waiters--;
	if (pipe(pipe_fds) < 0)
		return 1;
	if (n_waiters > 1) {
		pthread_create(&holder, NULL, hold_lock, NULL);
		pthread_create(&feeder, NULL, feed, NULL);
	}
	for (size_t i = 0; i < n_waiters; i++)
		pthread_create(&threads[i], NULL, repeat, &waiters[i]);
	for (size_t i = 0; i < n_waiters; i++) {
		pthread_join(threads[i], NULL);
		printf("%s %" PRIu64 " %" PRIu64 "\n", waiters[i].name, waiters[i].count,
		       waiters[i].waited_ns / 1000);
	}
	return 0;
}
