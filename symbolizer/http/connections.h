/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The open connections of the server, and limits on them that apply before a client has presented a
 * token. The library calls no handler before the header of a request is complete, so a thread of
 * this module enforces the time limits.
 *
 * - A header must be complete header_timeout_ns after the connection was opened. A connection that
 *   is kept open for another request has HTTP_IDLE_TIMEOUT_S more.
 * - A body must arrive at a minimum rate. A client starts with body_grace_ns of credit, each
 *   received byte adds 1 / body_min_rate seconds, and the credit never exceeds body_grace_ns. A
 *   connection without credit is closed, unless received bytes wait in the socket: then the server
 *   is late, not the client. The same exception applies to headers.
 * - An answer must be read at a minimum rate, with the same credit. Bytes that the client's kernel
 *   acknowledged count as read. A connection without credit is reset, which frees the memory of the
 *   answer.
 * - A client address (IPv6: a /64 network) may have max_per_client connections.
 *
 * Closed and refused connections are counted in the metrics, and logged at most once a minute for
 * each reason.
 *
 * Private to this folder. All functions are thread-safe. A struct connection is used by the
 * library's thread that serves it.
 */

#include <microhttpd.h>

#include "common/cancel.h"
#include "symbolizer/http/route_metrics.h"
#include "symbolizer/http/server.h"
#include "symbolizer/http/token_usage.h"

/* A connection is closed after this time without a byte in either direction. Agents keep their
 * connection between batches, which are 5 s apart. */
#define HTTP_IDLE_TIMEOUT_S 30

struct connections;
struct connection;

/*
 * Starts the thread, which enforces the limits in @options and logs the refusals that @token_usage
 * counted. Returns 0 or a negative errno.
 */
int connections_new(const struct http_server_options *options, struct token_usage *token_usage,
		    struct connections **ret_connections);

/* Stops the thread. The library must have closed all connections before. Returns NULL. */
struct connections *connections_free(struct connections *connections);

/* Callbacks for the library; @arg is the struct connections. */
enum MHD_Result connections_on_accept(void *arg, const struct sockaddr *address, socklen_t size);
void connections_on_notify(void *arg, struct MHD_Connection *library_connection, void **context,
			   enum MHD_ConnectionNotificationCode code);

/* Returns NULL if memory was short when the connection was opened; such a connection is closed
 * at once. All functions below accept NULL. */
struct connection *connection_of(struct MHD_Connection *library_connection);

/* To be called when the header of a request with a body is complete. */
void connection_expects_body(struct connection *connection);

/* To be called for each received piece of the body. */
void connection_received(struct connection *connection, size_t bytes);

/* To be called when the whole request was received: no deadline until it is answered. */
void connection_expects_nothing(struct connection *connection);

/*
 * Requests @cancel when the client closes the connection, or its sending side, while the request
 * waits or is worked on. The library does not look at a suspended connection. The thread notices
 * the end within a tick of 250 ms. To be called with NULL before @cancel is freed.
 */
void connection_watch_close(struct connection *connection, struct cancel *cancel);

/* To be called when the answer is queued: the client must read it at the minimum rate. */
void connection_sends_answer(struct connection *connection);

/* To be called when the answer is sent: the next header is expected. */
void connection_expects_header(struct connection *connection);

/* To be called when the connection ends with an answer before the body was read: the socket
 * stays open for a short time, so that the client can read the answer (lingering_sockets.h). */
void connection_linger(struct connection *connection);

/*
 * Returns the time at which the credit is used up, after @bytes more were transferred at @now_ns.
 * Each byte adds 1 / @min_rate seconds to @deadline_ns. The credit never exceeds @grace_ns.
 */
uint64_t connection_deadline(uint64_t deadline_ns, uint64_t now_ns, uint64_t bytes,
			     uint64_t min_rate, uint64_t grace_ns);

#include "common/scoped.h"
DEFINE_SCOPED(struct connections *, connections_free);
