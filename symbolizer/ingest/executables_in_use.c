/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identities and names are kept once for the whole fleet, since most hosts run the same files. An
 * agent has a list of indexes.
 */

#include "symbolizer/ingest/executables_in_use.h"

#include "common/hash_table.h"
#include "common/string_table.h"
#include "common/vec.h"

/* A hundred hosts that each run different builds; about 25 MiB with names. */
#define MAX_EXECUTABLES   (1u << 17)
#define MAX_NAMES_BYTES   (8 * MIB)
#define MAX_AGENTS        20000
#define MAX_USES_OF_AGENT 65536
/* Uses of all agents together: 32 MiB with the sets. */
#define MAX_USES (2u << 20)

struct agent_in_use {
	struct hash128 key; /* tenant and agent */
	uint64_t epoch;
	VEC_DEFINE(, uint32_t) list; /* indexes into executables */
	struct hash_table *set;      /* the same indexes */
	size_t next;
	struct agent_in_use *newer, *older;
};

struct executables_in_use {
	struct hash_table *index_of; /* struct executable_id -> uint32_t */
	VEC_DEFINE(, struct executable_in_use) executables;
	struct string_table *names;
	struct hash_table *agents; /* struct hash128 -> struct agent_in_use * */
	struct agent_in_use *newest, *oldest;
	size_t n_uses;
};

int executables_in_use_new(struct executables_in_use **ret_table)
{
	scoped(executables_in_use_freep) struct executables_in_use *table =
		calloc(1, sizeof(*table));
	int r;

	if (!table)
		return -ENOMEM;
	r = hash_table_new(sizeof(struct executable_id), sizeof(uint32_t), MAX_EXECUTABLES,
			   &table->index_of);
	if (r == 0)
		r = string_table_new(MAX_NAMES_BYTES, &table->names);
	if (r == 0)
		r = hash_table_new(sizeof(struct hash128), sizeof(struct agent_in_use *), 0,
				   &table->agents);
	if (r < 0)
		return r;
	*ret_table = take_ptr(table);
	return 0;
}

static void unlink_agent(struct executables_in_use *table, struct agent_in_use *agent)
{
	*(agent->newer ? &agent->newer->older : &table->newest) = agent->older;
	*(agent->older ? &agent->older->newer : &table->oldest) = agent->newer;
	agent->newer = NULL;
	agent->older = NULL;
}

static void link_newest(struct executables_in_use *table, struct agent_in_use *agent)
{
	agent->older = table->newest;
	*(table->newest ? &table->newest->newer : &table->oldest) = agent;
	table->newest = agent;
}

static void forget_agent(struct executables_in_use *table, struct agent_in_use *agent)
{
	unlink_agent(table, agent);
	(void)hash_table_remove(table->agents, &agent->key);
	table->n_uses -= agent->list.count;
	vec_release(&agent->list);
	(void)hash_table_free(agent->set);
	free(agent);
}

struct executables_in_use *executables_in_use_free(struct executables_in_use *table)
{
	if (!table)
		return NULL;
	while (table->newest)
		forget_agent(table, table->newest);
	(void)hash_table_free(table->agents);
	(void)hash_table_free(table->index_of);
	(void)string_table_free(table->names);
	vec_release(&table->executables);
	free(table);
	return NULL;
}

static int new_agent(struct executables_in_use *table, const struct hash128 *key,
		     struct agent_in_use **ret_agent)
{
	struct agent_in_use *agent;
	void *slot;
	int r;

	while (table->oldest &&
	       (hash_table_count(table->agents) >= MAX_AGENTS || table->n_uses >= MAX_USES))
		forget_agent(table, table->oldest);
	agent = calloc(1, sizeof(*agent));
	if (!agent)
		return -ENOMEM;
	r = hash_table_new(sizeof(uint32_t), 0, MAX_USES_OF_AGENT, &agent->set);
	if (r == 0)
		r = hash_table_insert(table->agents, key, &slot);
	if (r < 0) {
		(void)hash_table_free(agent->set);
		free(agent);
		return r;
	}
	memcpy(slot, &agent, sizeof(agent));
	agent->key = *key;
	link_newest(table, agent);
	*ret_agent = agent;
	return 0;
}

static struct hash128 key_of(const char *tenant, const struct batch *batch)
{
	struct hash128 parts[2] = { hash128_of(tenant, strlen(tenant)), batch->agent_id };

	return hash128_of(parts, sizeof(parts));
}

bool agent_use_is_known(const struct executables_in_use *table, const char *tenant,
			const struct batch *batch)
{
	struct hash128 key = key_of(tenant, batch);
	struct agent_in_use **found = hash_table_find(table->agents, &key);

	return found && (*found)->epoch >= batch->epoch;
}

int agent_use(struct executables_in_use *table, const char *tenant, const struct batch *batch,
	      struct agent_in_use **ret_agent)
{
	struct hash128 key = key_of(tenant, batch);
	struct agent_in_use **found = hash_table_find(table->agents, &key);
	struct agent_in_use *agent;
	int r;

	if (found && (*found)->epoch >= batch->epoch) {
		unlink_agent(table, *found);
		link_newest(table, *found);
		*ret_agent = *found;
		return 0;
	}
	if (found)
		forget_agent(table, *found);
	r = new_agent(table, &key, &agent);
	if (r < 0)
		return r;
	agent->epoch = batch->epoch;
	*ret_agent = agent;
	return 1;
}

/* Returns 1 if found or added, 0 if the table is full. */
static int intern_executable(struct executables_in_use *table, const struct executable_id *id,
			     enum executable_role role, const char *name, uint32_t *ret_index)
{
	struct executable_in_use executable = { .id = *id, .role = role };
	string_id name_id = 0;
	uint32_t *index;
	int r;

	r = hash_table_insert(table->index_of, id, (void **)&index);
	if (r == 0) {
		*ret_index = *index;
		return 1;
	}
	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	/* The name is optional: the server can request the executable without it. */
	(void)string_table_intern(table->names, name, strlen(name), &name_id);
	executable.name = string_table_text(table->names, name_id);
	*index = (uint32_t)table->executables.count;
	*ret_index = *index;
	r = vec_push(&table->executables, executable);
	if (r < 0)
		(void)hash_table_remove(table->index_of, id);
	return r < 0 ? r : 1;
}

int agent_use_add(struct executables_in_use *table, struct agent_in_use *agent,
		  const struct executable_id *id, enum executable_role role, const char *name)
{
	uint32_t index;
	void *unused;
	int r;

	if (table->n_uses >= MAX_USES)
		return 0;
	r = intern_executable(table, id, role, name, &index);
	if (r <= 0)
		return r;
	r = hash_table_insert(agent->set, &index, &unused);
	if (r != 1)
		return r == -ENOSPC ? 0 : r;
	r = vec_push(&agent->list, index);
	if (r < 0) {
		(void)hash_table_remove(agent->set, &index);
		return r;
	}
	table->n_uses++;
	return 0;
}

const struct executable_in_use *agent_use_next(struct executables_in_use *table,
					       struct agent_in_use *agent)
{
	if (agent->list.count == 0)
		return NULL;
	agent->next = (agent->next + 1) % agent->list.count;
	return &table->executables.items[agent->list.items[agent->next]];
}

size_t agent_use_count(const struct agent_in_use *agent)
{
	return agent->list.count;
}
