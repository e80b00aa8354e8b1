/* SPDX-License-Identifier: Apache-2.0 */

/*
 * States of a request. The library calls exchange_on_access() with the headers, then with each
 * piece of the body, then once more without data. In the last call, the exchange is submitted to a
 * worker and its connection is suspended. When the worker has finished, the connection is resumed,
 * and the library calls again and takes the answer.
 *
 *   READING --(whole body)--> WORKING --(worker)--> ANSWERED
 *      \--(refused)--> ANSWERED, the rest of the body is read and discarded, or not read
 *
 * The library accepts an answer only before the first byte of the body or after the last one. A
 * refusal is therefore sent in one of three ways:
 *
 * - It is queued before the body and ends the connection: for a request that has ambiguous framing,
 *   no route, no permission, or a long body.
 * - It is queued after the body, and the connection is kept: if little of the body is left.
 * - It is written to the socket directly and ends the connection (answer_early()): if much is left.
 *
 * In the first and the third case, connection_linger() keeps the socket open for a short time.
 */

#include "symbolizer/http/exchange.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/hash.h"
#include "common/log.h"
#include "symbolizer/http/exchange_private.h"
#include "symbolizer/http/gzip.h"
#include "symbolizer/http/reply.h"
#include "symbolizer/http/request_fields.h"

/* The rest of a refused body is read and discarded up to this size. */
#define MAX_DRAINED_BYTES (1 * MIB)

static uint64_t declared_length(const struct http_request *request)
{
	const char *text = http_request_header(request, "Content-Length");
	unsigned long long length;
	char *end;

	if (http_request_header(request, "Transfer-Encoding"))
		return LENGTH_UNKNOWN;
	if (!text)
		return 0;
	/* The library has refused text that is not a number. A number that does not fit 64 bits
	 * is too large for every route. */
	errno = 0;
	length = strtoull(text, &end, 10);
	return errno || *end ? LENGTH_UNKNOWN - 1 : length;
}

static void release_held_body(struct exchange *exchange)
{
	bytes_release(&exchange->body);
	atomic_fetch_sub(&exchange->host->held_body_bytes, exchange->held_bytes);
	exchange->held_bytes = 0;
	exchange_give(exchange, TOKEN_BODIES);
}

/* Returns all amounts that are counted in the host. */
static void release_shares(struct exchange *exchange)
{
	release_held_body(exchange);
	atomic_fetch_sub(&exchange->host->held_answer_bytes, exchange->held_answer_bytes);
	exchange->held_answer_bytes = 0;
	for (unsigned int share = 0; share < TOKEN_SHARE_COUNT; share++)
		exchange_give(exchange, share);
}

static void exchange_free(struct exchange *exchange)
{
	struct exchange_host *host = exchange->host;

	if (exchange->stream)
		exchange->route->stream->free(exchange->stream);
	release_shares(exchange);
	http_response_release(&exchange->response);
	free((void *)exchange->request.headers);
	free((void *)exchange->request.parameters);
	free(exchange);

	(void)pthread_mutex_lock(&host->lock);
	if (--host->n_exchanges == 0)
		(void)pthread_cond_broadcast(&host->idle);
	(void)pthread_mutex_unlock(&host->lock);
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
	exchange->request.cancel = &exchange->cancel;
	http_response_init(&exchange->response);

	r = request_fields_collect(connection, MHD_HEADER_KIND, &exchange->request.headers,
				   &exchange->request.n_headers);
	if (r == 0)
		r = request_fields_collect(connection, MHD_GET_ARGUMENT_KIND,
					   &exchange->request.parameters,
					   &exchange->request.n_parameters);
	if (r < 0) {
		exchange_free(exchange);
		return r;
	}
	exchange->declared_bytes = declared_length(&exchange->request);
	*ret_exchange = exchange;
	return 0;
}

static enum MHD_Result send_answer(struct exchange *exchange)
{
	struct MHD_Response *message = reply_make(
		&exchange->response, exchange->closes || atomic_load(&exchange->host->stopping));
	enum MHD_Result result;

	if (!message)
		return MHD_NO;
	result = MHD_queue_response(exchange->connection, exchange->response.status, message);
	MHD_destroy_response(message);
	if (result == MHD_YES) {
		exchange->sent_status = exchange->response.status;
		connection_sends_answer(connection_of(exchange->connection));
	}
	return result;
}

static int socket_of(const struct exchange *exchange)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

/* Sends the answer while the client sends the body, and ends the connection. */
static enum MHD_Result answer_early(struct exchange *exchange)
{
	uint64_t now_s = clock_wall_ns(exchange->host->options.clock) / NSEC_PER_SEC;

	exchange->is_early = reply_write_early(socket_of(exchange), &exchange->response,
					       exchange->request.method != HTTP_HEAD, now_s);
	exchange->sent_status = exchange->response.status;
	connection_linger(connection_of(exchange->connection));
	return MHD_NO;
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
	if (!exchange_take(exchange, TOKEN_BODIES, data.size)) {
		exchange_refuse_share(exchange, TOKEN_BODIES);
		return;
	}
	r = bytes_append(&exchange->body, data.data, data.size);
	if (r == -EFBIG) {
		exchange_refuse_too_large(exchange);
	} else if (r < 0) {
		http_response_error(&exchange->response, 503,
				    "out of memory; try again in a moment");
		exchange->state = EXCHANGE_ANSWERED;
	}
}

static void stream_body(struct exchange *exchange, struct bytes_view data)
{
	if (exchange->received_bytes > exchange->route->body_limit_bytes)
		exchange_refuse_too_large(exchange);
	else if (!exchange->route->stream->append(exchange->stream, data, &exchange->response))
		exchange->state = EXCHANGE_ANSWERED;
}

/*
 * Returns whether the client closed the connection before it sent the declared length. The library
 * (0.9.75) waits for edge-triggered epoll events and treats a short read as the end of the
 * available data: it misses an end of stream that arrived together with the last data, and would
 * keep the connection until its timeout.
 */
static bool client_is_gone(const struct exchange *exchange)
{
	char byte;

	if (exchange->declared_bytes == LENGTH_UNKNOWN ||
	    exchange->received_bytes >= exchange->declared_bytes)
		return false;
	return recv(socket_of(exchange), &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Returns whether the rest of a refused body is short enough to read it and keep the connection. */
static bool is_worth_draining(const struct exchange *exchange)
{
	return exchange->declared_bytes != LENGTH_UNKNOWN &&
	       exchange->declared_bytes - MIN(exchange->declared_bytes, exchange->received_bytes) <=
		       MAX_DRAINED_BYTES;
}

/* Takes one piece of the body. MHD_NO closes the connection. */
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
		if (exchange->state == EXCHANGE_READING)
			return MHD_YES;
		release_held_body(exchange);
	}
	return is_worth_draining(exchange) ? MHD_YES : answer_early(exchange);
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
	else if (error < 0) {
		http_response_header(&exchange->response, "Retry-After", "5");
		http_response_error(&exchange->response, 503,
				    "the answers of all queries together need more memory than "
				    "memory_limit allows; try again in a moment, or ask for fewer "
				    "nodes (max_nodes) or a shorter time");
	}
}

static void drop_answer(struct http_response *response)
{
	bytes_release(&response->body);
	response->body = BYTES_INIT(HTTP_SMALL_ANSWER_BYTES);
	response->n_headers = 0;
}

/* Counts the answer in the host until the client has read it, or replaces it by a refusal. Small
 * answers are not counted: the number of connections bounds their memory. */
static void hold_answer(struct exchange *exchange)
{
	struct http_response *response = &exchange->response;
	_Atomic uint64_t *held = &exchange->host->held_answer_bytes;
	uint64_t bytes = response->body.size;

	if (bytes <= HTTP_SMALL_ANSWER_BYTES)
		return;
	if (!exchange_take(exchange, TOKEN_ANSWERS, bytes)) {
		drop_answer(response);
		exchange_refuse_share(exchange, TOKEN_ANSWERS);
		return;
	}
	if (atomic_fetch_add(held, bytes) + bytes <=
	    exchange->host->options.max_held_answer_bytes) {
		exchange->held_answer_bytes = bytes;
		return;
	}
	atomic_fetch_sub(held, bytes);
	exchange_give(exchange, TOKEN_ANSWERS);
	drop_answer(response);
	http_response_header(response, "Retry-After", "5");
	http_response_error(response, 503,
			    "the server holds too many answers that clients have not read yet; try "
			    "again in a moment");
}

/* Discards the answer, because the client has closed its connection. */
static void drop_for_gone_client(struct exchange *exchange)
{
	drop_answer(&exchange->response);
	http_response_error(&exchange->response, 503, "the client closed the connection");
}

static void call_handler(struct exchange *exchange)
{
	const struct http_route *route = exchange->route;

	if (route->lane == HTTP_LANE_QUERY || route->lane == HTTP_LANE_LISTS)
		exchange->response.body.budget = exchange->host->options.answer_memory;

	if (exchange->stream)
		route->stream->finish(exchange->stream, &exchange->request, &exchange->response);
	else if (!cancel_is_requested(&exchange->cancel))
		route->handler(exchange->host->options.context, &exchange->request,
			       &exchange->response);
	if (cancel_is_requested(&exchange->cancel)) {
		drop_for_gone_client(exchange);
		return;
	}
	check_answer(exchange);
	gzip_response(&exchange->request, &exchange->response);
	hold_answer(exchange);
}

static void run_exchange(struct worker_job *job)
{
	struct exchange *exchange = container_of(job, struct exchange, job);
	const struct http_route *route = exchange->route;

	assert(exchange->state == EXCHANGE_WORKING);
	exchange->request.waited_ns = clock_monotonic_ns(&system_clock) - exchange->submitted_ns;
	call_handler(exchange);
	connection_watch_close(connection_of(exchange->connection), NULL);
	release_held_body(exchange);
	exchange_give(exchange, TOKEN_LANES + route->lane);

	exchange->state = EXCHANGE_ANSWERED;
	MHD_resume_connection(exchange->connection);
}

static void refuse_full(struct exchange *exchange)
{
	http_response_header(&exchange->response, "Retry-After", "5");
	http_response_error(
		&exchange->response, 503,
		"too many requests of the kind '%s' wait already; try again in a moment",
		http_lane_name(exchange->route->lane));
	exchange->state = EXCHANGE_ANSWERED;
}

/* Submits the exchange to a worker when the whole body was received. */
static enum MHD_Result hand_over(struct exchange *exchange)
{
	const unsigned int lane_share = TOKEN_LANES + exchange->route->lane;

	assert(exchange->state == EXCHANGE_READING);
	if (!exchange_take(exchange, lane_share, 1)) {
		exchange_refuse_share(exchange, lane_share);
		release_held_body(exchange);
		return send_answer(exchange);
	}
	exchange->request.body = bytes_view_of(&exchange->body);
	exchange->state = EXCHANGE_WORKING;
	exchange->job.run = run_exchange;
	exchange->submitted_ns = clock_monotonic_ns(&system_clock);
	if (exchange->taken[lane_share] > 0)
		exchange->job.client =
			hash64_of(exchange->caller.name, strlen(exchange->caller.name));

	/* Suspend before submitting: the worker may finish before worker_pool_submit() returns,
	 * and it may only resume a suspended connection. */
	MHD_suspend_connection(exchange->connection);
	/* A whole upload is stored even if its client does not wait for the answer. */
	if (!exchange->stream)
		connection_watch_close(connection_of(exchange->connection), &exchange->cancel);
	switch (worker_pool_submit(exchange->host->workers[exchange->route->lane],
				   &exchange->job)) {
	case WORKER_POOL_TAKEN:
		return MHD_YES;
	case WORKER_POOL_FULL:
		refuse_full(exchange);
		break;
	case WORKER_POOL_CLOSED:
		exchange_refuse_stopping(exchange);
		break;
	}
	exchange_give(exchange, lane_share);
	connection_watch_close(connection_of(exchange->connection), NULL);
	MHD_resume_connection(exchange->connection);
	return MHD_YES;
}

/* Checks the header. Sends a refusal at once if it does not wait for the body. */
static enum MHD_Result take_headers(struct exchange *exchange, const char *version)
{
	struct connection *connection = connection_of(exchange->connection);

	exchange_check_header(exchange, version);
	if (exchange->state == EXCHANGE_ANSWERED &&
	    (exchange->closes || exchange->declared_bytes > MAX_DRAINED_BYTES)) {
		connection_expects_nothing(connection);
		if (exchange->declared_bytes > 0)
			connection_linger(connection);
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
	release_shares(exchange);
	duration_ns = clock_monotonic_ns(host->options.clock) - exchange->started_ns;
	if (host->options.metrics)
		route_metrics_add(host->options.metrics, exchange->route,
				  code == MHD_REQUEST_TERMINATED_COMPLETED_OK || exchange->is_early
					  ? exchange->sent_status
					  : 0,
				  duration_ns);
	log_debug("%s %s: %u in %" PRIu64 " us, %" PRIu64 " bytes in, %zu out",
		  http_method_name(exchange->request.method), exchange->request.path,
		  exchange->sent_status, duration_ns / NSEC_PER_USEC, exchange->received_bytes,
		  exchange->response.body.size);
	exchange_free(exchange);
}
