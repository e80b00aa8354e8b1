/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sockets are opened here, not by the HTTP library, so that an error message can name the cause.
 */

#include "symbolizer/http/listen.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "common/scoped.h"

/* All agents of a fleet may reconnect at the same moment after a restart. */
#define LISTEN_BACKLOG 1024

static int refuse(const char *text, size_t length, char ret_message[LISTEN_MESSAGE_SIZE])
{
	(void)snprintf(ret_message, LISTEN_MESSAGE_SIZE,
		       "'%.*s' is not an address to listen on; write it as 127.0.0.1:20416, "
		       "[::1]:20416 or 0.0.0.0:20416",
		       (int)MIN(length, (size_t)LISTEN_TEXT_SIZE), text);
	return -EINVAL;
}

/* Returns 0..65535, or -EINVAL. */
static int parse_port(const char *text, size_t length)
{
	int port = 0;

	if (length == 0 || length > 5)
		return -EINVAL;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		port = 10 * port + (text[i] - '0');
	}
	return port <= UINT16_MAX ? port : -EINVAL;
}

static int set_host(const char *host, uint16_t port, struct listen_address *address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&address->socket_address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address->socket_address;
	size_t length = strlen(host);

	*address = (struct listen_address){};
	if (host[0] == '[' && host[length - 1] == ']') {
		char inner[LISTEN_TEXT_SIZE];

		(void)snprintf(inner, sizeof(inner), "%.*s", (int)(length - 2), host + 1);
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		address->size = sizeof(*v6);
		return inet_pton(AF_INET6, inner, &v6->sin6_addr) == 1 ? 0 : -EINVAL;
	}
	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	address->size = sizeof(*v4);
	if (strcmp(host, "localhost") == 0) {
		v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return 0;
	}
	return inet_pton(AF_INET, host, &v4->sin_addr) == 1 ? 0 : -EINVAL;
}

int listen_address_parse(const char *text, size_t length, struct listen_address *ret_address,
			 char ret_message[LISTEN_MESSAGE_SIZE])
{
	const char *colon = memrchr(text, ':', length);
	struct listen_address address;
	char host[LISTEN_TEXT_SIZE];
	size_t host_size;
	int port;

	if (!colon || colon == text)
		return refuse(text, length, ret_message);
	host_size = (size_t)(colon - text);
	port = parse_port(colon + 1, length - host_size - 1);
	if (port < 0 || host_size >= sizeof(host))
		return refuse(text, length, ret_message);

	(void)snprintf(host, sizeof(host), "%.*s", (int)host_size, text);
	if (set_host(host, (uint16_t)port, &address) < 0)
		return refuse(text, length, ret_message);
	*ret_address = address;
	return 0;
}

bool listen_address_is_loopback(const struct listen_address *address)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->socket_address;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->socket_address;

	if (address->socket_address.ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

void listen_address_format(const struct listen_address *address, char ret_text[LISTEN_TEXT_SIZE])
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->socket_address;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->socket_address;
	char host[INET6_ADDRSTRLEN] = "?";

	if (address->socket_address.ss_family == AF_INET6) {
		(void)inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
		(void)snprintf(ret_text, LISTEN_TEXT_SIZE, "[%s]:%u", host, ntohs(v6->sin6_port));
	} else {
		(void)inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		(void)snprintf(ret_text, LISTEN_TEXT_SIZE, "%s:%u", host, ntohs(v4->sin_port));
	}
}

static int listen_failed(const struct listen_address *address, int error,
			 char ret_message[LISTEN_MESSAGE_SIZE])
{
	const char *remedy = "check the address";
	char text[LISTEN_TEXT_SIZE];

	listen_address_format(address, text);
	if (error == EADDRINUSE)
		remedy = "another program listens there; stop it, or choose another port with "
			 "--port or --listen";
	else if (error == EACCES)
		remedy = "ports below 1024 need CAP_NET_BIND_SERVICE; choose another with --port "
			 "or --listen";
	else if (error == EADDRNOTAVAIL)
		remedy = "this machine has no such address; choose another with --listen";
	(void)snprintf(ret_message, LISTEN_MESSAGE_SIZE, "cannot listen on '%s': %s; %s", text,
		       strerror(error), remedy);
	return -error;
}

int listen_open(const struct listen_address *address, int *ret_fd,
		char ret_message[LISTEN_MESSAGE_SIZE])
{
	scoped_fd int fd = -1;
	int on = 1;

	fd = socket(address->socket_address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    0);
	if (fd < 0)
		return listen_failed(address, errno, ret_message);
	/* Otherwise a restart would fail while connections of the last run are in TIME_WAIT. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&address->socket_address, address->size) < 0 ||
	    listen(fd, LISTEN_BACKLOG) < 0)
		return listen_failed(address, errno, ret_message);
	*ret_fd = take_fd(fd);
	return 0;
}

int listen_port(int fd)
{
	struct sockaddr_storage bound;
	socklen_t size = sizeof(bound);

	if (getsockname(fd, (struct sockaddr *)&bound, &size) < 0)
		return -errno;
	/* sin_port and sin6_port have the same offset. */
	return ntohs(((const struct sockaddr_in *)&bound)->sin_port);
}
