/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing with linear probing. Slots have the hash, so that neither growing nor most
 * comparisons read a tuple: in a table of a million tuples, each such read waits for memory.
 */

#include "symbolizer/store/segment_view/tuple_table.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/vec.h"

#define FIRST_SLOTS 256

/* Tuples of which the slots are read from memory at the same time. */
#define GROUP 16U

void tuple_table_init(struct tuple_table *table, unsigned int n_words)
{
	assert(n_words > 0 && n_words <= TUPLE_MAX_WORDS);
	*table = (struct tuple_table){ .n_words = n_words, .seed = hash_seed() };
}

void tuple_table_release(struct tuple_table *table)
{
	free(table->words);
	free(table->slots);
	*table = (struct tuple_table){};
}

static uint32_t hash_of(const struct tuple_table *table, const uint32_t *words)
{
	return (uint32_t)hash64_seeded(words, table->n_words * sizeof(*words), table->seed);
}

/* The slot of the tuple, or the free slot for it. */
static struct tuple_slot *find_slot(const struct tuple_table *table, const uint32_t *words,
				    uint32_t hash)
{
	const size_t size = table->n_words * sizeof(*words);

	for (size_t index = hash & table->slot_mask;; index = (index + 1) & table->slot_mask) {
		struct tuple_slot *slot = &table->slots[index];

		if (slot->id == 0)
			return slot;
		if (slot->hash == hash &&
		    memcmp(tuple_table_words(table, slot->id), words, size) == 0)
			return slot;
	}
}

static struct tuple_slot *find_free_slot(const struct tuple_table *table, uint32_t hash)
{
	size_t index = hash & table->slot_mask;

	while (table->slots[index].id)
		index = (index + 1) & table->slot_mask;
	return &table->slots[index];
}

static int set_slots(struct tuple_table *table, size_t n_slots)
{
	struct tuple_slot *before = table->slots;
	size_t n_before = before ? table->slot_mask + 1 : 0;

	table->slots = calloc(n_slots, sizeof(*table->slots));
	if (!table->slots) {
		table->slots = before;
		return -ENOMEM;
	}
	table->slot_mask = n_slots - 1;
	for (size_t i = 0; i < n_before; i++) {
		if (before[i].id)
			*find_free_slot(table, before[i].hash) = before[i];
	}
	free(before);
	return 0;
}

/* Makes room for @n more tuples. At least half of the slots are free. */
static int reserve(struct tuple_table *table, size_t n)
{
	size_t n_slots = table->slots ? table->slot_mask + 1 : FIRST_SLOTS;
	int r = 0;

	if (n > UINT32_MAX - 1 - table->count)
		return -ENOMEM;
	while ((table->count + n) * 2 > n_slots)
		n_slots *= 2;
	if (!table->slots || n_slots != table->slot_mask + 1)
		r = set_slots(table, n_slots);
	return r < 0 ? r
		     : vec_reserve_items((void **)&table->words, table->count, &table->capacity, n,
					 table->n_words * sizeof(*table->words));
}

/* There is room for the tuple. */
static int add(struct tuple_table *table, const uint32_t *words, uint32_t hash, uint32_t *ret_id)
{
	struct tuple_slot *slot = find_slot(table, words, hash);
	const bool is_new = slot->id == 0;

	if (is_new) {
		memcpy(table->words + table->count * table->n_words, words,
		       table->n_words * sizeof(*words));
		*slot = (struct tuple_slot){ .id = (uint32_t)++table->count, .hash = hash };
	}
	*ret_id = slot->id;
	return is_new;
}

int tuple_table_add(struct tuple_table *table, const uint32_t *words, uint32_t *ret_id)
{
	int r = reserve(table, 1);

	return r < 0 ? r : add(table, words, hash_of(table, words), ret_id);
}

static void add_group(struct tuple_table *table, const uint32_t *words, size_t n, uint32_t *ret_ids)
{
	uint32_t hashes[GROUP];

	for (size_t i = 0; i < n; i++) {
		hashes[i] = hash_of(table, words + i * table->n_words);
		__builtin_prefetch(&table->slots[hashes[i] & table->slot_mask], 1);
	}
	for (size_t i = 0; i < n; i++)
		add(table, words + i * table->n_words, hashes[i], &ret_ids[i]);
}

int tuple_table_add_all(struct tuple_table *table, const uint32_t *words, size_t n,
			uint32_t *ret_ids)
{
	int r = reserve(table, n);

	for (size_t i = 0; i < n && r == 0; i += GROUP)
		add_group(table, words + i * table->n_words, MIN(n - i, GROUP), ret_ids + i);
	return r;
}

uint32_t tuple_table_find(const struct tuple_table *table, const uint32_t *words)
{
	return table->slots ? find_slot(table, words, hash_of(table, words))->id : 0;
}

size_t tuple_table_bytes(const struct tuple_table *table)
{
	return table->capacity * table->n_words * sizeof(*table->words) +
	       (table->slots ? (table->slot_mask + 1) * sizeof(*table->slots) : 0);
}
