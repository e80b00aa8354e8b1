/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A small HTTP server on loopback for tests of HTTP clients. The peer's thread receives whole
 * requests, one at a time, and calls the test's handler, which answers them.
 */

#include "common/bytes.h"

struct http_peer;

struct http_peer_request {
	const char *method;
	const char *path;
	const char *content_type; /* "" if missing, like the other headers */
	const char *authorization;
	const char *origin; /* X-Hearth-Origin */
	const char *clock;  /* X-Hearth-Clock */
	struct bytes_view body;
};

struct http_peer_answer {
	unsigned int status; /* 0: the connection is closed without an answer */
	struct bytes body;   /* released by the peer */
};

typedef void (*http_peer_handler)(void *argument, const struct http_peer_request *request,
				  struct http_peer_answer *answer);

/* @port 0: any free port. Returns 0 or a negative errno. */
int http_peer_start(uint16_t port, http_peer_handler handler, void *argument,
		    struct http_peer **ret_peer);
struct http_peer *http_peer_stop(struct http_peer *peer);

uint16_t http_peer_port(const struct http_peer *peer);

/*
 * Returns a socket that reserves the peer's port after http_peer_stop(), or a negative errno. While
 * it is open, connections are refused, no other program gets the port, and http_peer_start() can
 * use it again.
 */
int http_peer_keep_port(const struct http_peer *peer);
