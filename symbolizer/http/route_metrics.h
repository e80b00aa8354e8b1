/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests by route and class of status, and the time they took. Any thread may add.
 */

#include "symbolizer/http/router.h"

struct route_metrics;

/* Why the server closed a connection: X(id, label, reason in the log). */
/* clang-format off */
#define HTTP_CLOSED(X)                                                                             \
	X(HEADER, "header_timeout", "their header was not complete within header_timeout")         \
	X(BODY, "slow_body", "their body arrived more slowly than body_min_rate")                  \
	X(READING, "slow_reader", "they read their answer more slowly than answer_min_rate")       \
	X(CLIENT_LIMIT, "client_limit", "their client had max_connections_per_client open")
/* clang-format on */

enum http_closed {
#define X(id, ...) HTTP_CLOSED_##id,
	HTTP_CLOSED(X)
#undef X
		HTTP_CLOSED_COUNT,
};

/* @routes must outlive the metrics. */
int route_metrics_new(const struct http_route *routes, size_t count,
		      struct route_metrics **ret_metrics);
struct route_metrics *route_metrics_free(struct route_metrics *metrics);

/* @route NULL: no route had the path. @status 0: the client went away before the answer. */
void route_metrics_add(struct route_metrics *metrics, const struct http_route *route,
		       unsigned int status, uint64_t duration_ns);

/* The server closed or refused a connection. */
void route_metrics_add_closed(struct route_metrics *metrics, enum http_closed reason);

/* The server refused a request because its token had too many. */
void route_metrics_add_token_limit(struct route_metrics *metrics);

/* Prometheus text format 0.0.4; names begin with @prefix. */
void route_metrics_print(struct route_metrics *metrics, const char *prefix, struct bytes *out);

#include "common/scoped.h"
DEFINE_SCOPED(struct route_metrics *, route_metrics_free);
