/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Addresses to listen on: "127.0.0.1:20416", "[::1]:20416", "localhost:20416", "0.0.0.0:80".
 * Numbers only, besides localhost: a server must not depend on a name service to start. Port 0 lets
 * the system choose.
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

/* -EINVAL with a message that says what would be accepted. */
int listen_address_parse(const char *text, size_t length, struct listen_address *ret_address,
			 char ret_message[LISTEN_MESSAGE_SIZE]);

/* 127.0.0.0/8 and ::1. */
bool listen_address_is_loopback(const struct listen_address *address);

void listen_address_format(const struct listen_address *address, char ret_text[LISTEN_TEXT_SIZE]);

/* A listening socket; the message names the address, the cause and the remedy. */
int listen_open(const struct listen_address *address, int *ret_fd,
		char ret_message[LISTEN_MESSAGE_SIZE]);

/* The port that @fd listens on, or a negative errno. */
int listen_port(int fd);
