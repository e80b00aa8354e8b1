/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Lists of the processes of segments on disk, so that a list of services decodes only the segments
 * that were written since the last one. The content of a segment does not change, so neither does
 * its list; the key of a segment that was merged or removed is not asked for again.
 *
 * When the cache is full, lists that were not used for long make room. If there are none, no list
 * is added: queries that together need more than the cache holds still find a part of it.
 * Thread-safe.
 */

#include "symbolizer/store/segment_view/process_list.h"
#include "symbolizer/store/segment_view/segment_view.h"

struct process_cache;

int process_cache_new(size_t max_bytes, struct process_cache **ret_cache);
struct process_cache *process_cache_free(struct process_cache *cache);

/* Returns a reference, or NULL: the cache does not have the list. */
struct process_list *process_cache_find(struct process_cache *cache,
					const struct segment_part_key *key);

/* Keeps a reference to @list if there is room. */
void process_cache_add(struct process_cache *cache, const struct segment_part_key *key,
		       struct process_list *list);

/* Bytes of the lists that the cache holds. */
size_t process_cache_bytes(struct process_cache *cache);

DEFINE_SCOPED(struct process_cache *, process_cache_free);
