/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Requests over plain sockets on loopback, for what a well-behaved client does not do. */

#include <arpa/inet.h>
#include <sys/socket.h>

#include "tests/unit/symbolizer/http/site_fixture.h"

static inline int connect_from(const struct site *site, const char *client)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval patience = { .tv_sec = PATIENCE_S };

	assert_true(fd >= 0);
	assert_int_equal(inet_pton(AF_INET, client, &address.sin_addr), 1);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	address.sin_port = htons((uint16_t)site->port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	return fd;
}

static inline bool send_all(int fd, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t sent = send(fd, text, size, MSG_NOSIGNAL);

		if (sent < 0)
			return false;
		text += sent;
		size -= (size_t)sent;
	}
	return true;
}

/* Reads to the end of the connection, which must not be a reset. */
static inline void read_all(int fd, struct bytes *ret_answer)
{
	char piece[4096];
	ssize_t size;

	while ((size = recv(fd, piece, sizeof(piece), 0)) > 0)
		assert_ok(bytes_append(ret_answer, piece, (size_t)size));
	if (size < 0)
		fail_msg("the answer ends with: %s", strerror(errno));
	assert_ok(bytes_append_byte(ret_answer, '\0'));
}

/* Sends @text, and expects an answer with @status and the end of the connection. */
static inline void expect_last_answer(const struct site *site, const char *text, const char *status)
{
	scoped(bytes_release) struct bytes answer = BYTES_INIT(2 * HUGE_BYTES);
	scoped_fd int fd = connect_from(site, "127.0.0.1");

	assert_true(send_all(fd, text, strlen(text)));
	read_all(fd, &answer);
	if (strncmp(text_of(&answer), status, strlen(status)) != 0 ||
	    !strstr(text_of(&answer), "\r\nConnection: close\r\n"))
		fail_msg("'%s' was answered with '%s'", text, text_of(&answer));
}
