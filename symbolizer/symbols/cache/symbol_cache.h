/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Symbol tables by identity, open for queries. The least recently used leave when the files take
 * more than so many bytes; the newest one always stays, whatever its size, and one in use is not
 * closed before it is given back.
 *
 * A table that is not there, or whose debuginfo has changed, is made by threads of this module, two
 * at a time, once however many want it. Who wants it waits for a bounded time, and else takes what
 * there is: an older table, or none. Thread-safe.
 */

#include "symbolizer/symbols/cache/table_compiler.h"
#include "symbolizer/symbols/table/symbol_file.h"

struct symbol_cache;

struct symbol_cache_options {
	struct debuginfo_store *debuginfo;
	const struct clock *clock;
	const char *folder;    /* symbols.db and symbols/ are in it */
	const char *helper;    /* the program that runs as table helper */
	uint64_t max_bytes;    /* of tables that are open or in files */
	uint64_t stored_bytes; /* of tables in their stored form */
};

int symbol_cache_new(const struct symbol_cache_options *options, struct symbol_cache **ret_cache);

/* Kills helpers at work. */
struct symbol_cache *symbol_cache_free(struct symbol_cache *cache);

enum table_state {
	TABLE_NONE,   /* there is nothing to make one from */
	TABLE_FAILED, /* with what there is now none can be made */
	TABLE_READY,
};

/* A loan of a table. */
struct table_loan {
	const struct symbol_file *file; /* NULL: none; in any state it may be an older one */
	enum table_state state;         /* as far as it is known while it is pending */
	bool pending;                   /* one is being made, or waits for its turn */
	char why[HELPER_WHY_SIZE];      /* TABLE_FAILED: the reason; TABLE_READY: what is missing */
	struct open_table *table;
};

/*
 * Waits at most @patience_ns for a table that is being made, and for none longer than that since it
 * was first wanted. 0 or -ENOMEM. Every loan goes back to symbol_cache_give_back().
 */
int symbol_cache_borrow(struct symbol_cache *cache, const struct executable_id *id,
			uint64_t patience_ns, struct table_loan *ret_loan);
void symbol_cache_give_back(struct symbol_cache *cache, struct table_loan *loan);

/* Forgets the table of @id, whose debuginfo somebody has removed. */
int symbol_cache_forget(struct symbol_cache *cache, const struct executable_id *id);

/* What is known of the table of @id; row is zeros as long as none was tried. */
struct table_status {
	enum table_state state;
	bool pending;
	bool running; /* pending, and its turn has come */
	struct stored_table row;
	uint64_t checked_wall_ns;
};
int symbol_cache_status(struct symbol_cache *cache, const struct executable_id *id,
			struct table_status *ret_status);

struct symbol_cache_counts {
	uint64_t bytes; /* open or in files */
	uint64_t stored_bytes;
	uint64_t n_open;
	uint64_t n_pending;
	uint64_t n_made, n_refused, n_died; /* since the start */
};
struct symbol_cache_counts symbol_cache_counts(struct symbol_cache *cache);

DEFINE_SCOPED(struct symbol_cache *, symbol_cache_free);
