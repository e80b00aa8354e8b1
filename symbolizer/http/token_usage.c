/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A token is in the table while it has requests, so that the table is never larger than the number
 * of connections.
 */

#include "symbolizer/http/token_usage.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/hash_table.h"
#include "common/log.h"

#define LOG_INTERVAL_NS (60 * NSEC_PER_SEC)

struct token_key {
	char name[HTTP_CALLER_TEXT_SIZE]; /* zero behind its end */
};

struct token_counts {
	unsigned int requests;
	unsigned int in_lane[HTTP_LANE_COUNT];
};

struct token_usage {
	struct token_limits limits;
	const struct clock *clock;
	pthread_mutex_t lock; /* of all below */
	struct hash_table *tokens;
	unsigned int n_unlogged;
	uint64_t next_log_ns;
};

static struct token_key key_of(const char *name)
{
	struct token_key key = {};

	(void)snprintf(key.name, sizeof(key.name), "%s", name);
	return key;
}

int token_usage_new(const struct token_limits *limits, const struct clock *clock,
		    struct token_usage **ret_usage)
{
	scoped(token_usage_freep) struct token_usage *usage = calloc(1, sizeof(*usage));
	int r;

	if (!usage)
		return -ENOMEM;
	usage->limits = *limits;
	usage->clock = clock;
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

/* Under the lock. */
static void log_refusal(struct token_usage *usage, const char *name, const char *limit)
{
	uint64_t now_ns = clock_monotonic_ns(usage->clock);

	usage->n_unlogged++;
	if (now_ns < usage->next_log_ns)
		return;
	log_warn("refused %u requests because their token had too many already; the latest was of "
		 "token '%s', "
		 "which reached %s",
		 usage->n_unlogged, name, limit);
	usage->n_unlogged = 0;
	usage->next_log_ns = now_ns + LOG_INTERVAL_NS;
}

bool token_usage_enter(struct token_usage *usage, const char *name)
{
	unsigned int limit = usage->limits.max_requests;
	struct token_key key = key_of(name);
	struct token_counts *counts;
	bool enters = false;
	void *value;

	(void)pthread_mutex_lock(&usage->lock);
	if (hash_table_insert(usage->tokens, &key, &value) >= 0) {
		counts = value;
		enters = limit == 0 || counts->requests < limit;
		if (enters)
			counts->requests++;
		else
			log_refusal(usage, name, "max_requests_per_token");
	}
	(void)pthread_mutex_unlock(&usage->lock);
	return enters;
}

void token_usage_leave(struct token_usage *usage, const char *name)
{
	struct token_key key = key_of(name);
	struct token_counts *counts;

	(void)pthread_mutex_lock(&usage->lock);
	counts = hash_table_find(usage->tokens, &key);
	assert(counts && counts->requests > 0);
	if (--counts->requests == 0)
		(void)hash_table_remove(usage->tokens, &key);
	(void)pthread_mutex_unlock(&usage->lock);
}

bool token_usage_enter_lane(struct token_usage *usage, const char *name, enum http_lane lane)
{
	unsigned int limit = usage->limits.max_in_lane[lane];
	struct token_key key = key_of(name);
	struct token_counts *counts;
	bool enters;

	(void)pthread_mutex_lock(&usage->lock);
	counts = hash_table_find(usage->tokens, &key);
	assert(counts && counts->requests > counts->in_lane[lane]);
	enters = limit == 0 || counts->in_lane[lane] < limit;
	if (enters)
		counts->in_lane[lane]++;
	else
		log_refusal(usage, name, "its share of those that wait");
	(void)pthread_mutex_unlock(&usage->lock);
	return enters;
}

void token_usage_leave_lane(struct token_usage *usage, const char *name, enum http_lane lane)
{
	struct token_key key = key_of(name);
	struct token_counts *counts;

	(void)pthread_mutex_lock(&usage->lock);
	counts = hash_table_find(usage->tokens, &key);
	assert(counts && counts->in_lane[lane] > 0);
	counts->in_lane[lane]--;
	(void)pthread_mutex_unlock(&usage->lock);
}
