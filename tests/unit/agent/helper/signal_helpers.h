/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Signals for helper processes of the nursery that the test program started. */

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/scoped.h"
#include "tests/support/unit.h"

static inline void scoped_closedir(DIR **folder)
{
	if (*folder)
		(void)closedir(*folder);
}

/* Parent and name of a process. 0: it is gone. */
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
	(void)snprintf(ret_name, size, "%.*s", (int)strcspn(strchr(line, '(') + 1, ")"), strchr(line, '(') + 1);
	return sscanf(strrchr(line, ')') + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/* Sends @signal to those named @helper, or to the nursery. Returns how many there are. */
static inline int signal_helpers(const char *helper, int signal)
{
	scoped(scoped_closedir) DIR *folder = opendir("/proc");
	const struct dirent *entry;
	char name[64], ignored[64];
	int n = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		pid_t parent = pid > 0 ? parent_of(pid, name, sizeof(name)) : 0;

		if (parent <= 0 || strcmp(name, helper) != 0 ||
		    (parent != getpid() && parent_of(parent, ignored, sizeof(ignored)) != getpid()))
			continue;
		/* A helper of an earlier test may be ending. */
		if (kill(pid, signal) == 0)
			n++;
		else
			assert_int_equal(errno, ESRCH);
	}
	return n;
}
