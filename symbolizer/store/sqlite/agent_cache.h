/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A bounded cache of table "number" of hearth.db: (agent, epoch, kind, number) -> store ID. For a
 * batch of a known agent, the writer needs no lookup in SQLite. Used by the writer only, which
 * forgets an agent when a group of batches with one of the agent is rolled back.
 */

#include "common/hash_table.h"
#include "symbolizer/store/sqlite/schema.h"
#include "symbolizer/store/store.h"

struct agent_cache;

/* One epoch of one agent. The writer updates the fields after each batch. */
struct agent {
	int64_t epoch_id; /* 0: not in hearth.db */
	uint32_t host;    /* store ID, 0: unknown */
	struct hash128 host_attributes;
	uint64_t host_saved_ns;  /* host.last_seen_ns in hearth.db */
	uint64_t epoch_saved_ns; /* epoch.last_seen_ns in hearth.db */
	struct agent_entry *entry;
};

/* About 100 MiB, for a thousand agents with 2000 numbers each. */
#define AGENT_CACHE_MAX_NUMBERS (1u << 21)

/* Keeps @max_numbers of all agents together. The numbers of the agent in use always fit. */
int agent_cache_new(size_t max_numbers, struct agent_cache **ret_cache);
struct agent_cache *agent_cache_free(struct agent_cache *cache);

/*
 * Finds the epoch of the batch's agent in the cache or in hearth.db. A new epoch has epoch_id 0.
 * *ret_agent is valid until the next call of agent_cache_find() or agent_cache_forget().
 */
int agent_cache_find(struct agent_cache *cache, struct sqlite_db *hearth, const char *tenant,
		     const struct batch *batch, struct agent **ret_agent);

/* Returns 1 if found, 0 if the number is unknown. */
int agent_number(struct agent_cache *cache, struct sqlite_db *hearth, struct agent *agent,
		 enum number_kind kind, uint32_t number, uint64_t *ret_id);

/* Adds a number of hearth.db. Without memory, entries are dropped: hearth.db still has them. */
void agent_remember(struct agent_cache *cache, struct agent *agent, enum number_kind kind,
		    uint32_t number, uint64_t id);

/* Cached numbers of all agents. */
size_t agent_cache_count(const struct agent_cache *cache);

/* Drops the epoch of the batch's agent: what the cache has of it was rolled back. */
void agent_cache_forget_agent(struct agent_cache *cache, const char *tenant,
			      const struct batch *batch);

/* Drops the epoch with this row ID. */
void agent_cache_forget(struct agent_cache *cache, int64_t epoch_id);

DEFINE_SCOPED(struct agent_cache *, agent_cache_free);
