/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two parallel arrays: tags (32 bits of the hash, 0 for an empty slot), which probing reads, and
 * items (key, then value), which are read only if the tag matches. A removal leaves no tombstone:
 * later items of the same run move back.
 *
 * Each table has a random seed, so that nobody can prepare keys that collide. Because the seeds
 * differ, copying one table into another in slot order does not put the items into one long run.
 */

#include "common/hash_table.h"

#include <string.h>

#include "common/hash.h"

#define HASH_TABLE_FIRST_SLOTS ((size_t)16)
/* The home slot is computed from the tag, which has 32 bits. */
#define HASH_TABLE_MAX_SLOTS ((size_t)1 << 31)

struct hash_table {
	size_t key_size;
	size_t value_offset;
	size_t item_size;
	size_t max_items;
	uint64_t seed;
	uint32_t *tags;
	uint8_t *items;
	size_t n_slots; /* 0 or a power of two */
	size_t count;
};

/* Alignment of an object of @size bytes, which may contain pointers from 8 bytes on. */
static size_t alignment_of_size(size_t size)
{
	if (size >= 8)
		return 8;
	return size >= 4 ? 4 : size >= 2 ? 2 : 1;
}

int hash_table_new(size_t key_size, size_t value_size, size_t max_items,
		   struct hash_table **ret_table)
{
	size_t key_alignment = alignment_of_size(key_size);
	size_t value_alignment = alignment_of_size(value_size);
	struct hash_table *table;

	assert(key_size > 0);
	table = calloc(1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	table->key_size = key_size;
	table->value_offset = ROUND_UP(key_size, value_alignment);
	table->item_size =
		ROUND_UP(table->value_offset + value_size, MAX(key_alignment, value_alignment));
	table->max_items = max_items;
	table->seed = hash_seed();
	*ret_table = table;
	return 0;
}

struct hash_table *hash_table_free(struct hash_table *table)
{
	if (!table)
		return NULL;
	free(table->tags);
	free(table->items);
	free(table);
	return NULL;
}

void hash_table_clear(struct hash_table *table)
{
	if (table->count > 0)
		memset(table->tags, 0, table->n_slots * sizeof(*table->tags));
	table->count = 0;
}

static uint32_t tag_of(const struct hash_table *table, const void *key)
{
	uint32_t tag = (uint32_t)hash64_seeded(key, table->key_size, table->seed);

	return tag ? tag : 1;
}

static uint8_t *item_at(const struct hash_table *table, size_t slot)
{
	return table->items + slot * table->item_size;
}

static size_t next_slot(const struct hash_table *table, size_t slot)
{
	return (slot + 1) & (table->n_slots - 1);
}

/* The slot of @key, or the empty slot for it. The table always has an empty slot. */
static size_t probe(const struct hash_table *table, const void *key, uint32_t tag)
{
	size_t slot = tag & (table->n_slots - 1);

	while (table->tags[slot] != 0) {
		if (table->tags[slot] == tag &&
		    memcmp(item_at(table, slot), key, table->key_size) == 0)
			break;
		slot = next_slot(table, slot);
	}
	return slot;
}

void *hash_table_find(const struct hash_table *table, const void *key)
{
	size_t slot;

	if (table->count == 0)
		return NULL;
	slot = probe(table, key, tag_of(table, key));
	return table->tags[slot] ? item_at(table, slot) + table->value_offset : NULL;
}

static void move_items_to(const struct hash_table *table, struct hash_table *larger)
{
	for (size_t old_slot = 0; old_slot < table->n_slots; old_slot++) {
		size_t slot;

		if (table->tags[old_slot] == 0)
			continue;
		slot = table->tags[old_slot] & (larger->n_slots - 1);
		while (larger->tags[slot] != 0)
			slot = next_slot(larger, slot);
		larger->tags[slot] = table->tags[old_slot];
		memcpy(item_at(larger, slot), item_at(table, old_slot), table->item_size);
	}
}

static int grow(struct hash_table *table)
{
	struct hash_table larger = *table;
	size_t bytes;

	larger.n_slots = table->n_slots ? table->n_slots * 2 : HASH_TABLE_FIRST_SLOTS;
	if (larger.n_slots > HASH_TABLE_MAX_SLOTS ||
	    __builtin_mul_overflow(larger.n_slots, table->item_size, &bytes))
		return -ENOMEM;

	larger.tags = calloc(larger.n_slots, sizeof(*larger.tags));
	larger.items = malloc(bytes);
	if (!larger.tags || !larger.items) {
		free(larger.tags);
		free(larger.items);
		return -ENOMEM;
	}
	move_items_to(table, &larger);
	free(table->tags);
	free(table->items);
	*table = larger;
	return 0;
}

/* Above three quarters, the runs of linear probing become long. */
static bool is_full(const struct hash_table *table)
{
	return table->count >= table->n_slots / 4 * 3;
}

int hash_table_insert(struct hash_table *table, const void *key, void **ret_value)
{
	uint32_t tag = tag_of(table, key);
	size_t slot = 0;
	int r;

	if (table->n_slots > 0) {
		slot = probe(table, key, tag);
		if (table->tags[slot] != 0) {
			if (ret_value)
				*ret_value = item_at(table, slot) + table->value_offset;
			return 0;
		}
	}
	if (table->max_items && table->count >= table->max_items)
		return -ENOSPC;
	if (is_full(table)) {
		r = grow(table);
		if (r < 0)
			return r;
		slot = probe(table, key, tag);
	}

	memset(item_at(table, slot), 0, table->item_size);
	memcpy(item_at(table, slot), key, table->key_size);
	table->tags[slot] = tag;
	table->count++;
	if (ret_value)
		*ret_value = item_at(table, slot) + table->value_offset;
	return 1;
}

static void remove_slot(struct hash_table *table, size_t hole)
{
	size_t mask = table->n_slots - 1;

	for (size_t slot = next_slot(table, hole); table->tags[slot];
	     slot = next_slot(table, slot)) {
		size_t home = table->tags[slot] & mask;

		/* The item cannot move to the hole if its home slot lies after the hole. */
		if (((slot - home) & mask) < ((slot - hole) & mask))
			continue;
		table->tags[hole] = table->tags[slot];
		memcpy(item_at(table, hole), item_at(table, slot), table->item_size);
		hole = slot;
	}
	table->tags[hole] = 0;
	table->count--;
}

bool hash_table_remove(struct hash_table *table, const void *key)
{
	size_t slot;

	if (table->count == 0)
		return false;
	slot = probe(table, key, tag_of(table, key));
	if (table->tags[slot] == 0)
		return false;
	remove_slot(table, slot);
	return true;
}

size_t hash_table_count(const struct hash_table *table)
{
	return table->count;
}

size_t hash_table_memory_bytes(const struct hash_table *table)
{
	return sizeof(*table) + table->n_slots * (sizeof(*table->tags) + table->item_size);
}

bool hash_table_next(const struct hash_table *table, size_t *cursor, const void **ret_key,
		     void **ret_value)
{
	for (; *cursor < table->n_slots; ++*cursor) {
		if (table->tags[*cursor] == 0)
			continue;
		if (ret_key)
			*ret_key = item_at(table, *cursor);
		if (ret_value)
			*ret_value = item_at(table, *cursor) + table->value_offset;
		++*cursor;
		return true;
	}
	return false;
}

void hash_table_remove_at_cursor(struct hash_table *table, size_t *cursor)
{
	assert(*cursor > 0 && *cursor <= table->n_slots && table->tags[*cursor - 1] != 0);
	/* Later items may move to this slot, but to none before it: visit this slot again. */
	--*cursor;
	remove_slot(table, *cursor);
}
