/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time in the kernel: reads of 1 MiB from /dev/zero, which the kernel spends in clearing user
 * memory.
 *
 *   syscalls [SECONDS]
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "spin.h"

VISIBLE int read_zeros(int fd, void *buffer, size_t size, uint64_t end_ns);

int read_zeros(int fd, void *buffer, size_t size, uint64_t end_ns)
{
	while (clock_read_ns(CLOCK_MONOTONIC) < end_ns) {
		if (read(fd, buffer, size) != (ssize_t)size)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
	size_t size = 1 << 20;
	void *buffer = malloc(size);
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int result;

	if (!buffer || fd < 0)
		return 1;

	result = read_zeros(fd, buffer, size,
			    clock_read_ns(CLOCK_MONOTONIC) + seconds * 1000000000u);
	close(fd);
	free(buffer);
	return result;
}
