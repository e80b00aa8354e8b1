/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Counts the server's resources that each token uses, and enforces a limit per token, so that the
 * holder of one token cannot use up the resources of the others. An amount is counted from
 * token_usage_take() to token_usage_give().
 *
 * token_usage_log() logs refusals at most once a minute for each share, with the name of the token.
 * Thread-safe. Private to this folder.
 */

#include "common/clock.h"
#include "symbolizer/http/router.h"

/* Resources with a limit per token: X(id, description of the amount). */
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

/* Writes the description of a share, such as "requests in lane 'query'". */
#define TOKEN_SHARE_TEXT_SIZE 80
void token_share_format(unsigned int share, char ret_text[TOKEN_SHARE_TEXT_SIZE]);

struct token_usage;

int token_usage_new(const struct token_limits *limits, struct token_usage **ret_usage);
struct token_usage *token_usage_free(struct token_usage *usage);

/* Counts @amount of @share for the token @name. Returns false, and counts nothing, if that would
 * exceed the limit of the token. */
bool token_usage_take(struct token_usage *usage, const char *name, unsigned int share,
		      uint64_t amount);

/* Returns an amount that token_usage_take() counted. */
void token_usage_give(struct token_usage *usage, const char *name, unsigned int share,
		      uint64_t amount);

/* Logs refusals if a line is due. To be called at least every few seconds with the monotonic
 * time. */
void token_usage_log(struct token_usage *usage, uint64_t now_ns);

#include "common/scoped.h"
DEFINE_SCOPED(struct token_usage *, token_usage_free);
