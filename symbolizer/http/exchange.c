/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The life of a request. The library calls with the headers, then with each piece of the body, then
 * once more with no data; there the exchange is given to a worker and its connection suspended, and
 * when the worker is done the library calls again and takes the answer.
 *
 *   READING --(whole body)--> WORKING --(worker)--> ANSWERED
 *      \--(refused)--> ANSWERED, the rest of the body is read and thrown away
 *
 * An answer can only be queued before the first byte of the body or after the last one. A refusal
 * therefore either is sent at once and ends the connection (if the request has no single end, no
 * route, or no right to be there, and if the body is long), or it is sent after the body, which
 * keeps the connection. For the first kind see connection_discard_body().
 */

#include "symbolizer/http/exchange.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/log.h"
#include "symbolizer/http/framing.h"
#include "symbolizer/http/gzip.h"
#include "symbolizer/http/origin.h"

/* So much of a refused body is swallowed. */
#define MAX_DRAINED_BYTES (1 * MIB)

#define LENGTH_UNKNOWN UINT64_MAX

enum exchange_state {
	EXCHANGE_READING,
	EXCHANGE_WORKING,
	EXCHANGE_ANSWERED,
};

struct exchange {
	struct worker_job job;
	struct exchange_host *host;
	struct MHD_Connection *connection;
	const struct http_route *route; /* NULL: none has the path */
	enum exchange_state state;
	bool closes;              /* the connection ends with the answer, which does not wait for the body */
	unsigned int sent_status; /* 0 until the answer is queued */
	uint64_t started_ns;
	uint64_t declared_bytes; /* Content-Length, 0 without a body, or LENGTH_UNKNOWN */
	uint64_t received_bytes;
	uint64_t drained_bytes;
	uint64_t held_bytes; /* counted in the host */
	char argument[ROUTER_ARGUMENT_SIZE];
	void *stream;
	struct bytes body;
	struct http_caller caller;
	struct http_request request;
	struct http_response response;
};

struct field_list {
	struct http_field *fields;
	size_t count;
	size_t capacity;
};

static enum MHD_Result collect_field(void *arg, enum MHD_ValueKind kind, const char *name,
				     const char *value)
{
	struct field_list *list = arg;

	(void)kind;
	if (list->count == list->capacity)
		return MHD_NO;
	list->fields[list->count++] =
		(struct http_field){ .name = name, .value = value ? value : "" };
	return MHD_YES;
}

/* Borrows the texts from the connection, where they live until the request is completed. */
static int collect_fields(struct MHD_Connection *connection, enum MHD_ValueKind kind,
			  const struct http_field **ret_fields, size_t *ret_count)
{
	int count = MHD_get_connection_values(connection, kind, NULL, NULL);
	struct field_list list = { .capacity = count > 0 ? (size_t)count : 0 };

	if (list.capacity == 0)
		return 0;
	list.fields = calloc(list.capacity, sizeof(list.fields[0]));
	if (!list.fields)
		return -ENOMEM;
	(void)MHD_get_connection_values(connection, kind, collect_field, &list);
	*ret_fields = list.fields;
	*ret_count = list.count;
	return 0;
}

static uint64_t declared_length(const struct http_request *request)
{
	const char *text = http_request_header(request, "Content-Length");
	unsigned long long length;
	char *end;

	if (http_request_header(request, "Transfer-Encoding"))
		return LENGTH_UNKNOWN;
	if (!text)
		return 0;
	/* The library has refused what is no number; one beyond 64 bits is too large for every
	 * route. */
	errno = 0;
	length = strtoull(text, &end, 10);
	return errno || *end ? LENGTH_UNKNOWN - 1 : length;
}

static void exchange_free(struct exchange *exchange)
{
	struct exchange_host *host = exchange->host;

	if (exchange->stream)
		exchange->route->stream->free(exchange->stream);
	bytes_release(&exchange->body);
	http_response_release(&exchange->response);
	free((void *)exchange->request.headers);
	free((void *)exchange->request.parameters);
	free(exchange);

	(void)pthread_mutex_lock(&host->lock);
	if (--host->n_exchanges == 0)
		(void)pthread_cond_broadcast(&host->idle);
	(void)pthread_mutex_unlock(&host->lock);
}

static void release_held_body(struct exchange *exchange)
{
	bytes_release(&exchange->body);
	atomic_fetch_sub(&exchange->host->held_body_bytes, exchange->held_bytes);
	exchange->held_bytes = 0;
}

static int exchange_new(struct exchange_host *host, struct MHD_Connection *connection,
			const char *url, const char *method, struct exchange **ret_exchange)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));
	int r;

	if (!exchange)
		return -ENOMEM;
	(void)pthread_mutex_lock(&host->lock);
	host->n_exchanges++;
	(void)pthread_mutex_unlock(&host->lock);

	exchange->host = host;
	exchange->connection = connection;
	exchange->started_ns = clock_monotonic_ns(host->options.clock);
	exchange->request.method = http_method_from_name(method);
	exchange->request.path = url;
	exchange->request.argument = exchange->argument;
	exchange->request.caller = &exchange->caller;
	http_response_init(&exchange->response);

	r = collect_fields(connection, MHD_HEADER_KIND, &exchange->request.headers,
			   &exchange->request.n_headers);
	if (r == 0)
		r = collect_fields(connection, MHD_GET_ARGUMENT_KIND, &exchange->request.parameters,
				   &exchange->request.n_parameters);
	if (r < 0) {
		exchange_free(exchange);
		return r;
	}
	exchange->declared_bytes = declared_length(&exchange->request);
	*ret_exchange = exchange;
	return 0;
}

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

static const char *auth_hint(enum auth_result result)
{
	switch (result) {
	case AUTH_MISSING:
		return "a token is needed: send the header 'Authorization: Bearer TOKEN'; "
		       "hearth-symbolizer "
		       "--make-token NAME --scopes read makes one";
	case AUTH_MALFORMED:
		return "the Authorization header is not 'Bearer TOKEN'";
	case AUTH_UNKNOWN:
		return "the server does not know this token; it may have been replaced in its "
		       "tokens file";
	case AUTH_OK:
		break;
	}
	return NULL;
}

static void authorize(struct exchange *exchange)
{
	const char *authorization = http_request_header(&exchange->request, "Authorization");
	struct http_response *response = &exchange->response;
	char needed[HTTP_SCOPES_TEXT_SIZE];
	enum auth_result result;
	const char *objection;

	result = auth_check(exchange->host->options.auth, authorization, &exchange->caller);
	if (result != AUTH_OK && exchange->route->scopes != 0) {
		http_response_header(response, "WWW-Authenticate", "Bearer realm=\"hearth\"%s",
				     result == AUTH_MISSING ? "" : ", error=\"invalid_token\"");
		http_response_error(response, 401, "%s", auth_hint(result));
		exchange->state = EXCHANGE_ANSWERED;
		return;
	}
	objection = origin_objection(&exchange->request, exchange->host->loopback_only);
	if (objection) {
		http_response_error(response, 403, "%s", objection);
		exchange->state = EXCHANGE_ANSWERED;
		return;
	}
	if (exchange->route->scopes != 0 && !(exchange->caller.scopes & exchange->route->scopes)) {
		http_scopes_format(exchange->route->scopes, needed);
		http_response_error(response, 403, "token '%s' lacks the scope that '%s' needs: %s",
				    exchange->caller.name, exchange->request.path, needed);
		exchange->state = EXCHANGE_ANSWERED;
	}
}

static void refuse_too_large(struct exchange *exchange)
{
	http_response_error(&exchange->response, 413,
			    "the body of '%s' may have at most %" PRIu64 " bytes",
			    exchange->request.path, exchange->route->body_limit_bytes);
	exchange->state = EXCHANGE_ANSWERED;
}

static void refuse_stopping(struct exchange *exchange)
{
	http_response_header(&exchange->response, "Retry-After", "5");
	http_response_error(&exchange->response, 503,
			    "the server is stopping; try again in a moment");
	exchange->state = EXCHANGE_ANSWERED;
}

static void refuse_full(struct exchange *exchange)
{
	static const char *const lane_names[] = {
#define X(id, name, ...) name,
		HTTP_LANES(X)
#undef X
	};

	http_response_header(&exchange->response, "Retry-After", "5");
	http_response_error(
		&exchange->response, 503,
		"too many requests of the kind '%s' wait already; try again in a moment",
		lane_names[exchange->route->lane]);
	exchange->state = EXCHANGE_ANSWERED;
}

static void begin_body(struct exchange *exchange)
{
	const struct http_route *route = exchange->route;

	if (exchange->declared_bytes != LENGTH_UNKNOWN &&
	    exchange->declared_bytes > route->body_limit_bytes) {
		refuse_too_large(exchange);
		return;
	}
	if (!route->stream)
		return;
	exchange->stream = route->stream->begin(exchange->host->options.context, &exchange->request,
						exchange->declared_bytes, &exchange->response);
	if (!exchange->stream)
		exchange->state = EXCHANGE_ANSWERED;
}

/* Where the next request begins is not known: the connection has to end. */
static void check_framing(struct exchange *exchange, const char *version)
{
	const char *objection = framing_objection(&exchange->request, version);

	if (!objection)
		return;
	http_response_error(&exchange->response, 400, "%s", objection);
	exchange->state = EXCHANGE_ANSWERED;
	exchange->closes = true;
}

static void check_headers(struct exchange *exchange, const char *version)
{
	check_framing(exchange, version);
	if (exchange->state == EXCHANGE_READING)
		find_route(exchange);
	if (exchange->state == EXCHANGE_READING)
		authorize(exchange);
	/* Bodies are read only of those who may send them. */
	if (exchange->state == EXCHANGE_ANSWERED && exchange->declared_bytes > 0)
		exchange->closes = true;
	if (exchange->state == EXCHANGE_READING && atomic_load(&exchange->host->stopping))
		refuse_stopping(exchange);
	if (exchange->state == EXCHANGE_READING)
		begin_body(exchange);
}

/* Of an answer to HEAD, of which only the length is sent. */
static ssize_t read_nothing(void *arg, uint64_t position, char *buffer, size_t size)
{
	(void)arg;
	(void)position;
	(void)buffer;
	(void)size;
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

/* The bytes of the answer; a buffer belongs to the exchange, which lives until it is sent. */
static struct MHD_Response *make_content(struct http_response *response)
{
	struct bytes_view body =
		response->fixed_body.data ? response->fixed_body : bytes_view_of(&response->body);

	if (response->file >= 0)
		return MHD_create_response_from_fd_at_offset64(
			response->file_bytes, take_fd(response->file), response->file_offset);
	if (response->head_bytes > 0)
		return MHD_create_response_from_callback(response->head_bytes, 4 * KIB,
							 read_nothing, NULL, NULL);
	return MHD_create_response_from_buffer(body.size, (void *)body.data,
					       MHD_RESPMEM_PERSISTENT);
}

static struct MHD_Response *make_response(struct exchange *exchange)
{
	struct http_response *response = &exchange->response;
	struct MHD_Response *message = make_content(response);

	if (!message)
		return NULL;
	if (response->content_type)
		(void)MHD_add_response_header(message, "Content-Type", response->content_type);
	if (response->fixed_body.data && response->fixed_encoding)
		(void)MHD_add_response_header(message, "Content-Encoding",
					      response->fixed_encoding);
	for (unsigned int i = 0; i < response->n_headers; i++)
		(void)MHD_add_response_header(message, response->headers[i].name,
					      response->headers[i].value);
	if (!http_response_find_header(response, "Cache-Control"))
		(void)MHD_add_response_header(message, "Cache-Control", "no-store");
	(void)MHD_add_response_header(message, "X-Content-Type-Options", "nosniff");
	if (exchange->closes || atomic_load(&exchange->host->stopping))
		(void)MHD_add_response_header(message, "Connection", "close");
	return message;
}

static enum MHD_Result send_answer(struct exchange *exchange)
{
	struct MHD_Response *message = make_response(exchange);
	enum MHD_Result result;

	if (!message)
		return MHD_NO;
	result = MHD_queue_response(exchange->connection, exchange->response.status, message);
	MHD_destroy_response(message);
	if (result == MHD_YES)
		exchange->sent_status = exchange->response.status;
	return result;
}

static void hold_body(struct exchange *exchange, struct bytes_view data)
{
	struct exchange_host *host = exchange->host;
	int r;

	exchange->held_bytes += data.size;
	if (atomic_fetch_add(&host->held_body_bytes, data.size) + data.size >
	    HTTP_MAX_HELD_BODY_BYTES) {
		http_response_header(&exchange->response, "Retry-After", "5");
		http_response_error(
			&exchange->response, 503,
			"the server holds too many request bodies already; try again in a moment");
		exchange->state = EXCHANGE_ANSWERED;
		return;
	}
	r = bytes_append(&exchange->body, data.data, data.size);
	if (r == -EFBIG) {
		refuse_too_large(exchange);
	} else if (r < 0) {
		http_response_error(&exchange->response, 503,
				    "out of memory; try again in a moment");
		exchange->state = EXCHANGE_ANSWERED;
	}
}

static void stream_body(struct exchange *exchange, struct bytes_view data)
{
	if (exchange->received_bytes > exchange->route->body_limit_bytes)
		refuse_too_large(exchange);
	else if (!exchange->route->stream->append(exchange->stream, data, &exchange->response))
		exchange->state = EXCHANGE_ANSWERED;
}

/*
 * Whether the client hung up before it sent all that it declared. The library (0.9.75) waits for
 * edges of epoll and takes a short read for "nothing more": it misses an end that arrived together
 * with the last data, and would keep the connection until its timeout.
 */
static bool client_is_gone(const struct exchange *exchange)
{
	const union MHD_ConnectionInfo *info;
	char byte;

	if (exchange->declared_bytes == LENGTH_UNKNOWN ||
	    exchange->received_bytes >= exchange->declared_bytes)
		return false;
	info = MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	return info && recv(info->connect_fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* One piece of the body. MHD_NO closes the connection. */
static enum MHD_Result take_body(struct exchange *exchange, struct bytes_view data)
{
	exchange->received_bytes += data.size;
	connection_received(connection_of(exchange->connection), data.size);
	if (client_is_gone(exchange))
		return MHD_NO;
	if (exchange->state == EXCHANGE_READING) {
		if (exchange->stream)
			stream_body(exchange, data);
		else
			hold_body(exchange, data);
		if (exchange->state == EXCHANGE_ANSWERED)
			release_held_body(exchange);
		return MHD_YES;
	}
	exchange->drained_bytes += data.size;
	return exchange->drained_bytes <= MAX_DRAINED_BYTES ? MHD_YES : MHD_NO;
}

static void check_answer(struct exchange *exchange)
{
	int error = bytes_error(&exchange->response.body);

	if (error == -EFBIG)
		http_response_error(
			&exchange->response, 500,
			"the answer is larger than %" PRIu64
			" bytes; ask for fewer nodes (max_nodes), a shorter time or format=columns",
			HTTP_RESPONSE_MAX_BYTES);
	else if (error < 0)
		http_response_error(&exchange->response, 500,
				    "out of memory while writing the answer");
}

static void run_exchange(struct worker_job *job)
{
	struct exchange *exchange = container_of(job, struct exchange, job);
	const struct http_route *route = exchange->route;

	if (exchange->stream)
		route->stream->finish(exchange->stream, &exchange->request, &exchange->response);
	else
		route->handler(exchange->host->options.context, &exchange->request,
			       &exchange->response);
	check_answer(exchange);
	gzip_response(&exchange->request, &exchange->response);
	release_held_body(exchange);

	exchange->state = EXCHANGE_ANSWERED;
	MHD_resume_connection(exchange->connection);
}

/* The whole body is here. */
static enum MHD_Result hand_over(struct exchange *exchange)
{
	exchange->request.body = bytes_view_of(&exchange->body);
	exchange->state = EXCHANGE_WORKING;
	exchange->job.run = run_exchange;

	/* First suspend: the worker may be done before submit returns, and resumes what must be
	 * suspended by then. */
	MHD_suspend_connection(exchange->connection);
	switch (worker_pool_submit(exchange->host->workers[exchange->route->lane],
				   &exchange->job)) {
	case WORKER_POOL_TAKEN:
		return MHD_YES;
	case WORKER_POOL_FULL:
		refuse_full(exchange);
		break;
	case WORKER_POOL_CLOSED:
		refuse_stopping(exchange);
		break;
	}
	MHD_resume_connection(exchange->connection);
	return MHD_YES;
}

/* A refusal that does not wait for the body is sent here. */
static enum MHD_Result take_headers(struct exchange *exchange, const char *version)
{
	struct connection *connection = connection_of(exchange->connection);

	check_headers(exchange, version);
	if (exchange->state == EXCHANGE_ANSWERED &&
	    (exchange->closes || exchange->declared_bytes > MAX_DRAINED_BYTES)) {
		connection_expects_nothing(connection);
		if (exchange->declared_bytes > 0)
			connection_discard_body(connection);
		return send_answer(exchange);
	}
	if (exchange->declared_bytes > 0)
		connection_expects_body(connection);
	else
		connection_expects_nothing(connection);
	return MHD_YES;
}

enum MHD_Result exchange_on_access(void *arg, struct MHD_Connection *connection, const char *url,
				   const char *method, const char *version, const char *upload_data,
				   size_t *upload_data_size, void **ret_exchange)
{
	struct exchange *exchange = *ret_exchange;
	struct bytes_view data;

	if (!exchange) {
		if (exchange_new(arg, connection, url, method, &exchange) < 0)
			return MHD_NO;
		*ret_exchange = exchange;
		return take_headers(exchange, version);
	}
	if (*upload_data_size > 0) {
		data = (struct bytes_view){ .data = (const uint8_t *)upload_data,
					    .size = *upload_data_size };
		*upload_data_size = 0;
		return take_body(exchange, data);
	}
	connection_expects_nothing(connection_of(connection));
	return exchange->state == EXCHANGE_ANSWERED ? send_answer(exchange) : hand_over(exchange);
}

void exchange_on_completed(void *arg, struct MHD_Connection *connection, void **ret_exchange,
			   enum MHD_RequestTerminationCode code)
{
	struct exchange *exchange = *ret_exchange;
	struct exchange_host *host = arg;
	uint64_t duration_ns;

	if (!exchange)
		return;
	*ret_exchange = NULL;
	connection_expects_header(connection_of(connection));
	duration_ns = clock_monotonic_ns(host->options.clock) - exchange->started_ns;
	if (host->options.metrics)
		route_metrics_add(
			host->options.metrics, exchange->route,
			code == MHD_REQUEST_TERMINATED_COMPLETED_OK ? exchange->sent_status : 0,
			duration_ns);
	log_debug("%s %s: %u in %" PRIu64 " us, %" PRIu64 " bytes in, %zu out",
		  http_method_name(exchange->request.method), exchange->request.path,
		  exchange->sent_status, duration_ns / NSEC_PER_USEC, exchange->received_bytes,
		  exchange->response.body.size);
	release_held_body(exchange);
	exchange_free(exchange);
}
