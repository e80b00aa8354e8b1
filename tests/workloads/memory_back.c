/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that allocate much memory and then end. Most of the CPU time of their exit is spent in
 * the kernel after they have released their address space. At the end this program prints the CPU
 * time of all of them, in microseconds.
 *
 *   memory_back PROCESSES MIB
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

VISIBLE int ends_with_much_memory(size_t bytes);

int ends_with_much_memory(size_t bytes)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;

	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED;
}

int main(int argc, char **argv)
{
	long processes = argc > 1 ? strtol(argv[1], NULL, 10) : 20;
	size_t mib = argc > 2 ? strtoull(argv[2], NULL, 10) : 512;
	struct rusage usage;

	for (long i = 0; i < processes; i++) {
		int status = 1;
		pid_t child = fork();

		if (child == 0)
			_exit(ends_with_much_memory(mib << 20));
		if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
			perror("memory_back: a process failed");
			return 1;
		}
	}
	if (getrusage(RUSAGE_CHILDREN, &usage) < 0)
		return 1;
	printf("%ld\n", (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
				usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	return 0;
}
