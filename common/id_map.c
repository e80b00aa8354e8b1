/* SPDX-License-Identifier: Apache-2.0 */
#include "common/id_map.h"

#include <stdlib.h>

#include "common/hash.h"

#define FIRST_SLOTS ((size_t)16)

void id_map_init(struct id_map *map)
{
	*map = (struct id_map){ .seed = hash_seed() };
}

void id_map_release(struct id_map *map)
{
	free(map->keys);
	free(map->values);
	map->keys = NULL;
	map->values = NULL;
	map->slot_mask = 0;
	map->count = 0;
}

/* The slot of @key, or the free slot for it. */
static size_t probe(const struct id_map *map, uint64_t key)
{
	size_t slot = (size_t)hash64_seeded(&key, sizeof(key), map->seed) & map->slot_mask;

	while (map->keys[slot] && map->keys[slot] != key)
		slot = (slot + 1) & map->slot_mask;
	return slot;
}

const uint32_t *id_map_find(const struct id_map *map, uint64_t key)
{
	size_t slot;

	assert(key != 0);
	if (map->count == 0)
		return NULL;
	slot = probe(map, key);
	return map->keys[slot] ? &map->values[slot] : NULL;
}

static int grow(struct id_map *map)
{
	const size_t n_slots = map->keys ? (map->slot_mask + 1) * 2 : FIRST_SLOTS;
	struct id_map larger = { .slot_mask = n_slots - 1, .count = map->count, .seed = map->seed };

	larger.keys = calloc(n_slots, sizeof(*larger.keys));
	larger.values = calloc(n_slots, sizeof(*larger.values));
	if (!larger.keys || !larger.values) {
		id_map_release(&larger);
		return -ENOMEM;
	}
	for (size_t i = 0; map->keys && i <= map->slot_mask; i++) {
		size_t slot;

		if (!map->keys[i])
			continue;
		slot = probe(&larger, map->keys[i]);
		larger.keys[slot] = map->keys[i];
		larger.values[slot] = map->values[i];
	}
	free(map->keys);
	free(map->values);
	*map = larger;
	return 0;
}

int id_map_set(struct id_map *map, uint64_t key, uint32_t value)
{
	size_t slot;

	assert(key != 0);
	if (!map->keys || map->count >= (map->slot_mask + 1) / 4 * 3) {
		int r = grow(map);

		if (r < 0)
			return r;
	}
	slot = probe(map, key);
	map->count += map->keys[slot] == 0;
	map->keys[slot] = key;
	map->values[slot] = value;
	return 0;
}

size_t id_map_bytes(const struct id_map *map)
{
	return map->keys ? (map->slot_mask + 1) * (sizeof(*map->keys) + sizeof(*map->values)) : 0;
}
