/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The HTTP API: one handler per route, each a few lines between a request and the part that does
 * the work. Handlers run on any worker thread, many at a time, and share nothing but what struct
 * api_context points to.
 */

#include <stdatomic.h>

#include "common/clock.h"
#include "symbolizer/debuginfo/debuginfo_store.h"
#include "symbolizer/debuginfo/debuginfo_upstream.h"
#include "symbolizer/http/route_metrics.h"
#include "symbolizer/http/router.h"
#include "symbolizer/ingest/ingest.h"
#include "symbolizer/store/store.h"
#include "symbolizer/symbols/resolver.h"

enum api_metric {
#define METRIC(id, ...) API_METRIC_##id,
#include "symbolizer/api/metrics.def"
#undef METRIC
	API_METRIC_COUNT,
};

/* Everything is borrowed and outlives the server. */
struct api_context {
	struct store *store;
	struct debuginfo_store *debuginfo;
	struct resolver *resolver;
	struct ingest *ingest;
	const struct clock *clock;
	bool agents_may_upload;                 /* debuginfo from agents is taken */
	uint64_t max_upload_bytes;              /* of one debuginfo file */
	struct debuginfo_upstream *upstream;    /* NULL: no other server is asked */
	uint64_t upstream_wait_ns;              /* for it, by a request for a file */
	unsigned int max_upstream_waits;        /* workers that may do so at a time */
	unsigned int (*connections)(void *arg); /* open ones, for /metrics; NULL: not known */
	void *connections_arg;
	struct route_metrics *route_metrics; /* printed by /metrics; NULL: none */
	atomic_uint n_expansions;            /* debuginfo being expanded for /buildid/ */
	atomic_uint n_downloads; /* expanded debuginfo that is held until its answer is sent */
	atomic_uint n_upstream_waits;
	_Atomic uint64_t metrics[API_METRIC_COUNT];
};

/* The table of routes.def. */
const struct http_route *api_routes(size_t *ret_count);

static inline void api_count(struct api_context *context, enum api_metric metric, uint64_t amount)
{
	atomic_fetch_add_explicit(&context->metrics[metric], amount, memory_order_relaxed);
}

#define ROUTE(id, method, pattern, lane, scopes, limit, style, help)                               \
	void api_##id(struct api_context *context, const struct http_request *request,             \
		      struct http_response *response);
#define STREAM_ROUTE(id, method, pattern, lane, scopes, limit, help)                               \
	extern const struct http_stream_operations api_##id;
#include "symbolizer/api/routes.def"
#undef ROUTE
#undef STREAM_ROUTE
