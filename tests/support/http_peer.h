/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A small HTTP server on loopback that a test plays the other side with. Requests arrive whole, one
 * at a time, on a thread of the peer; the test's handler answers them and keeps what it wants to
 * look at later.
 */

#include "common/bytes.h"

struct http_peer;

struct http_peer_request {
	const char *method;
	const char *path;
	const char *content_type; /* "" when missing, like the others */
	const char *authorization;
	const char *origin; /* X-Hearth-Origin */
	struct bytes_view body;
};

struct http_peer_answer {
	unsigned int status; /* 0: the connection is closed without an answer */
	struct bytes body;   /* released by the peer */
};

typedef void (*http_peer_handler)(void *argument, const struct http_peer_request *request,
				  struct http_peer_answer *answer);

/* @port 0: any. 0 or negative errno. */
int http_peer_start(uint16_t port, http_peer_handler handler, void *argument,
		    struct http_peer **ret_peer);
struct http_peer *http_peer_stop(struct http_peer *peer);

uint16_t http_peer_port(const struct http_peer *peer);

/*
 * A socket that keeps the peer's port after http_peer_stop(), or a negative errno: as long as it is
 * open connects are refused, no other program is given the port, and http_peer_start() can have it
 * again.
 */
int http_peer_keep_port(const struct http_peer *peer);
