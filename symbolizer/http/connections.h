/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The open connections of the server, and what a client may do with one before it has shown a
 * token: the library calls no handler before the header of a request is complete, so a thread of
 * this module watches the times.
 *
 *  - A header must be complete header_timeout_ns after the connection was opened. A connection that
 * stays open for another request has HTTP_IDLE_TIMEOUT_S more.
 *  - A body must arrive at a minimum rate. A client starts with body_grace_ns of credit, each
 * received byte adds 1 / body_min_rate seconds, and the credit never exceeds body_grace_ns. Without
 * credit the connection is closed, unless received bytes wait in the socket: then the server is the
 * slow one, as it is for a header.
 *  - An answer must be read at a minimum rate, with the same credit: what the client's system
 * acknowledges counts as read. Without credit the connection is reset, and the memory of the answer
 * is freed.
 *  - A client address (IPv6: its /64 network) may have max_per_client connections.
 *
 * Closed and refused connections are counted in the metrics. At most one line a minute is logged
 * for each reason.
 *
 * Private to this folder. Any thread may call; a struct connection is used by the library's thread
 * that serves it.
 */

#include <microhttpd.h>

#include "symbolizer/http/route_metrics.h"
#include "symbolizer/http/server.h"
#include "symbolizer/http/token_usage.h"

/* A connection without a byte in either direction is closed. Agents keep theirs between batches, which are
 * 5 s apart. */
#define HTTP_IDLE_TIMEOUT_S 30

struct connections;
struct connection;

/*
 * Starts the thread, which enforces the limits in @options and logs the refusals of @token_usage.
 */
int connections_new(const struct http_server_options *options, struct token_usage *token_usage,
		    struct connections **ret_connections);

/* Stops the thread. The library must have closed all connections. Returns NULL. */
struct connections *connections_free(struct connections *connections);

/* The library's callbacks; @arg is the struct connections. */
enum MHD_Result connections_on_accept(void *arg, const struct sockaddr *address, socklen_t size);
void connections_on_notify(void *arg, struct MHD_Connection *library_connection, void **context,
			   enum MHD_ConnectionNotificationCode code);

/* NULL if there was no memory for it: such a connection is closed as soon as it was opened. */
struct connection *connection_of(struct MHD_Connection *library_connection);

/* The header is complete, and a body follows. */
void connection_expects_body(struct connection *connection);

/* A piece of the body arrived. */
void connection_received(struct connection *connection, size_t bytes);

/* The whole request is there; nothing is expected of the client until it is answered. */
void connection_expects_nothing(struct connection *connection);

/* The answer is on its way; the client has to read it. */
void connection_sends_answer(struct connection *connection);

/* The answer is sent. */
void connection_expects_header(struct connection *connection);

/* An answer is sent before the body was read: the socket is kept for what the client still sends
 * (lingering_sockets.h). */
void connection_linger(struct connection *connection);

/*
 * The time at which a credit is used up, after @bytes more were moved at @now_ns: each adds 1 /
 * @min_rate seconds, and the credit never exceeds @grace_ns.
 */
uint64_t connection_deadline(uint64_t deadline_ns, uint64_t now_ns, uint64_t bytes,
			     uint64_t min_rate, uint64_t grace_ns);

#include "common/scoped.h"
DEFINE_SCOPED(struct connections *, connections_free);
