/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The checks of a request before its body is read: framing, route, authorization, limits.
 */

#include <inttypes.h>

#include "symbolizer/http/authorization.h"
#include "symbolizer/http/exchange_private.h"
#include "symbolizer/http/framing.h"

static void find_route(struct exchange *exchange)
{
	const struct http_server_options *options = &exchange->host->options;
	struct http_response *response = &exchange->response;
	const char *path = exchange->request.path;
	char allow[ROUTER_ALLOW_SIZE];

	switch (router_find(options->routes, options->n_routes, exchange->request.method, path,
			    &exchange->route, exchange->argument)) {
	case ROUTER_FOUND:
		response->error_style = exchange->route->error_style;
		exchange->body.ceiling = exchange->route->body_limit_bytes;
		return;
	case ROUTER_WRONG_METHOD:
		response->error_style = exchange->route->error_style;
		router_allow(options->routes, options->n_routes, path, allow);
		http_response_header(response, "Allow", "%s", allow);
		http_response_error(response, 405, "%s is not served on '%s'; use %s",
				    http_method_name(exchange->request.method), path, allow);
		break;
	case ROUTER_NO_SUCH_PATH:
		http_response_error(response, 404,
				    "there is no '%s' here; docs/http-api.md lists every path",
				    path);
		break;
	}
	exchange->state = EXCHANGE_ANSWERED;
}

static void authorize(struct exchange *exchange)
{
	const struct authorization authorization = {
		.auth = exchange->host->options.auth,
		.route = exchange->route,
		.loopback_only = exchange->host->loopback_only,
	};

	if (!authorization_check(&authorization, &exchange->request, &exchange->caller,
				 &exchange->response))
		exchange->state = EXCHANGE_ANSWERED;
}

bool exchange_take(struct exchange *exchange, unsigned int share, uint64_t amount)
{
	const struct http_route *route = exchange->route;

	/* Routes that need no token, such as health, have no limit per token. */
	if (route->scopes == 0 || exchange->caller.anonymous)
		return true;
	if (!token_usage_take(exchange->host->token_usage, exchange->caller.name, share, amount))
		return false;
	exchange->taken[share] += amount;
	return true;
}

void exchange_give(struct exchange *exchange, unsigned int share)
{
	if (exchange->taken[share] == 0)
		return;
	token_usage_give(exchange->host->token_usage, exchange->caller.name, share,
			 exchange->taken[share]);
	exchange->taken[share] = 0;
}

void exchange_refuse_share(struct exchange *exchange, unsigned int share)
{
	char text[TOKEN_SHARE_TEXT_SIZE];

	if (exchange->host->options.metrics)
		route_metrics_add_token_limit(exchange->host->options.metrics);
	token_share_format(share, text);
	http_response_header(&exchange->response, "Retry-After", "5");
	http_response_error(&exchange->response, 429,
			    "token '%s' has too many %s already; try again in a moment",
			    exchange->caller.name, text);
	exchange->state = EXCHANGE_ANSWERED;
}

static void count_request(struct exchange *exchange)
{
	enum token_share share = exchange->route->stream ? TOKEN_UPLOADS : TOKEN_REQUESTS;

	if (!exchange_take(exchange, share, 1))
		exchange_refuse_share(exchange, share);
}

void exchange_refuse_too_large(struct exchange *exchange)
{
	http_response_error(&exchange->response, 413,
			    "the body of '%s' may have at most %" PRIu64 " bytes",
			    exchange->request.path, exchange->route->body_limit_bytes);
	exchange->state = EXCHANGE_ANSWERED;
}

void exchange_refuse_stopping(struct exchange *exchange)
{
	http_response_header(&exchange->response, "Retry-After", "5");
	http_response_error(&exchange->response, 503,
			    "the server is stopping; try again in a moment");
	exchange->state = EXCHANGE_ANSWERED;
}

static void begin_body(struct exchange *exchange)
{
	const struct http_route *route = exchange->route;

	if (exchange->declared_bytes != LENGTH_UNKNOWN &&
	    exchange->declared_bytes > route->body_limit_bytes) {
		exchange_refuse_too_large(exchange);
		return;
	}
	if (!route->stream)
		return;
	exchange->stream = route->stream->begin(exchange->host->options.context, &exchange->request,
						exchange->declared_bytes, &exchange->response);
	if (!exchange->stream)
		exchange->state = EXCHANGE_ANSWERED;
}

/* After ambiguous framing the start of the next request is not known, so the connection ends. */
static void check_framing(struct exchange *exchange, const char *version)
{
	const char *objection = framing_objection(&exchange->request, version);

	if (!objection)
		return;
	http_response_error(&exchange->response, 400, "%s", objection);
	exchange->state = EXCHANGE_ANSWERED;
	exchange->closes = true;
}

void exchange_check_header(struct exchange *exchange, const char *version)
{
	check_framing(exchange, version);
	if (exchange->state == EXCHANGE_READING)
		find_route(exchange);
	if (exchange->state == EXCHANGE_READING)
		authorize(exchange);
	if (exchange->state == EXCHANGE_READING)
		count_request(exchange);
	/* The body of a refused request is not read: the connection ends instead. */
	if (exchange->state == EXCHANGE_ANSWERED && exchange->declared_bytes > 0)
		exchange->closes = true;
	if (exchange->state == EXCHANGE_READING && atomic_load(&exchange->host->stopping))
		exchange_refuse_stopping(exchange);
	if (exchange->state == EXCHANGE_READING)
		begin_body(exchange);
}
