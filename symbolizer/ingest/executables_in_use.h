/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which executables each agent uses, so that it can be asked for those whose debuginfo is missing:
 * at once when it defines one, and again round robin, because debuginfo may be removed, or another
 * agent may fail to deliver it. Bounded in memory; agents that were not heard of for longest leave
 * first. Not thread-safe.
 */

#include "symbolizer/store/store.h"

struct executables_in_use;

struct executable_in_use {
	struct executable_id id;
	enum executable_role role;
	const char *name; /* lives as long as the table */
};

int executables_in_use_new(struct executables_in_use **ret_table);
struct executables_in_use *executables_in_use_free(struct executables_in_use *table);

/* An agent's run. Valid until the next call of agent_use(). */
struct agent_in_use;

/* Whether agent_use() would say 0. */
bool agent_use_is_known(const struct executables_in_use *table, const char *tenant,
			const struct batch *batch);

/* 1 the agent (or this run of it) is new here: what it uses has to be told from the beginning; 0
 * known. */
int agent_use(struct executables_in_use *table, const char *tenant, const struct batch *batch,
	      struct agent_in_use **ret_agent);

/* Full tables take no more: 0 then, too. */
int agent_use_add(struct executables_in_use *table, struct agent_in_use *agent,
		  const struct executable_id *id, enum executable_role role, const char *name);

/* The next one in turn, NULL when the agent uses none. */
const struct executable_in_use *agent_use_next(struct executables_in_use *table,
					       struct agent_in_use *agent);
size_t agent_use_count(const struct agent_in_use *agent);

DEFINE_SCOPED(struct executables_in_use *, executables_in_use_free);
