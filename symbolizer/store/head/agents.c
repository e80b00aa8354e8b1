/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/head/agents.h"

struct agent_key {
	struct hash128 agent;
	uint64_t epoch;
	uint64_t tenant; /* hash of the name */
};

struct agents {
	size_t max_numbers_bytes, max_agents;
	struct hash_table *table; /* struct agent_key -> struct agent */
	uint64_t n_batches, n_agents;
};

int agents_new(size_t max_numbers_bytes, size_t max_agents, struct agents **ret_agents)
{
	scoped(agents_freep) struct agents *agents = calloc(1, sizeof(*agents));

	if (!agents)
		return -ENOMEM;
	agents->max_numbers_bytes = max_numbers_bytes;
	agents->max_agents = max_agents;
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

/* Drops the definitions of the epoch that was used least recently. */
static void drop_agent(struct agents *agents)
{
	const struct agent_key *key;
	struct agent_key oldest = {};
	struct agent *agent, *found = NULL;
	uint64_t used = UINT64_MAX;
	size_t cursor = 0;

	while (hash_table_next(agents->table, &cursor, (const void **)&key, (void **)&agent)) {
		if (agent->used >= used)
			continue;
		used = agent->used;
		oldest = *key;
	}
	found = hash_table_find(agents->table, &oldest);
	if (found)
		(void)numbers_free(found->numbers);
	(void)hash_table_remove(agents->table, &oldest);
}

static int find_agent(struct agents *agents, const char *tenant, const struct batch *batch,
		      struct agent **ret_agent)
{
	const struct agent_key key = { .agent = batch->agent_id,
				       .epoch = batch->epoch,
				       .tenant = hash64_of(tenant, strlen(tenant)) };
	struct agent *agent = hash_table_find(agents->table, &key);
	struct numbers *numbers;
	int r;

	if (!agent) {
		if (hash_table_count(agents->table) >= agents->max_agents)
			drop_agent(agents);
		r = numbers_new(agents->max_numbers_bytes, &numbers);
		if (r < 0)
			return r;
		r = hash_table_insert(agents->table, &key, (void **)&agent);
		if (r < 0) {
			(void)numbers_free(numbers);
			return r;
		}
		*agent = (struct agent){ .numbers = numbers, .order = ++agents->n_agents };
	}
	agent->used = ++agents->n_batches;
	*ret_agent = agent;
	return 0;
}

/* Learns definitions and checks the numbers of all rows. STORE_STORED: all are known. */
static int prepare(struct agents *agents, struct agent *agent, const struct batch *batch,
		   struct arena *arena, struct store_missing *ret_missing)
{
	scoped(numbers_missing_release) struct numbers_missing missing = {};
	struct numbers *empty;
	int r;

	r = numbers_learn(agent->numbers, batch, &missing);
	if (r == -ENOSPC) {
		/* The agent defines again those numbers that it still uses. */
		r = numbers_new(agents->max_numbers_bytes, &empty);
		if (r < 0)
			return r;
		(void)numbers_free(agent->numbers);
		agent->numbers = empty;
		agent->order = ++agents->n_agents;
		r = numbers_learn(agent->numbers, batch, &missing);
	}
	if (r == 0)
		r = numbers_check_rows(agent->numbers, batch, &missing);
	if (r < 0)
		return r;
	return numbers_missing_any(&missing) ? numbers_missing_return(&missing, arena, ret_missing)
					     : STORE_STORED;
}

int agents_learn(struct agents *agents, const char *tenant, const struct batch *batch,
		 struct arena *arena, struct store_missing *ret_missing,
		 const struct agent **ret_agent)
{
	struct agent *agent;
	int r;

	r = find_agent(agents, tenant, batch, &agent);
	if (r == 0)
		r = prepare(agents, agent, batch, arena, ret_missing);
	if (r == STORE_STORED)
		*ret_agent = agent;
	return r;
}
