/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unwind tables on disk, so that a restart compiles nothing: one file each, named by what the table
 * was compiled from (unwind_input_hash()), bounded in bytes; those used longest ago leave first.
 *
 * A file appears whole (temporary file, rename), without fsync: one that a crash left empty or torn
 * is found damaged, removed, and compiled again. One process owns the folder (flock). Used by the
 * agent's main thread.
 */

#include "common/hash.h"

struct table_cache;

struct table_cache_options {
	const char *folder; /* made with mode 0700 where it is missing */
	uint64_t max_bytes;
	/*
	 * Who compiles: the tables of another maker are of no use and removed when the cache is
	 * opened.
	 */
	uint64_t maker;
};

/*
 * -EBUSY: another process has the folder. -EPERM: others than its owner, who is us, may write to
 * it.
 */
int table_cache_open(const struct table_cache_options *options, struct table_cache **ret_cache);
struct table_cache *table_cache_close(struct table_cache *cache);

/*
 * Opens the file of @key: 1 and its fd, which stays good when the file leaves the cache; 0: there
 * is none. Whoever finds it damaged says so with table_cache_remove().
 */
int table_cache_find(struct table_cache *cache, const struct hash128 *key, int *ret_fd);
void table_cache_remove(struct table_cache *cache, const struct hash128 *key);

/* A new file that is to be written. */
struct table_cache_file {
	int fd; /* readable and writable; the caller closes it, whatever becomes of the file */
	uint32_t number;
};

/*
 * An empty file beside the others, ended by table_cache_keep() or table_cache_discard(). 0 or
 * negative errno.
 */
int table_cache_create(struct table_cache *cache, struct table_cache_file *ret_file);

/*
 * From now on it is the file of @key. 1 kept; 0: it alone is larger than the bound, and has no name
 * any more. Negative errno: the disk; it has no name, the cache is as it was.
 */
int table_cache_keep(struct table_cache *cache, const struct table_cache_file *file,
		     const struct hash128 *key);
void table_cache_discard(struct table_cache *cache, const struct table_cache_file *file);

/* What the files take, in whole blocks of the disk. */
uint64_t table_cache_bytes(const struct table_cache *cache);
size_t table_cache_count(const struct table_cache *cache);

#include "common/scoped.h"
DEFINE_SCOPED(struct table_cache *, table_cache_close);
