/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lazy_memory: a process with a thread on a stack without pages: the stack is registered with
 * userfaultfd, and no page fault is ever resolved. The thread sleeps in the kernel. A process that
 * reads its stack waits until this process ends. Prints "ready"; exits with 77 if the kernel
 * refuses userfaultfd.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES 262144

static volatile int is_asleep;

static void *sleep_for_good(void *arg)
{
	const struct timespec long_time = { .tv_sec = 1000000 };

	is_asleep = 1;
	/* Not through libc: the thread must not return to a stack that has no pages. */
	(void)syscall(SYS_nanosleep, &long_time, NULL);
	return arg;
}

static int give_up_pages(uint8_t *stack)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register memory = {
		.range = { .start = (uintptr_t)stack, .len = STACK_BYTES },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0 || ioctl(fd, UFFDIO_REGISTER, &memory) < 0)
		return -1;
	return madvise(stack, STACK_BYTES, MADV_DONTNEED);
}

int main(void)
{
	uint8_t *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	const struct timespec pause_time = { .tv_nsec = 100000000 };
	pthread_attr_t attributes;
	pthread_t thread;

	if (stack == MAP_FAILED || pthread_attr_init(&attributes) != 0 ||
	    pthread_attr_setstack(&attributes, stack, STACK_BYTES) != 0 ||
	    pthread_create(&thread, &attributes, sleep_for_good, NULL) != 0)
		return 1;
	while (!is_asleep)
		(void)nanosleep(&pause_time, NULL);
	(void)nanosleep(&pause_time, NULL);
	if (give_up_pages(stack) < 0) {
		perror("userfaultfd");
		return errno == ENOSYS || errno == EPERM ? 77 : 1;
	}
	printf("ready\n");
	(void)fflush(stdout);
	for (;;)
		(void)pause();
}
