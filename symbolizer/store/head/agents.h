/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The numbers (numbers.h) of the agents that sent a batch lately, in memory. An agent whose numbers
 * were dropped, and each agent after a restart of the server, is asked for those that its next
 * batch uses, unless the engine has them on disk (agents_set_numbers_take()). Not thread-safe.
 */

#include "symbolizer/store/head/numbers.h"
#include "symbolizer/store/store.h"

struct agents;

struct agents_options {
	size_t max_numbers_bytes; /* of one epoch */
	size_t max_agents;        /* epochs; the one used least recently is dropped */
	/* Of all epochs together, at the end of agents_trim(). 0: no limit. */
	size_t max_all_numbers_bytes;
	uint64_t seed; /* of the choice in agents_trim() */
};

/* One epoch of one agent. */
struct agent {
	struct numbers *numbers;
	uint64_t order;     /* identifies these numbers and their generation; never used again */
	uint64_t used;      /* number of the last batch */
	size_t bytes;       /* of the numbers */
	bool is_stored;     /* a batch was stored since these numbers are in memory */
	bool is_superseded; /* a batch of a newer epoch was stored: agents_trim() drops it */
};

/* 0 or -ENOMEM. */
int agents_new(const struct agents_options *options, struct agents **ret_agents);
struct agents *agents_free(struct agents *agents);

/*
 * Learns the definitions of @batch and checks all numbers of its rows. STORE_STORED: all are known.
 * STORE_NEEDS_NUMBERS: ret_missing, in @arena, has the unknown ones. -ENOSPC: the numbers of the
 * epoch are full. -ENOMEM.
 */
int agents_try_learn(struct agents *agents, const char *tenant, const struct batch *batch,
		     struct arena *arena, struct store_missing *ret_missing);

/* The same, but drops full numbers: the agent is asked again for those that it still uses. */
int agents_learn(struct agents *agents, const char *tenant, const struct batch *batch,
		 struct arena *arena, struct store_missing *ret_missing);

/* The epoch of @batch, valid until the next call that changes @agents. NULL: not in memory. */
const struct agent *agents_find(const struct agents *agents, const char *tenant,
				const struct batch *batch);

/* Replaces the numbers of the epoch of @batch by @numbers, which it takes also on failure. */
int agents_set_numbers_take(struct agents *agents, const char *tenant, const struct batch *batch,
			    struct numbers *numbers);

/* Drops the numbers of the epoch of @batch. */
void agents_forget(struct agents *agents, const char *tenant, const struct batch *batch);

/*
 * Records that @batch was stored. If it is the first of its epoch, older epochs of the agent have
 * ended, and the next agents_trim() drops their numbers. Only a spool may have further batches of
 * them: numbers that are set again for these stay until the agent begins the next epoch.
 */
void agents_note_stored(struct agents *agents, const char *tenant, const struct batch *batch);

/*
 * Drops numbers of ended epochs. Then, if all numbers have more than max_all_numbers_bytes, it
 * drops random ones of the half that was used least recently, until 1/16 of the limit is free.
 * Agents send in turns: the one that was used least recently sends the next batch, so dropping
 * always that one would drop the numbers of each agent before its next batch.
 */
void agents_trim(struct agents *agents);

/* Memory of all numbers. */
size_t agents_bytes(const struct agents *agents);

DEFINE_SCOPED(struct agents *, agents_free);
