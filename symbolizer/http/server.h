/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The HTTP server: routes in, sockets out. It checks who asks, bounds what is read, and calls the
 * route's handler on a worker thread; slow handlers do not keep other connections waiting.
 *
 * Threads: two per listen address move bytes (epoll), n_workers per lane (but two for health and
 * readiness) run handlers, one closes connections of slow clients. While a handler works its
 * connection is suspended.
 */

#include "common/clock.h"
#include "symbolizer/http/auth.h"
#include "symbolizer/http/route_metrics.h"
#include "symbolizer/http/router.h"

struct http_server;

/* What a client may do with connections, enforced by connections.h and token_usage.h. 0: no bound.
 */
struct http_client_limits {
	uint64_t header_timeout_ns;
	uint64_t body_grace_ns;
	uint64_t body_min_rate;   /* bytes per second */
	uint64_t answer_min_rate; /* bytes per second, after body_grace_ns as well */
	unsigned int max_per_client;
	unsigned int max_requests_per_token;
};

struct http_server_options {
	const struct http_route *routes; /* outlives the server */
	size_t n_routes;
	void *context; /* for the handlers */
	struct auth *auth;
	struct route_metrics *metrics; /* NULL: not kept */
	const struct clock *clock;
	const char *listen;       /* addresses as in listen.h, one per line */
	unsigned int n_workers;   /* per lane, unless its row has a number */
	unsigned int max_waiting; /* requests per lane; 0: what the lane's row says */
	unsigned int max_connections;
	uint64_t max_held_answer_bytes; /* 0: HTTP_MAX_HELD_ANSWER_BYTES */
	struct http_client_limits limits;
	bool insecure; /* other addresses than loopback without tokens are meant */
};

#define HTTP_SERVER_MESSAGE_SIZE 640

/*
 * Listens and serves. On failure the message names the address or option, the cause and the remedy;
 * -EPERM when an address other than loopback is asked for without tokens.
 */
int http_server_start(const struct http_server_options *options, struct http_server **ret_server,
		      char ret_message[HTTP_SERVER_MESSAGE_SIZE]);

/* The port of the first address. */
unsigned int http_server_port(const struct http_server *server);

/* Open connections now. */
unsigned int http_server_connections(const struct http_server *server);

/*
 * Stops listening, lets requests that have begun finish (at most some seconds for clients that are
 * slow), closes everything and frees the server. Returns NULL.
 */
struct http_server *http_server_free(struct http_server *server);

#include "common/scoped.h"
DEFINE_SCOPED(struct http_server *, http_server_free);
