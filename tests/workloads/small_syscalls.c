/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the entry to the kernel and the exit: the smallest possible system call in a loop.
 *
 *   small_syscalls [SECONDS]
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

VISIBLE long call_the_kernel(uint64_t n_calls);

long call_the_kernel(uint64_t n_calls)
{
	long sum = 0;

	for (uint64_t i = 0; i < n_calls; i++)
		sum += syscall(SYS_getppid);
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
	uint64_t end_ns = clock_read_ns(CLOCK_MONOTONIC) + seconds * 1000000000u;

	while (clock_read_ns(CLOCK_MONOTONIC) < end_ns) {
		if (call_the_kernel(1000) < 0)
			return 1;
	}
	return 0;
}
