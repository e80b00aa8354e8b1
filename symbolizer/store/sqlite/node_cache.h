/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads stacks from the prefix tree, through a cache. Stacks and nodes never change, so the cache
 * needs no invalidation. Thread-safe.
 */

#include "symbolizer/store/sqlite/schema.h"
#include "symbolizer/store/store.h"

struct node_cache;

int node_cache_new(struct node_cache **ret_cache);
struct node_cache *node_cache_free(struct node_cache *cache);

/* Like store_load_stacks(), on this connection. */
int stacks_load(struct node_cache *cache, struct sqlite_db *hearth, const uint64_t *stack_ids,
		size_t count, struct arena *arena, struct store_stack *ret_stacks);

DEFINE_SCOPED(struct node_cache *, node_cache_free);
