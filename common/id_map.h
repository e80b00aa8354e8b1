/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A map from u64 keys, not 0, to u32: 12 bytes for each slot, for maps with millions of keys.
 * Keys are never removed. Hashes are seeded. Not thread-safe.
 */

#include "common/base.h"

struct id_map {
	uint64_t *keys; /* [slot_mask + 1] 0: free */
	uint32_t *values;
	size_t slot_mask, count;
	uint64_t seed;
};

/* Allocates nothing. */
void id_map_init(struct id_map *map);
void id_map_release(struct id_map *map);

/* NULL: not found. */
const uint32_t *id_map_find(const struct id_map *map, uint64_t key);

/* Adds a key, or replaces its value. 0 or -ENOMEM. */
int id_map_set(struct id_map *map, uint64_t key, uint32_t value);

size_t id_map_bytes(const struct id_map *map);
