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

#define DISCARDS_MAX 64

struct discards {
	struct discard {
		int fd;
		uint64_t deadline_ns;
		uint64_t left_bytes;
	} items[DISCARDS_MAX];
	unsigned int count;
};

/* Keeps the socket of @fd, which stays the caller's. false: there are too many already. */
bool discards_add(struct discards *discards, int fd, uint64_t now_ns);

/* Fills @ret_fds, of DISCARDS_MAX entries, with what has to be read, and returns how many that are.
 */
unsigned int discards_poll(const struct discards *discards, struct pollfd *ret_fds);

/* Discards what has arrived, and closes the sockets that are done. */
void discards_read(struct discards *discards, uint64_t now_ns);

/* Closes all. */
void discards_release(struct discards *discards);
