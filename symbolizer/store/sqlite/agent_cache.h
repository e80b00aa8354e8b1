/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the numbers of agents mean: (agent, epoch, kind, number) -> store id. The truth is table
 * number in hearth.db; this is a bounded cache of it, so that a batch of a known agent asks SQLite
 * nothing. Used by the writer only, and told only what is committed.
 */

#include "common/hash_table.h"
#include "symbolizer/store/sqlite/schema.h"
#include "symbolizer/store/store.h"

struct agent_cache;

/* One epoch of one agent. The fields are the writer's to keep up to date after a commit. */
struct agent {
	int64_t epoch_id; /* 0: not in hearth.db yet */
	uint32_t host;    /* store id, 0: not known yet */
	struct hash128 host_attributes;
	uint64_t host_saved_ns;  /* host.last_seen_ns as it stands in hearth.db */
	uint64_t epoch_saved_ns; /* epoch.last_seen_ns as it stands in hearth.db */
	struct agent_entry *entry;
};

/* About 100 MiB: a thousand agents with 2000 numbers each. */
#define AGENT_CACHE_MAX_NUMBERS (1u << 21)

/* Keeps @max_numbers of all agents together; those of the agent in use always fit. */
int agent_cache_new(size_t max_numbers, struct agent_cache **ret_cache);
struct agent_cache *agent_cache_free(struct agent_cache *cache);

/*
 * The agent's epoch, from the cache or from hearth.db; new ones have epoch_id 0. Stays valid until
 * the next call of agent_cache_find() or agent_cache_forget().
 */
int agent_cache_find(struct agent_cache *cache, struct sqlite_db *hearth, const char *tenant,
		     const struct batch *batch, struct agent **ret_agent);

/* 1 found, 0 the number is not known. */
int agent_number(struct agent_cache *cache, struct sqlite_db *hearth, struct agent *agent,
		 enum number_kind kind, uint32_t number, uint64_t *ret_id);

/* Remembers what was committed. Without memory for it the cache forgets instead: hearth.db still
 * knows. */
void agent_remember(struct agent_cache *cache, struct agent *agent, enum number_kind kind,
		    uint32_t number, uint64_t id);

/* Numbers of all agents that are kept now. */
size_t agent_cache_count(const struct agent_cache *cache);

/* Drops the epoch of this row from the cache. */
void agent_cache_forget(struct agent_cache *cache, int64_t epoch_id);

DEFINE_SCOPED(struct agent_cache *, agent_cache_free);
