/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The requests that each token has under way, so that whoever has one token leaves room for the
 * others:
 *
 *  - from the end of its header to the end of its answer, a request counts against max_requests;
 *  - while it is with a worker, or waits for one, it counts against the share that a token has in
 * its lane.
 *
 * Refusals are logged at most once a minute, with the name of the token. Thread-safe. Private to
 * this folder.
 */

#include "common/clock.h"
#include "symbolizer/http/router.h"

struct token_limits {
	unsigned int max_requests;                 /* 0: no bound */
	unsigned int max_in_lane[HTTP_LANE_COUNT]; /* 0: no bound */
};

struct token_usage;

int token_usage_new(const struct token_limits *limits, const struct clock *clock,
		    struct token_usage **ret_usage);
struct token_usage *token_usage_free(struct token_usage *usage);

/* false: the token has as many requests as it may have, and this one is refused. */
bool token_usage_enter(struct token_usage *usage, const char *name);
void token_usage_leave(struct token_usage *usage, const char *name);

/* The same for the lane of a request that was entered. */
bool token_usage_enter_lane(struct token_usage *usage, const char *name, enum http_lane lane);
void token_usage_leave_lane(struct token_usage *usage, const char *name, enum http_lane lane);

#include "common/scoped.h"
DEFINE_SCOPED(struct token_usage *, token_usage_free);
