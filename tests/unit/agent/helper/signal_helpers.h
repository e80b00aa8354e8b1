/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sends signals to helper processes of the nursery that the test program started. */

#include <dirent.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/scoped.h"
#include "tests/support/unit.h"

static inline void scoped_closedir(DIR **folder)
{
	if (*folder)
		(void)closedir(*folder);
}

/* Parent and name of a process. 0: it has ended. */
static inline pid_t parent_of(pid_t pid, char *ret_name, size_t size)
{
	char path[64], line[256];
	scoped_fd int fd = -1;
	ssize_t n;
	int parent = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, line, sizeof(line) - 1) : -1;
	if (n <= 0)
		return 0;
	line[n] = '\0';
	(void)snprintf(ret_name, size, "%.*s", (int)strcspn(strchr(line, '(') + 1, ")"),
		       strchr(line, '(') + 1);
	return sscanf(strrchr(line, ')') + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/*
 * Returns whether @parent is the expected parent of a process named @name. A helper that was just
 * forked still has the nursery's name.
 */
static inline bool is_expected_parent(pid_t parent, const char *name)
{
	char ignored[64];

	if (strcmp(name, "hearth-nursery") == 0)
		return parent == getpid();
	return parent_of(parent, ignored, sizeof(ignored)) == getpid();
}

/* Sends @signal to all helpers (or nurseries) named @helper. Returns their number. */
static inline int signal_helpers(const char *helper, int signal)
{
	scoped(scoped_closedir) DIR *folder = opendir("/proc");
	const struct dirent *entry;
	char name[64];
	int n = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		pid_t parent = pid > 0 ? parent_of(pid, name, sizeof(name)) : 0;

		if (parent <= 0 || strcmp(name, helper) != 0 || !is_expected_parent(parent, name))
			continue;
		/* A helper of an earlier test may be ending. */
		if (kill(pid, signal) == 0)
			n++;
		else
			assert_int_equal(errno, ESRCH);
	}
	return n;
}

/*
 * Lowers the hard limit of file sizes of the nursery, which a process without privileges cannot
 * raise again. So parsers that are forked from now on end while they set up their sandbox.
 */
static inline void make_new_parsers_fail(void)
{
	const struct rlimit limit = { .rlim_cur = 4096, .rlim_max = 4096 };
	scoped(scoped_closedir) DIR *folder = opendir("/proc");
	const struct dirent *entry;
	char name[64];

	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && parent_of(pid, name, sizeof(name)) == getpid() &&
		    strcmp(name, "hearth-nursery") == 0)
			assert_ok(prlimit(pid, RLIMIT_FSIZE, &limit, NULL));
	}
}

/* Forks a child that waits for a signal, with pid @wanted if it is > 0. 0: not permitted. */
static inline pid_t fork_waiting(pid_t wanted)
{
	struct clone_args arguments = {
		.exit_signal = SIGCHLD,
		.set_tid = wanted > 0 ? (uint64_t)(uintptr_t)&wanted : 0,
		.set_tid_size = wanted > 0,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));

	if (pid == 0)
		for (;;)
			(void)pause();
	assert_true(pid > 0 || errno == EPERM);
	return pid > 0 ? pid : 0;
}

/* Ends the child and forks another one with the same pid. False: not permitted. */
static inline bool replace_child(pid_t pid)
{
	assert_ok(kill(pid, SIGKILL));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return fork_waiting(pid) == pid;
}

static inline void end_child(pid_t pid)
{
	assert_ok(kill(pid, SIGKILL));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}
