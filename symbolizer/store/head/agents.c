/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/head/agents.h"

/* Agents of two tenants may have the same ID, by chance or on purpose. */
struct agent_key {
	struct hash128 tenant; /* of the name */
	struct hash128 agent;
	uint64_t epoch;
};

struct agents {
	struct agents_options options;
	struct hash_table *table; /* struct agent_key -> struct agent */
	size_t bytes;             /* of all numbers */
	uint64_t n_batches, n_agents;
	bool has_superseded;
	uint64_t random;
};

int agents_new(const struct agents_options *options, struct agents **ret_agents)
{
	scoped(agents_freep) struct agents *agents = calloc(1, sizeof(*agents));

	if (!agents)
		return -ENOMEM;
	agents->options = *options;
	agents->random = options->seed;
	if (hash_table_new(sizeof(struct agent_key), sizeof(struct agent), 0, &agents->table) < 0)
		return -ENOMEM;
	*ret_agents = take_ptr(agents);
	return 0;
}

struct agents *agents_free(struct agents *agents)
{
	struct agent *agent;
	size_t cursor = 0;

	if (!agents)
		return NULL;
	while (agents->table && hash_table_next(agents->table, &cursor, NULL, (void **)&agent))
		(void)numbers_free(agent->numbers);
	(void)hash_table_free(agents->table);
	free(agents);
	return NULL;
}

static struct agent_key key_of(const char *tenant, const struct batch *batch)
{
	return (struct agent_key){ .tenant = hash128_of(tenant, strlen(tenant)),
				   .agent = batch->agent_id,
				   .epoch = batch->epoch };
}

static void drop(struct agents *agents, const struct agent_key *key)
{
	struct agent *agent = hash_table_find(agents->table, key);

	if (!agent)
		return;
	agents->bytes -= agent->bytes;
	(void)numbers_free(agent->numbers);
	(void)hash_table_remove(agents->table, key);
}

static void drop_oldest(struct agents *agents)
{
	const struct agent_key *key;
	struct agent_key oldest = {};
	struct agent *agent;
	uint64_t used = UINT64_MAX;
	size_t cursor = 0;

	while (hash_table_next(agents->table, &cursor, (const void **)&key, (void **)&agent)) {
		if (agent->used >= used)
			continue;
		used = agent->used;
		oldest = *key;
	}
	drop(agents, &oldest);
}

static void set_bytes(struct agents *agents, struct agent *agent)
{
	agents->bytes -= agent->bytes;
	agent->bytes = numbers_bytes(agent->numbers);
	agents->bytes += agent->bytes;
}

/* Sets the numbers of an epoch, which it takes also on failure. */
static int set_numbers_take(struct agents *agents, const struct agent_key *key,
			    struct numbers *numbers, struct agent **ret_agent)
{
	struct agent *agent = hash_table_find(agents->table, key);
	int r = 0;

	if (!agent) {
		if (hash_table_count(agents->table) >= agents->options.max_agents)
			drop_oldest(agents);
		r = hash_table_insert(agents->table, key, (void **)&agent);
	}
	if (r < 0) {
		(void)numbers_free(numbers);
		return r;
	}
	(void)numbers_free(agent->numbers);
	agent->numbers = numbers;
	agent->order = ++agents->n_agents;
	agent->used = ++agents->n_batches;
	set_bytes(agents, agent);
	*ret_agent = agent;
	return 0;
}

static int find_or_add(struct agents *agents, const struct agent_key *key, struct agent **ret_agent)
{
	struct agent *agent = hash_table_find(agents->table, key);
	struct numbers *numbers;
	int r;

	if (agent) {
		agent->used = ++agents->n_batches;
		*ret_agent = agent;
		return 0;
	}
	r = numbers_new(agents->options.max_numbers_bytes, &numbers);
	return r < 0 ? r : set_numbers_take(agents, key, numbers, ret_agent);
}

int agents_try_learn(struct agents *agents, const char *tenant, const struct batch *batch,
		     struct arena *arena, struct store_missing *ret_missing)
{
	scoped(numbers_missing_release) struct numbers_missing missing = {};
	const struct agent_key key = key_of(tenant, batch);
	uint64_t generation;
	struct agent *agent;
	int r;

	r = find_or_add(agents, &key, &agent);
	if (r < 0)
		return r;
	generation = agent->numbers->generation;
	r = numbers_learn(agent->numbers, batch, &missing);
	set_bytes(agents, agent);
	if (agent->numbers->generation != generation)
		agent->order = ++agents->n_agents;
	if (r == 0)
		r = numbers_check_rows(agent->numbers, batch, &missing);
	if (r < 0)
		return r;
	return numbers_missing_any(&missing)
		       ? numbers_missing_return(&missing, batch, arena, ret_missing)
		       : STORE_STORED;
}

int agents_learn(struct agents *agents, const char *tenant, const struct batch *batch,
		 struct arena *arena, struct store_missing *ret_missing)
{
	int r = agents_try_learn(agents, tenant, batch, arena, ret_missing);

	if (r != -ENOSPC)
		return r;
	agents_forget(agents, tenant, batch);
	return agents_try_learn(agents, tenant, batch, arena, ret_missing);
}

const struct agent *agents_find(const struct agents *agents, const char *tenant,
				const struct batch *batch)
{
	const struct agent_key key = key_of(tenant, batch);

	return hash_table_find(agents->table, &key);
}

int agents_set_numbers_take(struct agents *agents, const char *tenant, const struct batch *batch,
			    struct numbers *numbers)
{
	const struct agent_key key = key_of(tenant, batch);
	struct agent *agent;

	return set_numbers_take(agents, &key, numbers, &agent);
}

void agents_forget(struct agents *agents, const char *tenant, const struct batch *batch)
{
	const struct agent_key key = key_of(tenant, batch);

	drop(agents, &key);
}

static bool is_older_epoch(const struct agent_key *key, const struct agent_key *than)
{
	return key->epoch < than->epoch && hash128_equal(&key->agent, &than->agent) &&
	       hash128_equal(&key->tenant, &than->tenant);
}

void agents_note_stored(struct agents *agents, const char *tenant, const struct batch *batch)
{
	const struct agent_key stored = key_of(tenant, batch);
	struct agent *agent = hash_table_find(agents->table, &stored);
	const struct agent_key *key;
	size_t cursor = 0;

	if (!agent || agent->is_stored)
		return;
	agent->is_stored = true;
	while (hash_table_next(agents->table, &cursor, (const void **)&key, (void **)&agent)) {
		if (!is_older_epoch(key, &stored))
			continue;
		agent->is_superseded = true;
		agents->has_superseded = true;
	}
}

static void drop_superseded(struct agents *agents)
{
	struct agent *agent;
	size_t cursor = 0;

	while (hash_table_next(agents->table, &cursor, NULL, (void **)&agent)) {
		if (!agent->is_superseded)
			continue;
		agents->bytes -= agent->bytes;
		(void)numbers_free(agent->numbers);
		hash_table_remove_at_cursor(agents->table, &cursor);
	}
	agents->has_superseded = false;
}

/* splitmix64 */
static uint64_t next_random(struct agents *agents)
{
	uint64_t value = agents->random += UINT64_C(0x9e3779b97f4a7c15);

	value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
	return value ^ (value >> 31);
}

/* An epoch, and when it was used. */
struct candidate {
	uint64_t used;
	struct agent_key key;
};

static int compare_used(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;

	return (left->used > right->used) - (left->used < right->used);
}

/* All epochs, the one used least recently first. NULL: no memory. */
static struct candidate *list_candidates(const struct agents *agents)
{
	struct candidate *candidates = calloc(hash_table_count(agents->table), sizeof(*candidates));
	const struct agent_key *key;
	struct agent *agent;
	size_t cursor = 0, count = 0;

	if (!candidates)
		return NULL;
	while (hash_table_next(agents->table, &cursor, (const void **)&key, (void **)&agent))
		candidates[count++] = (struct candidate){ .used = agent->used, .key = *key };
	qsort(candidates, count, sizeof(*candidates), compare_used);
	return candidates;
}

/* Drops one epoch at least, and at most the half that was used least recently. */
static void drop_of_older_half(struct agents *agents, size_t max_bytes)
{
	const size_t n_older = MAX(hash_table_count(agents->table) / 2, (size_t)1);
	scoped_free struct candidate *candidates = list_candidates(agents);

	if (!candidates) {
		drop_oldest(agents);
		return;
	}
	for (size_t i = 0; i < n_older && agents->bytes > max_bytes; i++) {
		const size_t chosen = i + (size_t)(next_random(agents) % (n_older - i));

		drop(agents, &candidates[chosen].key);
		candidates[chosen] = candidates[i];
	}
}

void agents_trim(struct agents *agents)
{
	const size_t max_bytes = agents->options.max_all_numbers_bytes;

	if (agents->has_superseded)
		drop_superseded(agents);
	if (max_bytes == 0 || agents->bytes <= max_bytes)
		return;
	while (hash_table_count(agents->table) > 0 && agents->bytes > max_bytes - max_bytes / 16)
		drop_of_older_half(agents, max_bytes - max_bytes / 16);
}

size_t agents_bytes(const struct agents *agents)
{
	return agents->bytes;
}
