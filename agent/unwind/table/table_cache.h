/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unwind tables on disk, so that a restarted agent does not compile them again. Each table has a
 * file, named by the hash of its input (unwind_input_hash()). Their total size is bounded; the
 * least recently used files are removed first.
 *
 * A file appears complete (temporary file, rename), without fsync. If a crash left it empty or
 * torn, it is recognized as damaged, removed, and compiled again. One process owns the folder
 * (flock). Used by the agent's main thread.
 */

#include "common/hash.h"

struct table_cache;

struct table_cache_options {
	const char *folder; /* created with mode 0700 if it does not exist */
	uint64_t max_bytes;
	/*
	 * Identifies the compiler of tables. Tables of other compilers are removed when the cache
	 * is opened.
	 */
	uint64_t maker;
};

/*
 * -EBUSY: another process uses the folder. -EPERM: it does not belong to this user, or others may
 * write to it.
 */
int table_cache_open(const struct table_cache_options *options, struct table_cache **ret_cache);
struct table_cache *table_cache_close(struct table_cache *cache);

/*
 * Opens the file of @key. 1: *ret_fd, which stays valid when the file is removed from the cache; 0:
 * there is none. A caller that finds the file damaged calls table_cache_remove().
 */
int table_cache_find(struct table_cache *cache, const struct hash128 *key, int *ret_fd);
void table_cache_remove(struct table_cache *cache, const struct hash128 *key);

/* A new file that is still being written. */
struct table_cache_file {
	int fd; /* readable and writable; the caller always closes it */
	uint32_t number;
};

/*
 * Creates an empty temporary file. It ends with table_cache_keep() or table_cache_discard(). 0 or
 * negative errno.
 */
int table_cache_create(struct table_cache *cache, struct table_cache_file *ret_file);

/*
 * Makes the file the one of @key. 1: kept; 0: it is larger than the bound, and was removed.
 * Negative errno of the disk: it was removed, and the cache is unchanged.
 */
int table_cache_keep(struct table_cache *cache, const struct table_cache_file *file,
		     const struct hash128 *key);
void table_cache_discard(struct table_cache *cache, const struct table_cache_file *file);

/* The space of the files, in whole blocks of the disk. */
uint64_t table_cache_bytes(const struct table_cache *cache);
size_t table_cache_count(const struct table_cache *cache);

#include "common/scoped.h"
DEFINE_SCOPED(struct table_cache *, table_cache_close);
