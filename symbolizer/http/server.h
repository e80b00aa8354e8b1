/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The HTTP server. It authorizes requests, bounds what is read, and calls the handler of the route
 * on a worker thread, so that a slow handler does not delay other connections.
 *
 * Threads: two per listen address transfer bytes (epoll), n_workers per lane (or the number in
 * HTTP_LANES) run handlers, one closes the connections of slow clients. The connection is suspended
 * while a handler runs.
 */

#include "common/clock.h"
#include "common/memory_budget.h"
#include "symbolizer/http/auth.h"
#include "symbolizer/http/route_metrics.h"
#include "symbolizer/http/router.h"

struct http_server;

/* Limits for clients, enforced by connections.h and token_usage.h. 0: no limit. */
struct http_client_limits {
	uint64_t header_timeout_ns;
	uint64_t body_grace_ns;
	uint64_t body_min_rate;   /* bytes per second */
	uint64_t answer_min_rate; /* bytes per second; body_grace_ns applies too */
	unsigned int max_per_client;
	unsigned int max_requests_per_token;
};

struct http_server_options {
	const struct http_route *routes; /* outlives the server */
	size_t n_routes;
	void *context; /* passed to the handlers */
	struct auth *auth;
	struct route_metrics *metrics; /* may be NULL */
	const struct clock *clock;
	const char *listen;       /* addresses as in listen.h, one per line */
	unsigned int n_workers;   /* per lane; a number in HTTP_LANES has precedence */
	unsigned int max_waiting; /* requests per lane; 0: as in HTTP_LANES */
	unsigned int max_connections;
	uint64_t max_held_answer_bytes; /* 0: HTTP_MAX_HELD_ANSWER_BYTES */
	/* Answers of queries and lists are taken from it while they are written; NULL: no limit. */
	struct memory_budget *answer_memory;
	struct http_client_limits limits;
	bool insecure; /* allows non-loopback addresses without tokens */
};

#define HTTP_SERVER_MESSAGE_SIZE 640

/*
 * Listens and serves. On failure @ret_message names the address or option, the cause and the
 * remedy. -EPERM: an address other than loopback without tokens.
 */
int http_server_start(const struct http_server_options *options, struct http_server **ret_server,
		      char ret_message[HTTP_SERVER_MESSAGE_SIZE]);

/* Returns the port of the first address. */
unsigned int http_server_port(const struct http_server *server);

/* Returns the number of open connections. */
unsigned int http_server_connections(const struct http_server *server);

/*
 * Stops listening, lets started requests finish (waits at most 10 s for slow clients), closes all
 * connections and frees the server. Returns NULL.
 */
struct http_server *http_server_free(struct http_server *server);

#include "common/scoped.h"
DEFINE_SCOPED(struct http_server *, http_server_free);
