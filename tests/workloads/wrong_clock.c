/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Loaded by LD_PRELOAD, it adds HEARTH_CLOCK_AHEAD_S seconds to CLOCK_REALTIME.
 */

#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now)
{
	const char *ahead = getenv("HEARTH_CLOCK_AHEAD_S");
	long r = syscall(SYS_clock_gettime, id, now);

	if (r == 0 && id == CLOCK_REALTIME && ahead)
		now->tv_sec += strtol(ahead, NULL, 10);
	return (int)r;
}
