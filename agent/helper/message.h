/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Messages between the agent and the processes that work for it: bytes and up to two descriptors, over a socketpair
 * that keeps message boundaries (SOCK_SEQPACKET). Both ends are of one program, so structures are sent as they are;
 * what comes from a helper is bounded and checked by its receiver all the same.
 */

#include "common/base.h"

/* A look at sixteen mappings with paths of 4 KiB. */
#define HELPER_MESSAGE_MAX_BYTES ((size_t)(72 * KIB))

#define HELPER_MESSAGE_MAX_FDS 2

struct helper_message {
	size_t size;
	size_t n_fds;
	int fds[HELPER_MESSAGE_MAX_FDS];
	uint8_t bytes[HELPER_MESSAGE_MAX_BYTES];
};

/* Two connected sockets, close-on-exec. */
int helper_socketpair(int ret_sockets[2]);

/* 0 or negative errno; -EPIPE: the other end is gone. Descriptors stay the caller's. @flags: of sendmsg(2). */
int helper_send(int socket, const struct helper_message *message, int flags);

/*
 * 1 received, descriptors in @ret_message are the caller's; 0: the other end is gone. -EAGAIN with MSG_DONTWAIT;
 * -EMSGSIZE: more than fits.
 */
int helper_receive(int socket, struct helper_message *ret_message, int flags);

/* Closes the descriptors that are left in @message. */
void helper_message_close(struct helper_message *message);
