/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Messages between the agent and its helpers: bytes and up to two descriptors, over a socketpair
 * that keeps message boundaries (SOCK_SEQPACKET). Both ends are the same program, so structures are
 * sent in their memory layout. Nevertheless the agent checks the messages of helpers, because a
 * hostile file may have taken control of a helper.
 */

#include "common/base.h"

/* Fits a request of FINDER_MAX_ITEMS (16) mappings with paths of 4 KiB each. */
#define HELPER_MESSAGE_MAX_BYTES ((size_t)(72 * KIB))

#define HELPER_MESSAGE_MAX_FDS 2

struct helper_message {
	size_t size;
	size_t n_fds;
	int fds[HELPER_MESSAGE_MAX_FDS];
	uint8_t bytes[HELPER_MESSAGE_MAX_BYTES];
};

/* Creates two connected sockets, close-on-exec. */
int helper_socketpair(int ret_sockets[2]);

/*
 * 0 or negative errno; -EPIPE: the other end is closed. The caller keeps its descriptors. @flags:
 * as for sendmsg(2).
 */
int helper_send(int socket, const struct helper_message *message, int flags);

/*
 * 1: received a message, and the caller owns the descriptors in @ret_message; 0: the other end is
 * closed. -EAGAIN with MSG_DONTWAIT; -EMSGSIZE: more bytes or descriptors than fit.
 */
int helper_receive(int socket, struct helper_message *ret_message, int flags);

/* Closes the remaining descriptors of @message. */
void helper_message_close(struct helper_message *message);
