/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Open symbol tables by identity, for queries. The least recently used tables are evicted while all
 * of them take more than max_bytes. The most recently used one always stays, whatever its size. An
 * evicted table in use is closed when its last loan is given back.
 *
 * Two threads of this module compile tables that are missing or whose debuginfo has changed. A
 * table that several callers want is compiled once. A caller waits for a bounded time, and then
 * gets the older table, or none. Thread-safe.
 */

#include "symbolizer/symbols/cache/table_compiler.h"
#include "symbolizer/symbols/table/symbol_file.h"

struct symbol_cache;

struct symbol_cache_options {
	struct debuginfo_store *debuginfo;
	const struct clock *clock;
	const char *folder;    /* has symbols.db and symbols/ */
	const char *helper;    /* the program that runs as helper (table_helper.h) */
	uint64_t max_bytes;    /* limit of open tables and flat files */
	uint64_t stored_bytes; /* limit of tables in their stored form */
};

int symbol_cache_new(const struct symbol_cache_options *options, struct symbol_cache **ret_cache);

/* Kills running helpers. */
struct symbol_cache *symbol_cache_free(struct symbol_cache *cache);

enum table_state {
	TABLE_NONE,   /* no debuginfo is stored */
	TABLE_FAILED, /* the stored debuginfo cannot be compiled */
	TABLE_READY,
};

/* A table that is lent to a caller. */
struct table_loan {
	const struct symbol_file *file; /* may be an older table in any state; NULL: none */
	enum table_state state;         /* of the last attempt, while the table is pending */
	bool pending;                   /* a table is being compiled, or waits in the queue */
	char why[HELPER_WHY_SIZE]; /* TABLE_FAILED: the reason; TABLE_READY: the missing parts */
	struct open_table *table;
};

/*
 * Lends the table of @id. Waits for a table that is being compiled until @patience_ns after it was
 * first wanted, at most for @patience_ns. Returns 0 or -ENOMEM. The caller passes each loan to
 * symbol_cache_give_back().
 */
int symbol_cache_borrow(struct symbol_cache *cache, const struct executable_id *id,
			uint64_t patience_ns, struct table_loan *ret_loan);
void symbol_cache_give_back(struct symbol_cache *cache, struct table_loan *loan);

/* Removes the table of @id; called when a user has removed its debuginfo. */
int symbol_cache_forget(struct symbol_cache *cache, const struct executable_id *id);

/* State of the table of @id; row is all zeros if no table has been compiled yet. */
struct table_status {
	enum table_state state;
	bool pending;
	bool running; /* pending, and being compiled */
	struct stored_table row;
	uint64_t checked_wall_ns;
};
int symbol_cache_status(struct symbol_cache *cache, const struct executable_id *id,
			struct table_status *ret_status);

struct symbol_cache_counts {
	uint64_t bytes; /* of open tables and flat files */
	uint64_t stored_bytes;
	uint64_t n_open;
	uint64_t n_pending;
	uint64_t n_made, n_refused, n_died; /* since the start */
};
struct symbol_cache_counts symbol_cache_counts(struct symbol_cache *cache);

DEFINE_SCOPED(struct symbol_cache *, symbol_cache_free);
