/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How many nodes an agent may still add to the tree of stacks. Nodes are kept as long as a sample
 * may refer to them, and adding one costs microseconds under the writer's lock: an agent that sends
 * a new stack with each sample would fill the disk and delay the batches of all others.
 *
 * Each agent has NODE_BUDGET_PER_HOUR nodes, which come back evenly within an hour. A build host,
 * on which every process is new, adds less than a million an hour; other hosts add some thousand.
 * Used by the writer only.
 */

#include "common/hash.h"
#include "common/scoped.h"

#define NODE_BUDGET_PER_HOUR (4u << 20)

/* Agents with a budget of their own: some megabytes of memory. */
#define NODE_BUDGET_MAX_AGENTS 65536

struct node_budget;

/* Agents beyond @max_agents share one budget, until one of the others has all its nodes again. */
int node_budget_new(size_t max_agents, struct node_budget **ret_budget);
struct node_budget *node_budget_free(struct node_budget *budget);

struct hash128 node_budget_key(const char *tenant, const struct hash128 *agent_id);

/* @agent: of node_budget_key(). @now_ns: monotonic. */
uint32_t node_budget_left(struct node_budget *budget, const struct hash128 *agent, uint64_t now_ns);

/* Call it after node_budget_left(), with at most its result. */
void node_budget_spend(struct node_budget *budget, const struct hash128 *agent, uint32_t n_nodes,
		       uint64_t now_ns);

DEFINE_SCOPED(struct node_budget *, node_budget_free);
