/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/discards.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

/* How long and how much of each. */
#define DISCARD_NS          (5 * NSEC_PER_SEC)
#define MAX_DISCARDED_BYTES (4 * MIB)

bool discards_add(struct discards *discards, int fd, uint64_t now_ns)
{
	/* The copy keeps the socket open when the original is closed. */
	int copy = discards->count < DISCARDS_MAX ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;

	if (copy < 0)
		return false;
	discards->items[discards->count++] = (struct discard){
		.fd = copy,
		.deadline_ns = now_ns + DISCARD_NS,
		.left_bytes = MAX_DISCARDED_BYTES,
	};
	return true;
}

unsigned int discards_poll(const struct discards *discards, struct pollfd *ret_fds)
{
	for (unsigned int i = 0; i < discards->count; i++)
		ret_fds[i] = (struct pollfd){ .fd = discards->items[i].fd, .events = POLLIN };
	return discards->count;
}

/* Whether more may arrive. */
static bool discard(struct discard *discard)
{
	while (discard->left_bytes > 0) {
		/* With MSG_TRUNC, TCP drops the bytes without copying them. */
		ssize_t size =
			recv(discard->fd, NULL, discard->left_bytes, MSG_TRUNC | MSG_DONTWAIT);

		if (size <= 0)
			return size < 0 && (errno == EAGAIN || errno == EINTR);
		discard->left_bytes -= (uint64_t)size;
	}
	return false;
}

void discards_read(struct discards *discards, uint64_t now_ns)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < discards->count; i++) {
		struct discard *at = &discards->items[i];

		if (discard(at) && now_ns <= at->deadline_ns)
			discards->items[kept++] = *at;
		else
			(void)close(at->fd);
	}
	discards->count = kept;
}

void discards_release(struct discards *discards)
{
	for (unsigned int i = 0; i < discards->count; i++)
		(void)close(discards->items[i].fd);
	discards->count = 0;
}
