/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * struct exchange, for the files that implement it: exchange.c has the states, exchange_header.c
 * the checks before the body is read.
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
	uint64_t submitted_ns; /* monotonic: since then the job is in the queue of its lane */
	struct exchange_host *host;
	struct MHD_Connection *connection;
	const struct http_route *route; /* NULL: no route matches */
	enum exchange_state state;
	/* the connection ends with the answer, which is sent before the body is read */
	bool closes;
	bool is_early;            /* answer_early() wrote the whole answer */
	unsigned int sent_status; /* 0 until the answer is queued */
	uint64_t started_ns;
	uint64_t declared_bytes; /* Content-Length, 0 without a body, or LENGTH_UNKNOWN */
	uint64_t received_bytes;
	uint64_t held_bytes;               /* of the body, counted in host->held_body_bytes */
	uint64_t held_answer_bytes;        /* counted in host->held_answer_bytes */
	uint64_t taken[TOKEN_SHARE_COUNT]; /* counted against the token, by share */
	char argument[ROUTER_ARGUMENT_SIZE];
	void *stream;
	struct bytes body;
	struct http_caller caller;
	struct cancel cancel;
	struct http_request request;
	struct http_response response;
};

/*
 * Checks the header and finds the route. Afterwards the exchange is READING, or it is ANSWERED with
 * a refusal.
 */
void exchange_check_header(struct exchange *exchange, const char *version);

/*
 * Counts @amount of @share against the token of the request. Nothing is counted for routes that
 * need no token. Returns false if the token has reached its limit.
 */
bool exchange_take(struct exchange *exchange, unsigned int share, uint64_t amount);
/* Returns everything that was taken of @share. */
void exchange_give(struct exchange *exchange, unsigned int share);

/* Each fills the response and makes the exchange ANSWERED. */
void exchange_refuse_share(struct exchange *exchange, unsigned int share);
void exchange_refuse_too_large(struct exchange *exchange);
void exchange_refuse_stopping(struct exchange *exchange);
