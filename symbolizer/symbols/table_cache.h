/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Symbol tables by identity, the least recently used leaving when they take more than so many
 * bytes. The newest one always stays, whatever its size, or each query for a huge executable would
 * build it anew. A table in use is not freed before it is given back. A richer upload replaces the
 * table at the next use. One thread builds a table while others that want the same one wait; those
 * that want another are not held up, but at most two tables are built at a time. Thread-safe.
 */

#include "symbolizer/debuginfo/debuginfo_store.h"
#include "symbolizer/symbols/symbol_table.h"

struct table_cache;

int table_cache_new(struct debuginfo_store *debuginfo, size_t max_bytes,
		    struct table_cache **ret_cache);
struct table_cache *table_cache_free(struct table_cache *cache);

enum table_state {
	TABLE_NONE,   /* nothing was uploaded */
	TABLE_FAILED, /* the file could not be read; one line in the log said why */
	TABLE_READY,
};

/* A loan of a table. */
struct table_loan {
	struct symbol_table *table; /* NULL unless TABLE_READY */
	struct cached_table *cached;
};

/* enum table_state, or -ENOMEM. Every loan goes back to table_cache_give_back(). */
int table_cache_borrow(struct table_cache *cache, const struct executable_id *id,
		       struct table_loan *ret_loan);
void table_cache_give_back(struct table_cache *cache, struct table_loan *loan);

size_t table_cache_bytes(struct table_cache *cache);

/* Threads that wait now because two others build a table each. */
unsigned int table_cache_waiting(struct table_cache *cache);

#include "common/scoped.h"
DEFINE_SCOPED(struct table_cache *, table_cache_free);
