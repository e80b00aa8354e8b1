/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The table of routes.def for the router. Each handler has a wrapper that converts the context to
 * its type, which the HTTP layer does not know.
 */

#include "common/limits.h"
#include "symbolizer/api/api.h"
#include "symbolizer/api/connect_error.h"
#include "symbolizer/api/otlp_error.h"
#include "symbolizer/api/envelope.h"
#include "symbolizer/import/import_limits.h"

#define ROUTE(id, ...)                                                                             \
	static void call_##id(void *context, const struct http_request *request,                   \
			      struct http_response *response)                                      \
	{                                                                                          \
		api_##id(context, request, response);                                              \
	}
#define STREAM_ROUTE(...)
#include "symbolizer/api/routes.def"
#undef ROUTE
#undef STREAM_ROUTE

static const struct http_route routes[] = {
#define ROUTE(id, method_, pattern_, lane_, scopes_, limit_, style_, help)                         \
	{ .method = method_,                                                                       \
	  .pattern = pattern_,                                                                     \
	  .lane = lane_,                                                                           \
	  .scopes = scopes_,                                                                       \
	  .body_limit_bytes = limit_,                                                              \
	  .handler = call_##id,                                                                    \
	  .error_style = style_ },
#define STREAM_ROUTE(id, method_, pattern_, lane_, scopes_, limit_, help)                          \
	{ .method = method_,                                                                       \
	  .pattern = pattern_,                                                                     \
	  .lane = lane_,                                                                           \
	  .scopes = scopes_,                                                                       \
	  .body_limit_bytes = limit_,                                                              \
	  .stream = &api_##id },
#include "symbolizer/api/routes.def"
#undef ROUTE
#undef STREAM_ROUTE
};

const struct http_route *api_routes(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(routes);
	return routes;
}
