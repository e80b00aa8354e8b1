/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Computes below functions of the C library: in comparisons of qsort(), in a signal handler, in a
 * thread. The test that uses it builds it with another C library.
 *
 *   through_libc SECONDS
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void spin(int rounds)
{
	for (int i = 0; i < rounds; i++)
		sum += (unsigned long)i;
}

__attribute__((noinline)) int in_comparison(const void *left, const void *right)
{
	spin(30);
	return *(const int *)left - *(const int *)right;
}

__attribute__((noinline)) void in_handler(int signal)
{
	struct timespec now, began;

	/* 1 of the 5 ms between two signals, independent of the speed of the CPU. */
	clock_gettime(CLOCK_MONOTONIC, &began);
	do {
		spin(5000 + signal);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - began.tv_sec) * 1000000000L + now.tv_nsec - began.tv_nsec < 1000000);
	sum++;
}

__attribute__((noinline)) void in_main(void)
{
	static int numbers[3000];

	for (int i = 0; i < 3000; i++)
		numbers[i] = i * 7919 % 3001;
	qsort(numbers, 3000, sizeof(numbers[0]), in_comparison);
	spin(400000);
	sum++;
}

__attribute__((noinline)) void *in_thread(void *argument)
{
	for (;;) {
		spin(400000);
		sum++;
	}
	return argument;
}

int main(int argc, char **argv)
{
	const struct itimerval interval = { .it_interval = { .tv_usec = 5000 },
					    .it_value = { .tv_usec = 5000 } };
	struct sigaction action = { .sa_handler = in_handler };
	time_t end = time(NULL) + (argc > 1 ? strtol(argv[1], NULL, 10) : 10);
	sigset_t alarm_signal;
	pthread_t thread;

	sigemptyset(&alarm_signal);
	sigaddset(&alarm_signal, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm_signal, NULL);
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_sigmask(SIG_UNBLOCK, &alarm_signal, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &interval, NULL);
	while (time(NULL) < end)
		in_main();
	return 0;
}
