/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes files with unwind tables (agent/unwind/table_file.h): takes them from the cache on disk, or has them compiled.
 * Helpers open and parse the executables (agent/helper/). No function here blocks.
 *
 * A hostile file that takes over the helper which parses it can damage only its own table: a compiler has one file and
 * ends, it writes into an empty file that no other helper has, and the key of a table in the cache depends on the
 * content of the executable.
 *
 * Used by the agent's main thread.
 */

#include "agent/executable/executable.h"
#include "agent/helper/helper_pool.h"
#include "agent/unwind/table_cache.h"

/* Most tables that are made at the same time. Each needs two descriptors. */
#define TABLE_MAKER_MAX 32

/*
 * @result: 1: @fd is a table file with @key in its header, which the callee owns from now on; 0: the executable has no
 * table; -EINPROGRESS: compiling takes longer than a second, and the function will be called once more; else negative
 * errno.
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

/* To be called after helper_pool_free(). */
struct table_maker *table_maker_free(struct table_maker *maker);

/* Stores tables in @folder from now on, up to @max_bytes. A folder that cannot be used is logged. */
void table_maker_use_cache(struct table_maker *maker, const char *folder, uint64_t max_bytes);

/* 0: the function will be called; -EBUSY: too many tables are being made, call again later; else negative errno. */
int table_maker_make(struct table_maker *maker, const struct executable *executable);

bool table_maker_is_busy(const struct table_maker *maker);

DEFINE_SCOPED(struct table_maker *, table_maker_free);
