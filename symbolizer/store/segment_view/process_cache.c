/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/segment_view/process_cache.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/hash_table.h"
#include "common/scoped.h"

/* A list is old when it was not used in this many look-ups for each list in the cache. */
#define OLD_ROUNDS 4

/* Of a list: its slots in the hash table. */
#define BYTES_PER_LIST 128

struct cached_list {
	struct process_list *list;
	uint64_t used_at; /* look-up */
};

struct process_cache {
	pthread_mutex_t lock; /* of the fields below */
	size_t max_bytes, bytes;
	struct hash_table *lists; /* struct segment_part_key -> struct cached_list */
	uint64_t n_lookups, swept_at;
};

static size_t bytes_of(const struct process_list *list)
{
	return list->bytes + BYTES_PER_LIST;
}

int process_cache_new(size_t max_bytes, struct process_cache **ret_cache)
{
	struct process_cache *cache = calloc(1, sizeof(*cache));
	int r;

	if (!cache)
		return -ENOMEM;
	cache->max_bytes = max_bytes;
	r = hash_table_new(sizeof(struct segment_part_key), sizeof(struct cached_list), 0,
			   &cache->lists);
	if (r < 0) {
		free(cache);
		return r;
	}
	(void)pthread_mutex_init(&cache->lock, NULL);
	*ret_cache = cache;
	return 0;
}

/* Removes the lists that were last used before @used_before. */
static void remove_lists(struct process_cache *cache, uint64_t used_before)
{
	struct cached_list *cached;
	size_t cursor = 0;

	while (hash_table_next(cache->lists, &cursor, NULL, (void **)&cached)) {
		if (cached->used_at >= used_before)
			continue;
		cache->bytes -= bytes_of(cached->list);
		(void)process_list_free(cached->list);
		hash_table_remove_at_cursor(cache->lists, &cursor);
	}
}

struct process_cache *process_cache_free(struct process_cache *cache)
{
	if (!cache)
		return NULL;
	remove_lists(cache, UINT64_MAX);
	(void)hash_table_free(cache->lists);
	(void)pthread_mutex_destroy(&cache->lock);
	free(cache);
	return NULL;
}

struct process_list *process_cache_find(struct process_cache *cache,
					const struct segment_part_key *key)
{
	struct process_list *list = NULL;
	struct cached_list *cached;

	(void)pthread_mutex_lock(&cache->lock);
	cache->n_lookups++;
	cached = hash_table_find(cache->lists, key);
	if (cached) {
		cached->used_at = cache->n_lookups;
		list = process_list_ref(cached->list);
	}
	(void)pthread_mutex_unlock(&cache->lock);
	return list;
}

/* A sweep visits all lists, so there is one in as many look-ups at most. */
static void make_room(struct process_cache *cache)
{
	const uint64_t n_lists = hash_table_count(cache->lists);

	if (cache->n_lookups - cache->swept_at < n_lists)
		return;
	cache->swept_at = cache->n_lookups;
	if (cache->n_lookups > OLD_ROUNDS * n_lists)
		remove_lists(cache, cache->n_lookups - OLD_ROUNDS * n_lists);
}

void process_cache_add(struct process_cache *cache, const struct segment_part_key *key,
		       struct process_list *list)
{
	struct cached_list *cached;

	(void)pthread_mutex_lock(&cache->lock);
	if (cache->bytes + bytes_of(list) > cache->max_bytes)
		make_room(cache);
	/* Without memory, or if another query has just added the list, nothing is added. */
	if (cache->bytes + bytes_of(list) <= cache->max_bytes &&
	    hash_table_insert(cache->lists, key, (void **)&cached) > 0) {
		*cached = (struct cached_list){ .list = process_list_ref(list),
						.used_at = cache->n_lookups };
		cache->bytes += bytes_of(list);
	}
	(void)pthread_mutex_unlock(&cache->lock);
}

size_t process_cache_bytes(struct process_cache *cache)
{
	size_t bytes;

	(void)pthread_mutex_lock(&cache->lock);
	bytes = cache->bytes;
	(void)pthread_mutex_unlock(&cache->lock);
	return bytes;
}
