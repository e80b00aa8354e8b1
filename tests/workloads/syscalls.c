/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spends its time in the kernel: reads of 1 MiB from /dev/zero, during which the kernel clears user
 * memory.
 *
 *   syscalls [SECONDS]
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

/*
 * Does not use the wrapper of the C library: the wrapper has no frame, so that a walk along frame
 * pointers would skip its caller.
 */
static inline __attribute__((always_inline)) long read_directly(int fd, void *buffer, size_t size)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_read), "D"((long)fd), "S"(buffer), "d"(size)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long number __asm__("x8") = SYS_read;
	register long result __asm__("x0") = fd;
	register void *second __asm__("x1") = buffer;
	register size_t third __asm__("x2") = size;

	__asm__ volatile("svc #0" : "+r"(result) : "r"(number), "r"(second), "r"(third) : "memory");
	return result;
#else
	return read(fd, buffer, size);
#endif
}

VISIBLE int read_zeros(int fd, void *buffer, size_t size, uint64_t end_ns);

int read_zeros(int fd, void *buffer, size_t size, uint64_t end_ns)
{
	while (clock_read_ns(CLOCK_MONOTONIC) < end_ns) {
		if (read_directly(fd, buffer, size) != (long)size)
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
