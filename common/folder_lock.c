/* SPDX-License-Identifier: Apache-2.0 */
#include "common/folder_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "common/scoped.h"

int folder_lock(const char *folder)
{
	scoped_fd int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return take_fd(fd);
}
