/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing. The slots hold IDs only, so that growing copies no tuple. */

#include "symbolizer/store/segment_view/tuple_table.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/vec.h"

#define FIRST_SLOTS 256

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

/* The slot of the tuple, or the free slot for it. */
static uint32_t *find_slot(const struct tuple_table *table, const uint32_t *words)
{
	const size_t size = table->n_words * sizeof(*words);
	size_t index = hash64_seeded(words, size, table->seed) & table->slot_mask;

	for (;; index = (index + 1) & table->slot_mask) {
		uint32_t *slot = &table->slots[index];

		if (*slot == 0 || memcmp(tuple_table_words(table, *slot), words, size) == 0)
			return slot;
	}
}

static int grow(struct tuple_table *table)
{
	size_t n_slots = table->slots ? (table->slot_mask + 1) * 2 : FIRST_SLOTS;
	uint32_t *slots = calloc(n_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(table->slots);
	table->slots = slots;
	table->slot_mask = n_slots - 1;
	for (uint32_t id = 1; id <= table->count; id++)
		*find_slot(table, tuple_table_words(table, id)) = id;
	return 0;
}

int tuple_table_add(struct tuple_table *table, const uint32_t *words, uint32_t *ret_id)
{
	uint32_t *slot;
	int r;

	if (!table->slots || (table->count + 1) * 2 > table->slot_mask + 1) {
		r = grow(table);
		if (r < 0)
			return r;
	}
	slot = find_slot(table, words);
	if (*slot != 0) {
		*ret_id = *slot;
		return 0;
	}
	if (table->count == UINT32_MAX - 1)
		return -ENOMEM;
	r = vec_reserve_items((void **)&table->words, table->count, &table->capacity, 1,
			      table->n_words * sizeof(*words));
	if (r < 0)
		return r;
	table->count++;
	*slot = (uint32_t)table->count;
	memcpy(table->words + (table->count - 1) * table->n_words, words,
	       table->n_words * sizeof(*words));
	*ret_id = *slot;
	return 1;
}

uint32_t tuple_table_find(const struct tuple_table *table, const uint32_t *words)
{
	return table->slots ? *find_slot(table, words) : 0;
}

size_t tuple_table_bytes(const struct tuple_table *table)
{
	return table->capacity * table->n_words * sizeof(*table->words) +
	       (table->slots ? (table->slot_mask + 1) * sizeof(*table->slots) : 0);
}
