/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One request and its answer, between the HTTP library and a handler. Private to this folder.
 */

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "symbolizer/http/connections.h"
#include "symbolizer/http/server.h"
#include "symbolizer/http/token_usage.h"
#include "symbolizer/http/worker_pool.h"

/*
 * Memory of all request bodies at a time: 32 batches of the largest size. Beyond it agents get 503
 * and send the batch again later.
 */
#define HTTP_MAX_HELD_BODY_BYTES (256 * MIB)

/*
 * Memory of all answers that clients have not read yet: two of the largest. An answer of up to
 * HTTP_SMALL_ANSWER_BYTES is not counted, so that health checks and batches are answered when the
 * limit is reached.
 */
#define HTTP_MAX_HELD_ANSWER_BYTES (2 * HTTP_RESPONSE_MAX_BYTES)
#define HTTP_SMALL_ANSWER_BYTES    (64 * KIB)

/* State that all exchanges share. The server owns it. */
struct exchange_host {
	struct http_server_options options;
	struct worker_pool *workers[HTTP_LANE_COUNT];
	struct connections *connections;
	struct token_usage *token_usage;
	bool loopback_only;                 /* no tokens and only loopback addresses */
	_Atomic uint64_t held_body_bytes;   /* at most HTTP_MAX_HELD_BODY_BYTES */
	_Atomic uint64_t held_answer_bytes; /* at most options.max_held_answer_bytes */
	atomic_bool stopping;
	pthread_mutex_t lock;
	pthread_cond_t idle;      /* n_exchanges fell to 0 */
	unsigned int n_exchanges; /* under lock */
};

/* Callbacks for the library; @arg is the struct exchange_host. */
enum MHD_Result exchange_on_access(void *arg, struct MHD_Connection *connection, const char *url,
				   const char *method, const char *version, const char *upload_data,
				   size_t *upload_data_size, void **exchange);
void exchange_on_completed(void *arg, struct MHD_Connection *connection, void **exchange,
			   enum MHD_RequestTerminationCode code);
