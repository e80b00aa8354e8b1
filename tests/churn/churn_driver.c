/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts RATE small programs per second, independently of the state of earlier ones. Most run for
 * some hundred microseconds, one in twenty for 55 ms of CPU time. Half of them are forked like by a
 * shell, by a child that does some work before it executes the program. Prints a line for each long
 * one that ended:
 *
 *   PROGRAM PID STARTED_NS ENDED_NS CPU_US          (wall clock)
 *
 * and at the end `started N, held back N, ended by others N`. Programs are held back, that is, not
 * started, if too many are running, or if the driver is late.
 *
 *   churn_driver SECONDS RATE FOLDER
 */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/workloads/spin.h"

#define MAX_RUNNING 128
#define LONG_US     55000
#define LONG_ONE_IN 20
#define LATE_NS     1000000000u

struct run {
	pid_t pid; /* 0: the slot is free */
	unsigned int program;
	int is_long;
	uint64_t started_ns;
};

struct driver {
	const char *folder;
	struct run runs[MAX_RUNNING];
	uint32_t seed;
	uint64_t n_started, n_held_back, n_ended_by_others;
};

static uint32_t random_below(struct driver *driver, uint32_t bound)
{
	driver->seed = driver->seed * 1664525u + 1013904223u;
	return (driver->seed >> 8) % bound;
}

static struct run *free_slot(struct driver *driver)
{
	for (int i = 0; i < MAX_RUNNING; i++) {
		if (driver->runs[i].pid == 0)
			return &driver->runs[i];
	}
	return NULL;
}

/* Work between fork and exec, as in a shell, on a stack that is a copy of the driver's. */
VISIBLE uint64_t work_before_exec(uint64_t units);

uint64_t work_before_exec(uint64_t units)
{
	return spin(units, units);
}

static pid_t start_program(int by_fork, char *const arguments[])
{
	pid_t pid;

	if (!by_fork)
		return posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environ) == 0 ? pid
											    : -1;
	pid = fork();
	if (pid == 0) {
		if (work_before_exec(20) != 1)
			execv(arguments[0], arguments);
		_exit(127);
	}
	return pid;
}

static void start_one(struct driver *driver)
{
	struct run *run = free_slot(driver);
	char path[512], us[32], library[512], function[64];
	char *arguments[] = { path, us, library, function, NULL };

	if (!run) {
		driver->n_held_back++;
		return;
	}
	run->program = random_below(driver, N_PROGRAMS);
	run->is_long = random_below(driver, LONG_ONE_IN) == 0;
	(void)snprintf(path, sizeof(path), "%s/churn_%u", driver->folder, run->program);
	(void)snprintf(us, sizeof(us), "%u", run->is_long ? LONG_US : random_below(driver, 2000));
	(void)snprintf(library, sizeof(library), "%s/libchurn_%u.so", driver->folder, run->program);
	(void)snprintf(function, sizeof(function), "spin_in_library_%u_", run->program);
	if (random_below(driver, 3) != 0)
		arguments[2] = NULL;
	run->started_ns = clock_read_ns(CLOCK_REALTIME);
	run->pid = start_program(random_below(driver, 2) == 0, arguments);
	if (run->pid < 0) {
		run->pid = 0;
		driver->n_held_back++;
		return;
	}
	driver->n_started++;
}

/* Another program may end one of them by mistake, because pids are soon used again. */
static int judge(struct driver *driver, pid_t pid, int status)
{
	if (status == 0)
		return 0;
	driver->n_ended_by_others += WIFSIGNALED(status);
	printf("process %d: wait status 0x%x\n", pid, (unsigned int)status);
	return !WIFSIGNALED(status);
}

/* Returns 1 if a program failed, else 0. */
static int reap(struct driver *driver, int flags)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, flags, &usage)) > 0) {
		if (judge(driver, pid, status))
			return 1;
		for (int i = 0; i < MAX_RUNNING; i++) {
			struct run *run = &driver->runs[i];

			if (run->pid != pid)
				continue;
			run->pid = 0;
			if (run->is_long && status == 0)
				printf("churn_%u %d %llu %llu %llu\n", run->program, pid,
				       (unsigned long long)run->started_ns,
				       (unsigned long long)clock_read_ns(CLOCK_REALTIME),
				       (unsigned long long)(usage.ru_utime.tv_sec +
							    usage.ru_stime.tv_sec) *
						       1000000u +
					       (unsigned long long)(usage.ru_utime.tv_usec +
								    usage.ru_stime.tv_usec));
			break;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct driver driver = { .seed = 1 };
	uint64_t began_ns = clock_read_ns(CLOCK_MONOTONIC);
	uint64_t n_due, seconds, rate;
	int result = 0;

	if (argc != 4)
		return 2;
	seconds = strtoull(argv[1], NULL, 10);
	rate = strtoull(argv[2], NULL, 10);
	driver.folder = argv[3];
	n_due = seconds * rate;
	for (uint64_t i = 0; i < n_due && result == 0; i++) {
		uint64_t due_ns = began_ns + i * 1000000000u / rate;
		struct timespec due = { (time_t)(due_ns / 1000000000u),
					(long)(due_ns % 1000000000u) };

		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		result = reap(&driver, WNOHANG);
		/*
		 * If starting programs takes longer than the interval between two starts, the
		 * schedule does not wait for them.
		 */
		if (clock_read_ns(CLOCK_MONOTONIC) > due_ns + LATE_NS)
			driver.n_held_back++;
		else
			start_one(&driver);
	}
	if (result == 0)
		result = reap(&driver, 0);
	printf("started %llu, held back %llu, ended by others %llu\n",
	       (unsigned long long)driver.n_started, (unsigned long long)driver.n_held_back,
	       (unsigned long long)driver.n_ended_by_others);
	return result;
}
