/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What executable_cache.c (the indices) and executable_identify.c (from a mapping to an entry)
 * share.
 */

#include "agent/executable/executable.h"
#include "agent/executable/executable_file.h"
#include "agent/executable/executable_learn.h"

/* It has been used: the others leave before it. */
void executable_cache_touch(struct executable_cache *cache, struct executable *executable);

/*
 * A new entry without references. The segments of @identity (NULL: none) are taken. 0 or -ENOMEM.
 */
int executable_cache_add(struct executable_cache *cache, const struct executable_id *id,
			 enum executable_role role, const char *name,
			 struct file_identity *identity, struct executable **ret_executable);

/*
 * @executable keeps its number and identity, but is not found by the identity any more, nor in any
 * file.
 */
void executable_cache_supersede(struct executable_cache *cache, struct executable *executable);

/* Counts a conflict; true for the first one. */
bool executable_cache_count_conflict(struct executable_cache *cache);

/*
 * The executable that was last found in this file, or NULL. Generations of its inode that are known
 * (not 0) have to be equal. @ret_is_trusted: as it was remembered.
 */
struct executable *executable_cache_by_file(struct executable_cache *cache,
					    const struct file_key *key, uint64_t generation,
					    bool *ret_is_trusted);
int executable_cache_remember_file(struct executable_cache *cache, const struct file_key *key,
				   uint64_t generation, bool is_trusted,
				   const struct executable *executable);

/* The vDSO of this size that was identified before, or NULL. */
struct executable *executable_cache_known_vdso(struct executable_cache *cache, uint64_t size);
void executable_cache_set_vdso(struct executable_cache *cache, const struct executable *executable,
			       uint64_t size);
