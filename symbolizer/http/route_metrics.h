/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Metrics of the HTTP server: requests by route and status class, their duration, closed
 * connections and token limits. All functions are thread-safe.
 */

#include "symbolizer/http/router.h"

struct route_metrics;

/* Reasons for which the server closes a connection: X(id, label, reason in the log). */
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

/* @routes must outlive the metrics. Returns 0 or -ENOMEM. */
int route_metrics_new(const struct http_route *routes, size_t count,
		      struct route_metrics **ret_metrics);
struct route_metrics *route_metrics_free(struct route_metrics *metrics);

/* Counts a finished request. @route NULL: unknown path. @status 0: the client disconnected
 * before the answer. */
void route_metrics_add(struct route_metrics *metrics, const struct http_route *route,
		       unsigned int status, uint64_t duration_ns);

/* Counts a connection that the server closed or refused. */
void route_metrics_add_closed(struct route_metrics *metrics, enum http_closed reason);

/* Counts a request that was refused because its token had reached a limit. */
void route_metrics_add_token_limit(struct route_metrics *metrics);

/* Appends the metrics in Prometheus text format 0.0.4. Names begin with @prefix. */
void route_metrics_print(struct route_metrics *metrics, const char *prefix, struct bytes *out);

#include "common/scoped.h"
DEFINE_SCOPED(struct route_metrics *, route_metrics_free);
