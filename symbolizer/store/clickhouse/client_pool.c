/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/clickhouse/client_pool.h"

#include <pthread.h>
#include <stdlib.h>

/* Open connections without a query. A client above this number is freed when it is returned. */
#define MAX_IDLE 16

struct client_pool {
	/* Copies; NULL where the options have none. */
	char *url, *database, *user, *password, *ca_file, *cluster;
	pthread_mutex_t lock; /* of the fields below */
	struct clickhouse_client *idle[MAX_IDLE];
	size_t n_idle;
};

static int copy(const char *text, char **ret_copy)
{
	if (!text)
		return 0;
	*ret_copy = strdup(text);
	return *ret_copy ? 0 : -ENOMEM;
}

int client_pool_new(const struct clickhouse_options *options, struct client_pool **ret_pool)
{
	scoped(client_pool_freep) struct client_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return -ENOMEM;
	(void)pthread_mutex_init(&pool->lock, NULL);
	if (copy(options->url, &pool->url) < 0 || copy(options->database, &pool->database) < 0 ||
	    copy(options->user, &pool->user) < 0 || copy(options->password, &pool->password) < 0 ||
	    copy(options->ca_file, &pool->ca_file) < 0 ||
	    copy(options->cluster, &pool->cluster) < 0)
		return -ENOMEM;
	*ret_pool = take_ptr(pool);
	return 0;
}

struct client_pool *client_pool_free(struct client_pool *pool)
{
	if (!pool)
		return NULL;
	for (size_t i = 0; i < pool->n_idle; i++)
		(void)clickhouse_client_free(pool->idle[i]);
	free(pool->url);
	free(pool->database);
	free(pool->user);
	free(pool->password);
	free(pool->ca_file);
	free(pool->cluster);
	(void)pthread_mutex_destroy(&pool->lock);
	free(pool);
	return NULL;
}

int client_pool_borrow(struct client_pool *pool, struct clickhouse_client **ret_client)
{
	const struct clickhouse_options options = {
		.url = pool->url,
		.database = pool->database,
		.user = pool->user,
		.password = pool->password,
		.ca_file = pool->ca_file,
		.cluster = pool->cluster,
	};
	struct clickhouse_client *client = NULL;

	(void)pthread_mutex_lock(&pool->lock);
	if (pool->n_idle > 0)
		client = pool->idle[--pool->n_idle];
	(void)pthread_mutex_unlock(&pool->lock);
	if (!client)
		return clickhouse_client_new(&options, ret_client);
	*ret_client = client;
	return 0;
}

void client_pool_return_take(struct client_pool *pool, struct clickhouse_client *client)
{
	(void)pthread_mutex_lock(&pool->lock);
	if (pool->n_idle < MAX_IDLE) {
		pool->idle[pool->n_idle++] = client;
		client = NULL;
	}
	(void)pthread_mutex_unlock(&pool->lock);
	(void)clickhouse_client_free(client);
}
