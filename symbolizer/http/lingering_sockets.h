/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sockets of connections that ended with an answer before their body was read. If such a socket
 * were closed with unread bytes, the kernel would reset the connection, and the client might never
 * read the answer. This module keeps a duplicate of each socket open for a few seconds and discards
 * the bytes that arrive. Not thread-safe; private to this folder.
 */

#include <poll.h>

#include "common/base.h"

#define LINGERING_SOCKETS_MAX 64

struct lingering_sockets {
	struct lingering_socket {
		int fd;
		uint64_t deadline_ns;
		uint64_t left_bytes;
	} items[LINGERING_SOCKETS_MAX];
	unsigned int count;
};

/* Keeps the socket of @fd open. @fd stays owned by the caller. Returns false if there are
 * LINGERING_SOCKETS_MAX already, or if no descriptor is left. */
bool lingering_sockets_add(struct lingering_sockets *sockets, int fd, uint64_t now_ns);

/* Fills @ret_fds, which has LINGERING_SOCKETS_MAX entries, and returns the number of sockets. */
unsigned int lingering_sockets_poll(const struct lingering_sockets *sockets,
				    struct pollfd *ret_fds);

/* Discards received bytes, and closes sockets that ended or reached a limit. */
void lingering_sockets_read(struct lingering_sockets *sockets, uint64_t now_ns);

/* Closes all sockets. */
void lingering_sockets_release(struct lingering_sockets *sockets);
