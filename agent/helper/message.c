/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper/message.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr header; /* for its alignment */
	char bytes[CMSG_SPACE(HELPER_MESSAGE_MAX_FDS * sizeof(int))];
};

int helper_socketpair(int ret_sockets[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_sockets) < 0 ? -errno : 0;
}

int helper_send(int socket, const struct helper_message *message, int flags)
{
	struct iovec part = { .iov_base = (void *)message->bytes, .iov_len = message->size };
	union control control = {};
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	if (message->n_fds > 0) {
		size_t size = message->n_fds * sizeof(int);

		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(size);
		control.header = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(size),
		};
		memcpy(CMSG_DATA(&control.header), message->fds, size);
	}
	do
		n = sendmsg(socket, &header, flags | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static void take_descriptors(struct msghdr *header, struct helper_message *message)
{
	message->n_fds = 0;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
		size_t size = part->cmsg_len - CMSG_LEN(0);

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS ||
		    size > sizeof(message->fds))
			continue;
		memcpy(message->fds, CMSG_DATA(part), size);
		message->n_fds = size / sizeof(int);
	}
}

int helper_receive(int socket, struct helper_message *ret_message, int flags)
{
	struct iovec part = { .iov_base = ret_message->bytes,
			      .iov_len = sizeof(ret_message->bytes) };
	union control control = {};
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n;

	do
		n = recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? 0 : -errno;
	take_descriptors(&header, ret_message);
	ret_message->size = (size_t)n;
	if (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		helper_message_close(ret_message);
		return -EMSGSIZE;
	}
	/* Nobody sends empty messages: 0 bytes mean that the other end is closed. */
	return n > 0;
}

void helper_message_close(struct helper_message *message)
{
	for (size_t i = 0; i < message->n_fds; i++)
		if (message->fds[i] >= 0)
			(void)close(message->fds[i]);
	message->n_fds = 0;
}
