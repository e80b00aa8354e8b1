/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hung_memory FILE: a process with its command line and its main thread's stack in a mapping of the
 * last 64 KiB of FILE that was never touched. A process that reads them waits for the file system
 * of FILE. The main thread waits in the kernel forever. Another thread prints "ready", and then
 * maps and unmaps a page ten times a second, which takes the lock of the process's mappings. Once a
 * reader that waits for FILE holds that lock, this thread waits for the lock too, and every later
 * reader of the mappings waits behind this thread. The process changes its name to one that differs
 * from its program's.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAPPED_BYTES 65536
#define PAGE         4096UL

struct replaced {
	const char *file;
	uintptr_t start; /* start of the main thread's used stack, rounded down to a page */
	uintptr_t end;   /* end of the page where the command line begins */
};

/* The main thread is in the kernel by then, so the old content of its stack may be lost. */
static int replace(const struct replaced *replaced)
{
	int fd = open(replaced->file, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *mapped;

	if (fd < 0 || fstat(fd, &status) < 0 || replaced->end - replaced->start > MAPPED_BYTES ||
	    status.st_size < 2 * MAPPED_BYTES)
		return -1;
	mapped = mmap((void *)replaced->start, replaced->end - replaced->start,
		      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd,
		      (status.st_size - MAPPED_BYTES) & -(off_t)PAGE);
	return mapped == MAP_FAILED ? -1 : 0;
}

static void *run(void *arg)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	struct replaced replaced = *(const struct replaced *)arg;
	sigset_t none;

	sigemptyset(&none);
	(void)pthread_sigmask(SIG_SETMASK, &none, NULL);
	(void)nanosleep(&pause, NULL);
	if (replace(&replaced) < 0) {
		perror("hung_memory");
		_exit(1);
	}
	printf("ready\n");
	(void)fflush(stdout);
	for (;;) {
		void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (page != MAP_FAILED)
			(void)munmap(page, PAGE);
		(void)nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	static char file[4096];
	static struct replaced replaced = { .file = file };
	pthread_t thread;
	sigset_t all;

	if (argc != 2)
		return 2;
	(void)prctl(PR_SET_NAME, "renamed", 0, 0, 0);
	(void)snprintf(file, sizeof(file), "%s", argv[1]);
	/* The frames of pthread_join() need less than four pages below this one. */
	replaced.start = ((uintptr_t)__builtin_frame_address(0) & -PAGE) - 4 * PAGE;
	replaced.end = ((uintptr_t)argv[0] & -PAGE) + PAGE;
	/* A signal handler would touch the stack. */
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	if (pthread_create(&thread, NULL, run, &replaced) != 0)
		return 1;
	(void)pthread_join(thread, NULL);
	return 0;
}
