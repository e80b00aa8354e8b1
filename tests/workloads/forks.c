/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small build farm: a chain of children, one after the other, until the time is over. Each child
 * is a new process with new mappings and runs a program for a few milliseconds of CPU time.
 *
 *   forks SECONDS PROGRAM [ARGUMENT...]
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

int main(int argc, char **argv)
{
	uint64_t end_ns, n_children = 0;

	if (argc < 3)
		return 2;

	end_ns = clock_read_ns(CLOCK_MONOTONIC) + strtoull(argv[1], NULL, 10) * 1000000000u;
	while (clock_read_ns(CLOCK_MONOTONIC) < end_ns) {
		pid_t child;
		int status;

		if (posix_spawn(&child, argv[2], NULL, NULL, argv + 2, environ) != 0)
			return 1;
		if (waitpid(child, &status, 0) != child)
			return 1;
		n_children++;
	}
	printf("children %llu\n", (unsigned long long)n_children);
	return 0;
}
