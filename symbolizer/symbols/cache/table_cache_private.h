/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shared by the two halves of the cache: its entries (table_cache.c), and the threads that make
 * tables (table_jobs.c).
 */

#include <pthread.h>

#include "common/hash_table.h"
#include "symbolizer/symbols/cache/cached_table.h"
#include "symbolizer/symbols/cache/table_cache.h"

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
	struct stored_table row;     /* as in the store, or what could not be stored */
	struct cached_table *cached; /* of row or of an earlier one; NULL none */
	uint64_t checked_at;         /* the debuginfo store's generation */
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

struct table_cache {
	struct table_maker maker;
	struct table_files *files;
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

uint64_t table_cache_now_ns(void);

/* Bytes that an entry is accounted with. */
uint64_t table_cache_entry_bytes(const struct cache_entry *entry);

/* Makes @cached (taken, may be NULL) the table of @entry. With the lock. */
void table_cache_set_table(struct table_cache *cache, struct cache_entry *entry,
			   struct cached_table *cached);

/* As if it were never looked at. With the lock. */
void table_cache_reset(struct table_cache *cache, struct cache_entry *entry);

/* ---- table_jobs.c ------------------------------------------------------------------------------
 */

int table_jobs_start(struct table_cache *cache);
void table_jobs_stop(struct table_cache *cache);

/* With the lock. Nothing happens if it has one. */
void table_jobs_add(struct table_cache *cache, struct cache_entry *entry);
