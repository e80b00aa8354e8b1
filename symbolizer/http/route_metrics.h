/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests by route and class of status, and the time they took. Any thread may add.
 */

#include "symbolizer/http/router.h"

struct route_metrics;

/* @routes must outlive the metrics. */
int route_metrics_new(const struct http_route *routes, size_t count,
		      struct route_metrics **ret_metrics);
struct route_metrics *route_metrics_free(struct route_metrics *metrics);

/* @route NULL: no route had the path. @status 0: the client went away before the answer. */
void route_metrics_add(struct route_metrics *metrics, const struct http_route *route,
		       unsigned int status, uint64_t duration_ns);

/* Prometheus text format 0.0.4; names begin with @prefix. */
void route_metrics_print(struct route_metrics *metrics, const char *prefix, struct bytes *out);

#include "common/scoped.h"
DEFINE_SCOPED(struct route_metrics *, route_metrics_free);
