/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An exchange, for the files that it is made of: exchange.c has its life, exchange_header.c what is
 * decided before the body is read.
 */

#include "symbolizer/http/exchange.h"

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
	bool closes;     /* the connection ends with the answer, which does not wait for the body */
	bool is_early;   /* the answer was written by answer_early() */
	bool uses_token; /* counted in the host's token_usage */
	bool is_in_lane; /* likewise */
	unsigned int sent_status; /* 0 until the answer is queued */
	uint64_t started_ns;
	uint64_t declared_bytes; /* Content-Length, 0 without a body, or LENGTH_UNKNOWN */
	uint64_t received_bytes;
	uint64_t held_bytes;        /* of the body, counted in the host */
	uint64_t held_answer_bytes; /* likewise */
	char argument[ROUTER_ARGUMENT_SIZE];
	void *stream;
	struct bytes body;
	struct http_caller caller;
	struct http_request request;
	struct http_response response;
};

/*
 * Finds the route and checks everything that the header tells. Afterwards the exchange is READING,
 * or it is ANSWERED with a refusal.
 */
void exchange_check_header(struct exchange *exchange, const char *version);

/* Each makes the exchange ANSWERED. @what: "under way", "waiting". */
void exchange_refuse_token_limit(struct exchange *exchange, const char *what);
void exchange_refuse_too_large(struct exchange *exchange);
void exchange_refuse_stopping(struct exchange *exchange);
