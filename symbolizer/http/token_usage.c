/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A token is in the table only while an amount is counted for it, so the table has at most as many
 * rows as there are connections.
 */

#include "symbolizer/http/token_usage.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/hash_table.h"
#include "common/log.h"

#define LOG_INTERVAL_NS (60 * NSEC_PER_SEC)

struct token_key {
	char name[HTTP_CALLER_TEXT_SIZE]; /* padded with zeros */
};

struct token_counts {
	uint64_t amount[TOKEN_SHARE_COUNT];
};

/* Refusals that are not logged yet. */
struct refusals {
	unsigned int count;
	struct token_key latest;
	uint64_t next_ns; /* earliest time of the next log line */
};

struct token_usage {
	struct token_limits limits;
	pthread_mutex_t lock; /* protects the fields below */
	struct hash_table *tokens;
	struct refusals refusals[TOKEN_SHARE_COUNT];
};

void token_share_format(unsigned int share, char ret_text[TOKEN_SHARE_TEXT_SIZE])
{
	static const char *const texts[] = {
#define X(id, text) text,
		TOKEN_SHARES(X)
#undef X
	};

	if (share < TOKEN_LANES)
		(void)snprintf(ret_text, TOKEN_SHARE_TEXT_SIZE, "%s", texts[share]);
	else
		(void)snprintf(ret_text, TOKEN_SHARE_TEXT_SIZE, "requests in lane '%s'",
			       http_lane_name((enum http_lane)(share - TOKEN_LANES)));
}

static struct token_key key_of(const char *name)
{
	struct token_key key = {};

	(void)snprintf(key.name, sizeof(key.name), "%s", name);
	return key;
}

int token_usage_new(const struct token_limits *limits, struct token_usage **ret_usage)
{
	scoped(token_usage_freep) struct token_usage *usage = calloc(1, sizeof(*usage));
	int r;

	if (!usage)
		return -ENOMEM;
	usage->limits = *limits;
	(void)pthread_mutex_init(&usage->lock, NULL);
	r = hash_table_new(sizeof(struct token_key), sizeof(struct token_counts), 0,
			   &usage->tokens);
	if (r < 0)
		return r;
	*ret_usage = take_ptr(usage);
	return 0;
}

struct token_usage *token_usage_free(struct token_usage *usage)
{
	if (!usage)
		return NULL;
	(void)hash_table_free(usage->tokens);
	(void)pthread_mutex_destroy(&usage->lock);
	free(usage);
	return NULL;
}

static void remove_if_empty(struct token_usage *usage, const struct token_key *key,
			    const struct token_counts *counts)
{
	for (size_t i = 0; i < ARRAY_SIZE(counts->amount); i++)
		if (counts->amount[i] > 0)
			return;
	(void)hash_table_remove(usage->tokens, key);
}

/* The caller holds the lock. */
static bool take(struct token_usage *usage, const struct token_key *key, unsigned int share,
		 uint64_t amount)
{
	uint64_t limit = usage->limits.max[share];
	struct token_counts *counts;
	void *value;

	if (hash_table_insert(usage->tokens, key, &value) < 0)
		return false;
	counts = value;
	if (limit == 0 || counts->amount[share] + amount <= limit) {
		counts->amount[share] += amount;
		return true;
	}
	remove_if_empty(usage, key, counts);
	usage->refusals[share].count++;
	usage->refusals[share].latest = *key;
	return false;
}

bool token_usage_take(struct token_usage *usage, const char *name, unsigned int share,
		      uint64_t amount)
{
	const struct token_key key = key_of(name);
	bool took;

	(void)pthread_mutex_lock(&usage->lock);
	took = take(usage, &key, share, amount);
	(void)pthread_mutex_unlock(&usage->lock);
	return took;
}

void token_usage_give(struct token_usage *usage, const char *name, unsigned int share,
		      uint64_t amount)
{
	const struct token_key key = key_of(name);
	struct token_counts *counts;

	(void)pthread_mutex_lock(&usage->lock);
	counts = hash_table_find(usage->tokens, &key);
	assert(counts && counts->amount[share] >= amount);
	counts->amount[share] -= amount;
	remove_if_empty(usage, &key, counts);
	(void)pthread_mutex_unlock(&usage->lock);
}

/* Returns and resets the refusals of @share if they are to be logged now. */
static struct refusals take_refusals(struct token_usage *usage, unsigned int share, uint64_t now_ns)
{
	struct refusals *refusals = &usage->refusals[share];
	struct refusals taken = {};

	(void)pthread_mutex_lock(&usage->lock);
	if (refusals->count > 0 && now_ns >= refusals->next_ns) {
		taken = *refusals;
		refusals->count = 0;
		refusals->next_ns = now_ns + LOG_INTERVAL_NS;
	}
	(void)pthread_mutex_unlock(&usage->lock);
	return taken;
}

void token_usage_log(struct token_usage *usage, uint64_t now_ns)
{
	for (unsigned int share = 0; share < TOKEN_SHARE_COUNT; share++) {
		const struct refusals refusals = take_refusals(usage, share, now_ns);
		char text[TOKEN_SHARE_TEXT_SIZE];

		if (refusals.count == 0)
			continue;
		token_share_format(share, text);
		log_warn("refused %u requests of tokens at their limit; the latest had token "
			 "'%s', which may have %" PRIu64 " %s",
			 refusals.count, refusals.latest.name, usage->limits.max[share], text);
	}
}
