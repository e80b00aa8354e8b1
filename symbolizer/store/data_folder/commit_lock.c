/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/data_folder/commit_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

#include "common/scoped.h"

int commit_lock_open(const char *folder)
{
	scoped_free char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/commit-lock", folder) < 0)
		return -ENOMEM;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	return fd < 0 ? -errno : fd;
}

int commit_lock_take(int fd)
{
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

void commit_lock_give(int fd)
{
	(void)flock(fd, LOCK_UN);
}
