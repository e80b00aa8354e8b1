/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries are in a list, the most recently used first, and in a hash table by a hash of (tenant,
 * agent, epoch). Two limits bound the memory: numbers per agent (at the limit, the agent's table is
 * cleared and fills again from hearth.db) and numbers of all agents (at the limit, the least
 * recently used agents are evicted).
 */

#include "symbolizer/store/sqlite/agent_cache.h"

#define AGENT_MAX_NUMBERS (1u << 18)

/* Maximum number of agents: an agent takes memory even if it has few numbers. */
#define CACHE_MAX_AGENTS 20000

struct number_key {
	uint32_t kind;
	uint32_t number;
};

struct agent_entry {
	struct agent agent;
	struct hash128 key;
	struct hash_table *numbers; /* struct number_key -> uint64_t id */
	struct agent_entry *newer, *older;
};

struct agent_cache {
	struct hash_table *by_key; /* struct hash128 -> struct agent_entry * */
	struct agent_entry *newest, *oldest;
	size_t n_numbers, max_numbers;
	uint8_t secret[16]; /* part of the key: a client cannot forge a collision of two agents */
};

int agent_cache_new(size_t max_numbers, struct agent_cache **ret_cache)
{
	scoped(agent_cache_freep) struct agent_cache *cache = calloc(1, sizeof(*cache));
	int r;

	if (!cache)
		return -ENOMEM;
	cache->max_numbers = max_numbers;
	sqlite3_randomness(sizeof(cache->secret), cache->secret);
	r = hash_table_new(sizeof(struct hash128), sizeof(struct agent_entry *), 0, &cache->by_key);
	if (r < 0)
		return r;
	*ret_cache = take_ptr(cache);
	return 0;
}

static void unlink_entry(struct agent_cache *cache, struct agent_entry *entry)
{
	*(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
	entry->newer = NULL;
	entry->older = NULL;
}

static void link_newest(struct agent_cache *cache, struct agent_entry *entry)
{
	entry->older = cache->newest;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
	cache->newest = entry;
}

static void remove_entry(struct agent_cache *cache, struct agent_entry *entry)
{
	unlink_entry(cache, entry);
	(void)hash_table_remove(cache->by_key, &entry->key);
	cache->n_numbers -= hash_table_count(entry->numbers);
	(void)hash_table_free(entry->numbers);
	free(entry);
}

struct agent_cache *agent_cache_free(struct agent_cache *cache)
{
	if (!cache)
		return NULL;
	while (cache->newest)
		remove_entry(cache, cache->newest);
	(void)hash_table_free(cache->by_key);
	free(cache);
	return NULL;
}

static struct hash128 key_of(const struct agent_cache *cache, const char *tenant,
			     const struct batch *batch)
{
	struct {
		uint8_t secret[16];
		struct hash128 tenant;
		struct hash128 agent;
		uint64_t epoch;
	} parts = {
		.tenant = hash128_of(tenant, strlen(tenant)),
		.agent = batch->agent_id,
		.epoch = batch->epoch,
	};

	memcpy(parts.secret, cache->secret, sizeof(parts.secret));
	return hash128_of(&parts, sizeof(parts));
}

static int load_agent(struct sqlite_db *hearth, const char *tenant, const struct batch *batch,
		      struct agent *agent)
{
	scoped(sqlite_resetp) sqlite3_stmt *epoch = NULL;
	scoped(sqlite_resetp) sqlite3_stmt *host = NULL;
	struct bytes_view attributes;
	int r;

	r = sqlite_query(hearth, SQL_EPOCH_FIND, &epoch, SQL_TEXT(tenant),
			 SQL_BLOB(batch->agent_id.bytes, sizeof(batch->agent_id.bytes)),
			 SQL_INT(batch->epoch));
	if (r > 0) {
		agent->epoch_id = sqlite3_column_int64(epoch, 0);
		agent->epoch_saved_ns = (uint64_t)sqlite3_column_int64(epoch, 1);
	}
	if (r >= 0)
		r = sqlite_query(hearth, SQL_HOST_FIND, &host, SQL_TEXT(tenant),
				 SQL_BLOB(batch->agent_id.bytes, sizeof(batch->agent_id.bytes)));
	if (r > 0) {
		agent->host = (uint32_t)sqlite3_column_int64(host, 0);
		agent->host_saved_ns = (uint64_t)sqlite3_column_int64(host, 1);
		attributes = sqlite_blob(host, 2);
		agent->host_attributes = hash128_of(attributes.data, attributes.size);
	}
	return r < 0 ? r : 0;
}

static int add_entry(struct agent_cache *cache, struct hash128 key, struct agent_entry **ret_entry)
{
	struct agent_entry *entry = calloc(1, sizeof(*entry));
	void *slot;
	int r;

	if (!entry)
		return -ENOMEM;
	r = hash_table_new(sizeof(struct number_key), sizeof(uint64_t), AGENT_MAX_NUMBERS,
			   &entry->numbers);
	if (r == 0)
		r = hash_table_insert(cache->by_key, &key, &slot);
	if (r < 0) {
		(void)hash_table_free(entry->numbers);
		free(entry);
		return r;
	}
	memcpy(slot, &entry, sizeof(entry));
	entry->key = key;
	entry->agent.entry = entry;
	link_newest(cache, entry);
	*ret_entry = entry;
	return 0;
}

/* The entry in use is never evicted: AGENT_MAX_NUMBERS bounds it. */
static void keep_within_numbers(struct agent_cache *cache, const struct agent_entry *in_use)
{
	while (cache->n_numbers > cache->max_numbers && cache->oldest && cache->oldest != in_use)
		remove_entry(cache, cache->oldest);
}

static void make_room_for_agent(struct agent_cache *cache)
{
	while (cache->oldest && hash_table_count(cache->by_key) >= CACHE_MAX_AGENTS)
		remove_entry(cache, cache->oldest);
}

int agent_cache_find(struct agent_cache *cache, struct sqlite_db *hearth, const char *tenant,
		     const struct batch *batch, struct agent **ret_agent)
{
	struct hash128 key = key_of(cache, tenant, batch);
	struct agent_entry **found = hash_table_find(cache->by_key, &key);
	struct agent_entry *entry;
	int r;

	if (found) {
		entry = *found;
		unlink_entry(cache, entry);
		link_newest(cache, entry);
	} else {
		make_room_for_agent(cache);
		r = add_entry(cache, key, &entry);
		if (r < 0)
			return r;
		r = load_agent(hearth, tenant, batch, &entry->agent);
		if (r < 0) {
			remove_entry(cache, entry);
			return r;
		}
	}
	keep_within_numbers(cache, entry);
	*ret_agent = &entry->agent;
	return 0;
}

int agent_number(struct agent_cache *cache, struct sqlite_db *hearth, struct agent *agent,
		 enum number_kind kind, uint32_t number, uint64_t *ret_id)
{
	struct number_key key = { .kind = kind, .number = number };
	const uint64_t *cached = hash_table_find(agent->entry->numbers, &key);
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	if (cached) {
		*ret_id = *cached;
		return 1;
	}
	if (agent->epoch_id == 0)
		return 0;
	r = sqlite_query(hearth, SQL_NUMBER_FIND, &row, SQL_INT(agent->epoch_id), SQL_INT(kind),
			 SQL_INT(number));
	if (r <= 0)
		return r;
	*ret_id = (uint64_t)sqlite3_column_int64(row, 0);
	agent_remember(cache, agent, kind, number, *ret_id);
	return 1;
}

void agent_remember(struct agent_cache *cache, struct agent *agent, enum number_kind kind,
		    uint32_t number, uint64_t id)
{
	struct hash_table *numbers = agent->entry->numbers;
	struct number_key key = { .kind = kind, .number = number };
	void *value;
	int r;

	r = hash_table_insert(numbers, &key, &value);
	if (r == -ENOSPC) {
		cache->n_numbers -= hash_table_count(numbers);
		hash_table_clear(numbers);
		r = hash_table_insert(numbers, &key, &value);
	}
	if (r < 0)
		return;
	cache->n_numbers += r == 1;
	memcpy(value, &id, sizeof(id));
	keep_within_numbers(cache, agent->entry);
}

size_t agent_cache_count(const struct agent_cache *cache)
{
	return cache->n_numbers;
}

void agent_cache_forget_agent(struct agent_cache *cache, const char *tenant,
			      const struct batch *batch)
{
	struct hash128 key = key_of(cache, tenant, batch);
	struct agent_entry **found = hash_table_find(cache->by_key, &key);

	if (found)
		remove_entry(cache, *found);
}

void agent_cache_forget(struct agent_cache *cache, int64_t epoch_id)
{
	struct agent_entry *entry = cache->newest;

	while (entry) {
		struct agent_entry *older = entry->older;

		if (entry->agent.epoch_id == epoch_id)
			remove_entry(cache, entry);
		entry = older;
	}
}
