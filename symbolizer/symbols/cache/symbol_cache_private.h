/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shared by the two halves of the cache: its entries (symbol_cache.c), and the threads that make
 * tables (compile_queue.c).
 */

#include <pthread.h>

#include "common/hash_table.h"
#include "symbolizer/symbols/cache/open_table.h"
#include "symbolizer/symbols/cache/symbol_cache.h"

/*
 * A table of the largest files takes a minute and a gigabyte while it is made, and a file can be
 * made to take as much: a few of them must not take all of the memory and processors at once.
 */
#define MAX_JOBS 2

enum job_state {
	JOB_NONE,
	JOB_WAITS,
	JOB_RUNS,
};

struct cache_entry {
	struct executable_id id;
	enum table_state state;
	struct stored_table row;  /* as in the store, or what could not be stored */
	struct open_table *table; /* of row or of an earlier one; NULL none */
	uint64_t checked_at;      /* the debuginfo store's generation */
	uint64_t checked_wall_ns;
	bool ask_again; /* what failed may pass: look at the next use */
	bool forgotten; /* what a look or a job under way brings is not wanted */
	bool busy;      /* one thread looks, without the lock */
	enum job_state job;
	uint64_t job_since_ns; /* monotonic */
	struct cache_entry *next_job;
	struct cache_entry *newer;
	struct cache_entry *older;
};

struct symbol_cache {
	struct table_compiler compiler;
	struct flat_files *files;
	uint64_t max_bytes;
	pthread_mutex_t lock;       /* everything below */
	pthread_cond_t changed;     /* an entry is no longer busy, or its job is done */
	struct hash_table *entries; /* executable_id -> struct cache_entry * */
	struct cache_entry *newest;
	struct cache_entry *oldest;
	uint64_t bytes;
	uint64_t n_open;

	pthread_cond_t wanted; /* there is a job, or they shall stop */
	struct cache_entry *first_job;
	struct cache_entry *last_job;
	uint64_t n_pending;
	bool stopping;
	pthread_t threads[MAX_JOBS];
	unsigned int n_threads;
};

uint64_t symbol_cache_now_ns(void);

/* Bytes that an entry is accounted with. */
uint64_t symbol_cache_entry_bytes(const struct cache_entry *entry);

/* Makes @table (taken, may be NULL) the table of @entry. With the lock. */
void symbol_cache_set_table(struct symbol_cache *cache, struct cache_entry *entry,
			    struct open_table *table);

/* As if it were never looked at. With the lock. */
void symbol_cache_reset(struct symbol_cache *cache, struct cache_entry *entry);

/* ---- compile_queue.c ------------------------------------------------------------------------------
 */

int compile_queue_start(struct symbol_cache *cache);
void compile_queue_stop(struct symbol_cache *cache);

/* With the lock. Nothing happens if it has one. */
void compile_queue_add(struct symbol_cache *cache, struct cache_entry *entry);
