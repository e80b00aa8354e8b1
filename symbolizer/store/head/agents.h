/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The numbers (numbers.h) of the agents that sent a batch lately, in memory. An agent whose numbers
 * were dropped, and each agent after a restart of the server, is asked for those that its next
 * batch uses. Not thread-safe.
 */

#include "symbolizer/store/head/numbers.h"
#include "symbolizer/store/store.h"

struct agents;

/* One epoch of one agent. */
struct agent {
	struct numbers *numbers;
	uint64_t order; /* identifies these numbers; increases with each new object */
	uint64_t used;  /* number of the last batch */
};

/* At most @max_agents epochs with @max_numbers_bytes each. 0 or -ENOMEM. */
int agents_new(size_t max_numbers_bytes, size_t max_agents, struct agents **ret_agents);
struct agents *agents_free(struct agents *agents);

/*
 * Learns the definitions of @batch and checks all numbers of its rows. STORE_STORED: all are known,
 * and *ret_agent is valid until the next call. STORE_NEEDS_NUMBERS: ret_missing, in @arena, has the
 * unknown ones. -ENOMEM.
 */
int agents_learn(struct agents *agents, const char *tenant, const struct batch *batch,
		 struct arena *arena, struct store_missing *ret_missing,
		 const struct agent **ret_agent);

DEFINE_SCOPED(struct agents *, agents_free);
