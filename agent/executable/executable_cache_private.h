/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shared by executable_cache.c (the indices) and executable_identify.c (identifies a mapping and
 * finds or adds its entry).
 */

#include "agent/executable/executable.h"
#include "agent/executable/executable_file.h"
#include "agent/executable/executable_learn.h"

/* Makes @executable the most recently used entry, the last to be evicted. */
void executable_cache_touch(struct executable_cache *cache, struct executable *executable);

/*
 * Adds an entry without references. Takes the segments of @identity (NULL: none). 0 or -ENOMEM.
 */
int executable_cache_add(struct executable_cache *cache, const struct executable_id *id,
			 enum executable_role role, const char *name,
			 struct file_identity *identity, struct executable **ret_executable);

/*
 * @executable keeps its number and identity, but look-ups by identity or by file no longer find it.
 */
void executable_cache_supersede(struct executable_cache *cache, struct executable *executable);

/* Counts a build-ID conflict. Returns true for the first one. */
bool executable_cache_count_conflict(struct executable_cache *cache);

/*
 * The executable that was last found in this file, or NULL. If the generation of the inode is known
 * on both sides (not 0), the two must be equal. *ret_is_trusted: as remembered with the file.
 */
struct executable *executable_cache_by_file(struct executable_cache *cache,
					    const struct file_key *key, uint64_t generation,
					    bool *ret_is_trusted);
int executable_cache_remember_file(struct executable_cache *cache, const struct file_key *key,
				   uint64_t generation, bool is_trusted,
				   const struct executable *executable);

/* The vDSO of this size, if it was identified before; else NULL. */
struct executable *executable_cache_known_vdso(struct executable_cache *cache, uint64_t size);
void executable_cache_set_vdso(struct executable_cache *cache, const struct executable *executable,
			       uint64_t size);
