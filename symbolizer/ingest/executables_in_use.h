/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The executables that each agent runs, for which the server may request debuginfo. The server
 * checks an executable when the agent defines it, and later again in round-robin order: debuginfo
 * may have been removed, or another agent may have failed to send it. Memory is bounded; the agent
 * that sent no batch for longest is evicted first. Not thread-safe.
 */

#include "symbolizer/store/store.h"

struct executables_in_use;

struct executable_in_use {
	struct executable_id id;
	enum executable_role role;
	const char *name; /* valid as long as the table */
};

int executables_in_use_new(struct executables_in_use **ret_table);
struct executables_in_use *executables_in_use_free(struct executables_in_use *table);

/* One agent in one epoch. Valid until the next call of agent_use(). */
struct agent_in_use;

/* Returns whether agent_use() would return 0. */
bool agent_use_is_known(const struct executables_in_use *table, const char *tenant,
			const struct batch *batch);

/*
 * Finds or adds the agent of @batch. Returns 1 if the agent or its epoch is new in the table (the
 * caller then adds all executables of the agent), 0 if it is known.
 */
int agent_use(struct executables_in_use *table, const char *tenant, const struct batch *batch,
	      struct agent_in_use **ret_agent);

/* Returns 0 also when a table is full, and the executable is not added. */
int agent_use_add(struct executables_in_use *table, struct agent_in_use *agent,
		  const struct executable_id *id, enum executable_role role, const char *name);

/* Returns the next executable in round-robin order, or NULL if the agent has none. */
const struct executable_in_use *agent_use_next(struct executables_in_use *table,
					       struct agent_in_use *agent);
size_t agent_use_count(const struct agent_in_use *agent);

DEFINE_SCOPED(struct executables_in_use *, executables_in_use_free);
