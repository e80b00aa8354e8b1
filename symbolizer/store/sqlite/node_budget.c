/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/sqlite/node_budget.h"

#include <string.h>

#include "common/hash_table.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)

/* Time in which one node comes back. */
#define NODE_NS (HOUR_NS / NODE_BUDGET_PER_HOUR)

/* An agent without an account has spent nothing. */
struct account {
	uint64_t full_at_ns; /* monotonic: when the agent has all its nodes again */
};

struct node_budget {
	struct hash_table *accounts; /* struct hash128 -> struct account */
	struct account shared;       /* of agents that do not fit into the table */
};

int node_budget_new(size_t max_agents, struct node_budget **ret_budget)
{
	scoped(node_budget_freep) struct node_budget *budget = calloc(1, sizeof(*budget));
	int r;

	if (!budget)
		return -ENOMEM;
	r = hash_table_new(sizeof(struct hash128), sizeof(struct account), max_agents,
			   &budget->accounts);
	if (r < 0)
		return r;
	*ret_budget = take_ptr(budget);
	return 0;
}

struct node_budget *node_budget_free(struct node_budget *budget)
{
	if (!budget)
		return NULL;
	(void)hash_table_free(budget->accounts);
	free(budget);
	return NULL;
}

static uint32_t left_of(const struct account *account, uint64_t now_ns)
{
	uint64_t spent;

	if (account->full_at_ns <= now_ns)
		return NODE_BUDGET_PER_HOUR;
	spent = (account->full_at_ns - now_ns + NODE_NS - 1) / NODE_NS;
	return spent < NODE_BUDGET_PER_HOUR ? NODE_BUDGET_PER_HOUR - (uint32_t)spent : 0;
}

static void drop_full_accounts(struct node_budget *budget, uint64_t now_ns)
{
	size_t cursor = 0;
	void *value;

	while (hash_table_next(budget->accounts, &cursor, NULL, &value)) {
		const struct account *account = value;

		if (account->full_at_ns <= now_ns)
			hash_table_remove_at_cursor(budget->accounts, &cursor);
	}
}

uint32_t node_budget_left(struct node_budget *budget, const struct hash128 *agent, uint64_t now_ns)
{
	const struct account *account = hash_table_find(budget->accounts, agent);

	if (account)
		return left_of(account, now_ns);
	return left_of(&budget->shared, now_ns);
}

void node_budget_spend(struct node_budget *budget, const struct hash128 *agent, uint32_t n_nodes,
		       uint64_t now_ns)
{
	struct account *account;
	void *value;
	int r;

	if (n_nodes == 0)
		return;
	r = hash_table_insert(budget->accounts, agent, &value);
	if (r == -ENOSPC) {
		drop_full_accounts(budget, now_ns);
		r = hash_table_insert(budget->accounts, agent, &value);
	}
	account = r < 0 ? &budget->shared : value;
	account->full_at_ns = MAX(account->full_at_ns, now_ns) + (uint64_t)n_nodes * NODE_NS;
}

struct hash128 node_budget_key(const char *tenant, const struct hash128 *agent_id)
{
	const struct hash128 parts[] = { hash128_of(tenant, strlen(tenant)), *agent_id };

	return hash128_of(parts, sizeof(parts));
}
