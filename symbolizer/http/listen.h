/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Addresses to listen on: "127.0.0.1:20416", "[::1]:20416", "localhost:20416", "0.0.0.0:80". No
 * host names except localhost are accepted, because a server must not depend on a name service to
 * start. With port 0 the kernel chooses a port.
 */

#include <netinet/in.h>
#include <sys/socket.h>

#include "common/base.h"

#define LISTEN_MESSAGE_SIZE 320

/* "[ffff:...:255.255.255.255]:65535" */
#define LISTEN_TEXT_SIZE 64

struct listen_address {
	struct sockaddr_storage socket_address;
	socklen_t size;
};

/* Parses the first @length bytes of @text. Returns 0, or -EINVAL with a message that shows the
 * accepted forms. */
int listen_address_parse(const char *text, size_t length, struct listen_address *ret_address,
			 char ret_message[LISTEN_MESSAGE_SIZE]);

/* Returns whether the address is in 127.0.0.0/8 or is ::1. */
bool listen_address_is_loopback(const struct listen_address *address);

void listen_address_format(const struct listen_address *address, char ret_text[LISTEN_TEXT_SIZE]);

/* Opens a listening socket. On failure the message names the address, the cause and the remedy. */
int listen_open(const struct listen_address *address, int *ret_fd,
		char ret_message[LISTEN_MESSAGE_SIZE]);

/* Returns the port that @fd listens on, or a negative errno. */
int listen_port(int fd);
