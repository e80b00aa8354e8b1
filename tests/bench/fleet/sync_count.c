/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library for LD_PRELOAD that counts the calls of fsync() and fdatasync() of a program, in a file
 * that another program can read meanwhile. A tracepoint would slow every system call of the host.
 *
 * HEARTH_SYNC_COUNT names the file: two u64, the number of calls and their time in ns. It is
 * created; processes that the program starts count in it too.
 */

#include "tests/bench/fleet/sync_count.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/base.h"

static struct sync_count *map_counters(void)
{
	const char *path = getenv("HEARTH_SYNC_COUNT");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644) : -1;
	void *counters = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(struct sync_count)) == 0)
		counters = mmap(NULL, sizeof(struct sync_count), PROT_READ | PROT_WRITE, MAP_SHARED,
				fd, 0);
	if (fd >= 0)
		(void)close(fd);
	return counters == MAP_FAILED ? NULL : counters;
}

/* Set once before main(). */
static struct sync_count *counters;

__attribute__((constructor)) static void begin(void)
{
	counters = map_counters();
}

static uint64_t now_ns(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * NSEC_PER_SEC + (uint64_t)time.tv_nsec;
}

static int counted(long number, int fd)
{
	uint64_t began_ns = now_ns();
	long r = syscall(number, fd);

	if (counters) {
		atomic_fetch_add(&counters->n_calls, 1);
		atomic_fetch_add(&counters->time_ns, now_ns() - began_ns);
	}
	return (int)r;
}

int fsync(int fd)
{
	return counted(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return counted(SYS_fdatasync, fd);
}
