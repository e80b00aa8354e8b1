/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/lingering_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Limits for each socket. */
#define LINGER_NS           (5 * NSEC_PER_SEC)
#define MAX_DISCARDED_BYTES (4 * MIB)

bool lingering_sockets_add(struct lingering_sockets *sockets, int fd, uint64_t now_ns)
{
	/* The copy keeps the socket open when the original is closed. */
	int copy = sockets->count < LINGERING_SOCKETS_MAX ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;

	if (copy < 0)
		return false;
	sockets->items[sockets->count++] = (struct lingering_socket){
		.fd = copy,
		.deadline_ns = now_ns + LINGER_NS,
		.left_bytes = MAX_DISCARDED_BYTES,
	};
	return true;
}

unsigned int lingering_sockets_poll(const struct lingering_sockets *sockets, struct pollfd *ret_fds)
{
	for (unsigned int i = 0; i < sockets->count; i++)
		ret_fds[i] = (struct pollfd){ .fd = sockets->items[i].fd, .events = POLLIN };
	return sockets->count;
}

/* Discards the received bytes. Returns whether more may arrive. */
static bool discard(struct lingering_socket *item)
{
	while (item->left_bytes > 0) {
		/* With MSG_TRUNC, TCP drops the bytes without copying them. */
		ssize_t size = recv(item->fd, NULL, item->left_bytes, MSG_TRUNC | MSG_DONTWAIT);

		if (size <= 0)
			return size < 0 && (errno == EAGAIN || errno == EINTR);
		item->left_bytes -= (uint64_t)size;
	}
	return false;
}

void lingering_sockets_read(struct lingering_sockets *sockets, uint64_t now_ns)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < sockets->count; i++) {
		struct lingering_socket *at = &sockets->items[i];

		if (discard(at) && now_ns <= at->deadline_ns)
			sockets->items[kept++] = *at;
		else
			(void)close(at->fd);
	}
	sockets->count = kept;
}

void lingering_sockets_release(struct lingering_sockets *sockets)
{
	for (unsigned int i = 0; i < sockets->count; i++)
		(void)close(sockets->items[i].fd);
	sockets->count = 0;
}
