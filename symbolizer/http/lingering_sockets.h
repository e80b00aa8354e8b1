/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sockets whose connections ended with an answer before their body was read. If such a socket were
 * closed with bytes unread, the kernel would reset the connection, and the client might never see
 * the answer. They are kept open for a short time, and what arrives is discarded. Not thread-safe;
 * private to this folder.
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

/* Keeps the socket of @fd, which stays the caller's. false: there are too many already. */
bool lingering_sockets_add(struct lingering_sockets *sockets, int fd, uint64_t now_ns);

/* Fills @ret_fds, of LINGERING_SOCKETS_MAX entries, with what has to be read, and returns how many that are.
 */
unsigned int lingering_sockets_poll(const struct lingering_sockets *sockets,
				    struct pollfd *ret_fds);

/* Discards what has arrived, and closes the sockets that are done. */
void lingering_sockets_read(struct lingering_sockets *sockets, uint64_t now_ns);

/* Closes all. */
void lingering_sockets_release(struct lingering_sockets *sockets);
