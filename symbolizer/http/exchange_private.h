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
	bool closes;   /* the connection ends with the answer, which does not wait for the body */
	bool is_early; /* answer_early() wrote all of the answer */
	unsigned int sent_status; /* 0 until the answer is queued */
	uint64_t started_ns;
	uint64_t declared_bytes; /* Content-Length, 0 without a body, or LENGTH_UNKNOWN */
	uint64_t received_bytes;
	uint64_t held_bytes;               /* of the body, counted in the host */
	uint64_t held_answer_bytes;        /* likewise */
	uint64_t taken[TOKEN_SHARE_COUNT]; /* of what the token of the request may have */
	char argument[ROUTER_ARGUMENT_SIZE];
	void *stream;
	struct bytes body;
	struct http_caller caller;
	struct http_request request;
	struct http_response response;
};

/*
 * Finds the route and checks the whole header. Afterwards the exchange is READING, or it is
 * ANSWERED with a refusal.
 */
void exchange_check_header(struct exchange *exchange, const char *version);

/*
 * Counts @amount of @share against the token of the request; nothing is counted for requests that
 * need no token. false: the token has its limit.
 */
bool exchange_take(struct exchange *exchange, unsigned int share, uint64_t amount);
/* All that was taken of @share. */
void exchange_give(struct exchange *exchange, unsigned int share);

/* Each makes the exchange ANSWERED. */
void exchange_refuse_share(struct exchange *exchange, unsigned int share);
void exchange_refuse_too_large(struct exchange *exchange);
void exchange_refuse_stopping(struct exchange *exchange);
