/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shared by the two parts of the cache: its entries (symbol_cache.c), and the threads that compile
 * tables (compile_queue.c).
 */

#include <pthread.h>

#include "common/hash_table.h"
#include "symbolizer/symbols/cache/open_table.h"
#include "symbolizer/symbols/cache/symbol_cache.h"

/*
 * Tables compiled at a time. One of the largest files takes a minute and a gigabyte of memory, and
 * a hostile file can take as much: a few of them must not use up all memory and processors.
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
	struct stored_table row;  /* as in the database, or one that could not be written there */
	struct open_table *table; /* of row or of an earlier attempt; or NULL */
	uint64_t checked_at;      /* generation of the debuginfo store at the last check */
	uint64_t checked_wall_ns;
	bool check_again; /* the last error was temporary: check again at the next use */
	bool forgotten;   /* drop the result of the check or job that is running */
	bool busy;        /* a thread checks the entry, without the lock */
	enum job_state job;
	uint64_t job_since_ns; /* monotonic */
	struct cache_entry *next_job;
	struct cache_entry *newer;
	struct cache_entry *older;
};

struct symbol_cache {
	struct table_compiler compiler;
	struct flat_files *files;
	atomic_uint n_decoders; /* helpers that decode code (code_decoder.c) */
	uint64_t max_bytes;
	pthread_mutex_t lock;       /* protects the fields below */
	pthread_cond_t changed;     /* an entry is no longer busy, or its job is done */
	struct hash_table *entries; /* executable_id -> struct cache_entry * */
	struct cache_entry *newest;
	struct cache_entry *oldest;
	uint64_t bytes;
	uint64_t n_open;

	pthread_cond_t wanted; /* a job was added, or the threads must stop */
	struct cache_entry *first_job;
	struct cache_entry *last_job;
	uint64_t n_pending;
	bool stopping;
	pthread_t threads[MAX_JOBS];
	unsigned int n_threads;
};

uint64_t symbol_cache_now_ns(void);

/* Returns the bytes of an entry that count towards max_bytes. */
uint64_t symbol_cache_entry_bytes(const struct cache_entry *entry);

/* Sets the table of @entry. Takes @table, which may be NULL. The caller holds the lock. */
void symbol_cache_set_table(struct symbol_cache *cache, struct cache_entry *entry,
			    struct open_table *table);

/* Resets @entry to its initial state. The caller holds the lock. */
void symbol_cache_reset(struct symbol_cache *cache, struct cache_entry *entry);

/* ---- compile_queue.c ---------------------------------------------------------------------------
 */

int compile_queue_start(struct symbol_cache *cache);
void compile_queue_stop(struct symbol_cache *cache);

/* Adds a job for @entry, unless it has one. The caller holds the lock. */
void compile_queue_add(struct symbol_cache *cache, struct cache_entry *entry);
