/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The protocol of sd_notify(3) is one datagram to a UNIX socket; without libsystemd, the program
 * has one dependency less.
 */

#include "symbolizer/service_manager.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/base.h"
#include "common/scoped.h"

int service_manager_notify(const char *socket_path, const char *state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = socket_path ? strlen(socket_path) : 0;
	scoped_fd int fd = -1;

	if (length == 0)
		return 0;
	if (length >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, socket_path, length);
	/* '@' stands for the leading NUL of an abstract socket. */
	if (address.sun_path[0] == '@')
		address.sun_path[0] = '\0';

	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0)
		return -errno;
	return 0;
}
