/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What each token takes of the server at the moment, so that whoever has one token leaves room for
 * the others. A share is counted from token_usage_take() to token_usage_give().
 *
 * Refusals are logged by token_usage_log(): at most once a minute for each share, with the name of
 * the token. Thread-safe. Private to this folder.
 */

#include "common/clock.h"
#include "symbolizer/http/router.h"

/* X(id, what a token has too many of) */
/* clang-format off */
#define TOKEN_SHARES(X)                                                                            \
	X(REQUESTS, "requests under way (max_requests_per_token)")                                 \
	X(UPLOADS, "uploads under way")                                                            \
	X(BODIES, "bytes of request bodies in the server's memory")                                \
	X(ANSWERS, "bytes of answers that were not read yet")
/* clang-format on */

enum token_share {
#define X(id, ...) TOKEN_##id,
	TOKEN_SHARES(X)
#undef X
		TOKEN_LANES, /* the first of HTTP_LANE_COUNT: requests that run or wait in a lane */
	TOKEN_SHARE_COUNT = TOKEN_LANES + HTTP_LANE_COUNT,
};

struct token_limits {
	uint64_t max[TOKEN_SHARE_COUNT]; /* 0: no bound */
};

/* "requests in lane 'query'" */
#define TOKEN_SHARE_TEXT_SIZE 80
void token_share_format(unsigned int share, char ret_text[TOKEN_SHARE_TEXT_SIZE]);

struct token_usage;

int token_usage_new(const struct token_limits *limits, struct token_usage **ret_usage);
struct token_usage *token_usage_free(struct token_usage *usage);

/* false: the token @name would have more of @share than it may have, and nothing was taken. */
bool token_usage_take(struct token_usage *usage, const char *name, unsigned int share,
		      uint64_t amount);
void token_usage_give(struct token_usage *usage, const char *name, unsigned int share,
		      uint64_t amount);

/* To be called now and then with the monotonic time. */
void token_usage_log(struct token_usage *usage, uint64_t now_ns);

#include "common/scoped.h"
DEFINE_SCOPED(struct token_usage *, token_usage_free);
