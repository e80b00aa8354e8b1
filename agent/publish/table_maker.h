/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes files with unwind tables (agent/unwind/table/table_file.h): takes them from the cache on
 * disk, or has helpers compile them. Helpers open and parse the executables (agent/helper/). No
 * function of this header blocks.
 *
 * A hostile file that takes over the helper that parses it can damage only its own table. A
 * compiler reads one file and exits. It writes into an empty file that no other helper has open.
 * The key of a table in the cache depends on the content of the executable.
 *
 * Used by the agent's main thread.
 */

#include "agent/executable/executable.h"
#include "agent/helper/avoid_list.h"
#include "agent/helper/helper_pool.h"
#include "agent/unwind/table/table_cache.h"
#include "agent/unwind/unwind_compile.h"
#include "common/clock.h"

/* Maximum number of tables that are made at the same time. Each needs two descriptors. */
#define TABLE_MAKER_MAX 32

struct made_table {
	uint32_t number; /* of the executable */

	/*
	 * 1: it was made; 0: the executable has none; -EINPROGRESS: compiling takes longer than a
	 * second, and the function will be called once more; another negative errno: it failed.
	 */
	int result;
	int fd;               /* result 1: the table file, owned by the callee; else -1 */
	struct hash128 key;   /* as in the header of the file */
	uint64_t retry_at_ns; /* as table_maker_retry_at_ns() returns */
};

typedef void (*table_made_function)(void *arg, const struct made_table *made);

struct table_maker_stats {
	uint64_t n_compiled, n_cached, compile_ns, cache_ns;
	uint64_t n_crashed, n_timed_out, n_out_of_memory, n_unsound, n_unreadable;
};

struct table_maker {
	struct helper_pool *helpers;
	table_made_function made;
	void *arg;
	struct unwind_options unwind;
	struct table_cache *cache; /* NULL: none */
	bool cache_failed;         /* a table could not be stored, which was logged */
	struct avoid_list *failed; /* by executable.content */
	const struct clock *clock;
	size_t n_making;
	struct table_maker_stats stats;
	struct helper_message message;
};

struct table_maker_options {
	struct helper_pool *helpers;
	const struct clock *clock;
	table_made_function made;
	void *arg; /* of @made */
	struct unwind_options unwind;
};

int table_maker_new(const struct table_maker_options *options, struct table_maker **ret_maker);

/* To be called after helper_pool_free(). */
struct table_maker *table_maker_free(struct table_maker *maker);

/*
 * Stores tables in @folder from now on, up to @max_bytes. A folder that cannot be used is logged.
 */
void table_maker_use_cache(struct table_maker *maker, const char *folder, uint64_t max_bytes);

/*
 * Begins to make the table of @executable. 0: options.made will be called; -EBUSY: too many tables
 * are being made, call again later; or another negative errno.
 */
int table_maker_make(struct table_maker *maker, const struct executable *executable);

bool table_maker_is_busy(const struct table_maker *maker);

/*
 * When the table of an executable with @content may be made again after a failure (monotonic). 0:
 * it did not fail; UINT64_MAX: never, because the file is the reason, or its helpers failed too
 * often.
 *
 * A helper can fail for a temporary reason: it was killed, the host was short of memory, or a file
 * system did not answer. A hostile file can make its helper fail each time. Therefore the time
 * doubles with each failure, and the number of attempts is bounded.
 */
uint64_t table_maker_retry_at_ns(const struct table_maker *maker, const struct hash128 *content);

DEFINE_SCOPED(struct table_maker *, table_maker_free);
