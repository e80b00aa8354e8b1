/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The HTTP API. There is one handler per route, which parses the request, calls the module that
 * does the work, and writes the answer. Handlers run on any worker thread, many at a time, and
 * share only the objects in struct api_context.
 */

#include <stdatomic.h>

#include "common/clock.h"
#include "symbolizer/debuginfo/debuginfo_store.h"
#include "symbolizer/debuginfo/upstream/debuginfo_upstream.h"
#include "symbolizer/http/route_metrics.h"
#include "symbolizer/http/router.h"
#include "symbolizer/ingest/ingest.h"
#include "symbolizer/store/store.h"
#include "symbolizer/symbols/resolver.h"

struct background_reading;

enum api_metric {
#define METRIC(id, ...) API_METRIC_##id,
#include "symbolizer/api/metrics.def"
#undef METRIC
	API_METRIC_COUNT,
};

/* All pointers are borrowed and outlive the server. */
struct api_context {
	struct store *store;
	struct debuginfo_store *debuginfo;
	struct resolver *resolver;
	struct ingest *ingest;
	struct memory_budget *memory; /* of all queries and their answers; NULL: no limit */
	const struct clock *clock;
	bool agents_may_upload;              /* uploads of debuginfo by agents are accepted */
	uint64_t max_upload_bytes;           /* of one debuginfo file */
	struct debuginfo_upstream *upstream; /* NULL: no upstream server is configured */
	/* longest wait of a request for an upstream server */
	uint64_t upstream_wait_ns;
	unsigned int max_upstream_waits;        /* workers that may wait at a time */
	unsigned int (*connections)(void *arg); /* number of open connections; NULL: unknown */
	void *connections_arg;
	struct route_metrics *route_metrics;  /* printed by /metrics; may be NULL */
	struct background_reading *readiness; /* made by api_start_readings() */
	struct background_reading *figures;
	atomic_uint n_expansions;     /* files being expanded for /buildid/ */
	atomic_uint n_downloads;      /* expanded files, held until their answer is sent */
	atomic_uint n_upstream_waits; /* workers that wait for an upstream server */
	_Atomic uint64_t metrics[API_METRIC_COUNT];
};

/*
 * Starts the threads that look at the disk for /readyz and /metrics. To be called when the other
 * fields are set. Returns 0 or a negative errno; api_stop_readings() follows in both cases.
 */
int api_start_readings(struct api_context *context);
void api_stop_readings(struct api_context *context);

/* Returns the routes of routes.def. */
const struct http_route *api_routes(size_t *ret_count);

/*
 * Opens the view of the sample store for @request: of its caller's tenant, ended when the client
 * closes the connection, within the memory of all queries. A request has one view, because IDs are
 * valid only in the view that returned them. Returns 0 or a negative errno of the store.
 */
static inline int api_open_view(const struct api_context *context,
				const struct http_request *request, struct store_view **ret_view)
{
	const struct store_view_options options = {
		.tenant = request->caller->tenant,
		.cancel = request->cancel,
		.memory = context->memory,
	};

	return store_view_open(context->store, &options, ret_view);
}

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
