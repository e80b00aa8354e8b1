/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unwind tables on disk, so that a restart compiles nothing: one file each, named by what the table was compiled from
 * (unwind_input_hash()), bounded in bytes; those used longest ago leave first.
 *
 * A file appears whole (temporary file, rename), without fsync: one that a crash left empty or torn is found damaged,
 * removed, and compiled again. One process owns the folder (flock). Used by the agent's main thread.
 */

#include "agent/unwind/unwind_table.h"
#include "common/hash.h"

struct table_cache;

struct table_cache_options {
	const char *folder; /* made with mode 0700 where it is missing */
	uint64_t max_bytes;
	/* Who compiles: the tables of another maker are of no use and removed when the cache is opened. */
	uint64_t maker;
};

/* -EBUSY: another process has the folder. -EPERM: others than its owner, who is us, may write to it. */
int table_cache_open(const struct table_cache_options *options, struct table_cache **ret_cache);
struct table_cache *table_cache_close(struct table_cache *cache);

/* 1 found; 0: not there, or damaged, and then removed. -ENOMEM. */
int table_cache_load(struct table_cache *cache, const struct hash128 *key, struct unwind_table *ret_table);

/* 1 stored; 0: it alone is larger than the bound. Negative errno: the disk; the cache is as it was. */
int table_cache_store(struct table_cache *cache, const struct hash128 *key, const struct unwind_table *table);

/* What the files take, in whole blocks of the disk. */
uint64_t table_cache_bytes(const struct table_cache *cache);
size_t table_cache_count(const struct table_cache *cache);

#include "common/scoped.h"
DEFINE_SCOPED(struct table_cache *, table_cache_close);
