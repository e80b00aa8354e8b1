/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files with unwind tables (agent/unwind/table_file.h): taken from the cache on disk, or compiled. Files of others are
 * opened and parsed by helpers (agent/helper/); here a table is a file that was not looked into yet, and nobody waits.
 *
 * A compiler has one file and ends. It writes into a file that is empty and that no other helper ever sees, and the key
 * that a table is kept under holds the content by which its executable is known: what a file does to the helper that
 * reads it concerns its own table alone.
 *
 * Used by the agent's main thread.
 */

#include "agent/executable/executable.h"
#include "agent/helper/helper_pool.h"
#include "agent/unwind/table_cache.h"

/* Executables whose tables are made at a time: each has two descriptors. */
#define TABLE_MAKER_MAX 32

/*
 * @result: 1, @fd is a table file and the callee's from now on, with @key in its header; 0, the executable has none;
 * -EINPROGRESS, it takes long, and this function is called once more; else negative errno.
 */
typedef void (*table_made_function)(void *arg, uint32_t number, int result, int fd, const struct hash128 *key);

struct table_maker_stats {
	uint64_t n_compiled, n_cached, compile_ns, cache_ns;
	uint64_t n_crashed, n_timed_out, n_out_of_memory, n_unsound, n_unreadable;
};

struct table_maker {
	struct helper_pool *helpers;
	table_made_function made;
	void *arg;
	struct table_cache *cache; /* NULL: none */
	bool cache_failed;	   /* a table could not be stored, which was logged */
	size_t n_making;
	struct table_maker_stats stats;
	struct helper_message message;
};

int table_maker_new(struct helper_pool *helpers, table_made_function made, void *arg, struct table_maker **ret_maker);

/* To be called after the pool's end. */
struct table_maker *table_maker_free(struct table_maker *maker);

/* Keeps tables in @folder from now on, up to @max_bytes. A folder that cannot be had is logged. */
void table_maker_use_cache(struct table_maker *maker, const char *folder, uint64_t max_bytes);

/* 0: the function will be called; -EBUSY: too many are being made, ask again; else negative errno. */
int table_maker_make(struct table_maker *maker, const struct executable *executable);

bool table_maker_is_busy(const struct table_maker *maker);

DEFINE_SCOPED(struct table_maker *, table_maker_free);
