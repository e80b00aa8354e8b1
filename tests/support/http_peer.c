/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One polling thread handles requests one after another.
 */

#include "tests/support/http_peer.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/scoped.h"

#define MAX_BODY_BYTES (256 * MIB)

struct http_peer {
	struct MHD_Daemon *daemon;
	http_peer_handler handler;
	void *argument;
	uint16_t port;
};

static const char *header(struct MHD_Connection *connection, const char *name)
{
	const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);

	return value ? value : "";
}

static enum MHD_Result answer_request(struct http_peer *peer, struct MHD_Connection *connection,
				      const char *url, const char *method, const struct bytes *body)
{
	struct http_peer_answer answer = { .body = BYTES_INIT(MAX_BODY_BYTES) };
	const struct http_peer_request request = {
		.method = method,
		.path = url,
		.content_type = header(connection, "Content-Type"),
		.authorization = header(connection, "Authorization"),
		.origin = header(connection, "X-Hearth-Origin"),
		.clock = header(connection, "X-Hearth-Clock"),
		.body = bytes_view_of(body),
	};
	struct MHD_Response *response;
	enum MHD_Result result;

	peer->handler(peer->argument, &request, &answer);
	if (answer.status == 0) {
		bytes_release(&answer.body);
		return MHD_NO;
	}
	response = MHD_create_response_from_buffer(answer.body.size, answer.body.data,
						   MHD_RESPMEM_MUST_COPY);
	bytes_release(&answer.body);
	if (!response)
		return MHD_NO;
	result = MHD_queue_response(connection, answer.status, response);
	MHD_destroy_response(response);
	return result;
}

/* Called once with the headers, then for each piece of the body, and once more at its end. */
static enum MHD_Result on_request(void *argument, struct MHD_Connection *connection,
				  const char *url, const char *method, const char *version,
				  const char *data, size_t *size, void **connection_state)
{
	struct bytes *body = *connection_state;

	(void)version;
	if (!body) {
		body = calloc(1, sizeof(*body));
		if (!body)
			return MHD_NO;
		*body = BYTES_INIT(MAX_BODY_BYTES);
		*connection_state = body;
		return MHD_YES;
	}
	if (*size > 0) {
		int r = bytes_append(body, data, *size);

		*size = 0;
		return r < 0 ? MHD_NO : MHD_YES;
	}
	return answer_request(argument, connection, url, method, body);
}

static void on_completed(void *argument, struct MHD_Connection *connection, void **connection_state,
			 enum MHD_RequestTerminationCode reason)
{
	struct bytes *body = *connection_state;

	(void)argument;
	(void)connection;
	(void)reason;
	if (body) {
		bytes_release(body);
		free(body);
		*connection_state = NULL;
	}
}

static struct sockaddr_in address_of(uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

int http_peer_start(uint16_t port, http_peer_handler handler, void *argument,
		    struct http_peer **ret_peer)
{
	const struct sockaddr_in address = address_of(port);
	struct http_peer *peer = calloc(1, sizeof(*peer));
	const union MHD_DaemonInfo *info;

	if (!peer)
		return -ENOMEM;
	peer->handler = handler;
	peer->argument = argument;
	peer->daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD, port, NULL, NULL, on_request, peer,
		MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
	if (!peer->daemon) {
		free(peer);
		return -EADDRINUSE;
	}
	info = MHD_get_daemon_info(peer->daemon, MHD_DAEMON_INFO_BIND_PORT);
	peer->port = info->port;
	*ret_peer = peer;
	return 0;
}

struct http_peer *http_peer_stop(struct http_peer *peer)
{
	if (!peer)
		return NULL;
	MHD_stop_daemon(peer->daemon);
	free(peer);
	return NULL;
}

uint16_t http_peer_port(const struct http_peer *peer)
{
	return peer->port;
}

/* The socket of the daemon has both options too (MHD_OPTION_LISTENING_ADDRESS_REUSE). */
int http_peer_keep_port(const struct http_peer *peer)
{
	const struct sockaddr_in address = address_of(peer->port);
	scoped_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return take_fd(fd);
}
