/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table with open addressing. A slot of an older generation is free, so the table is emptied
 * by incrementing the generation. location_table_forget() also reduces the slots in use, so that
 * slots of a small unit stay in the CPU cache after a large one.
 */

#include "symbolizer/symbols/table/location_table.h"

#include <string.h>

#define FIRST_SLOTS 1024

int location_table_init(struct location_table *table)
{
	*table = (struct location_table){
		.capacity = FIRST_SLOTS,
		.n_slots = FIRST_SLOTS,
		.generation = 1,
	};
	table->slots = calloc(table->capacity, sizeof(*table->slots));
	return table->slots ? 0 : -ENOMEM;
}

void location_table_release(struct location_table *table)
{
	vec_release(&table->locations);
	free(table->slots);
	table->slots = NULL;
}

static uint32_t location_hash(const struct symbol_location *location)
{
	uint64_t first, second;

	memcpy(&first, &location->function, sizeof(first));
	memcpy(&second, &location->line, sizeof(second));
	first *= UINT64_C(0xff51afd7ed558ccd);
	second *= UINT64_C(0x9e3779b97f4a7c15);
	first = (first ^ first >> 29 ^ second ^ second >> 31) * UINT64_C(0xc4ceb9fe1a85ec53);
	return (uint32_t)(first >> 32);
}

static bool is_equal(const struct symbol_location *a, const struct symbol_location *b)
{
	return a->function == b->function && a->path == b->path && a->line == b->line &&
	       a->caller == b->caller;
}

static struct location_slot *find_slot(const struct location_table *table,
				       const struct symbol_location *location)
{
	const uint32_t mask = table->n_slots - 1;

	for (uint32_t i = location_hash(location) & mask;; i = (i + 1) & mask) {
		struct location_slot *slot = &table->slots[i];

		if (slot->generation != table->generation ||
		    is_equal(&table->locations.items[slot->location], location))
			return slot;
	}
}

/* Doubles the slots in use, and enters the locations from table->first on into a new generation. */
static int grow(struct location_table *table)
{
	if (table->n_slots > UINT32_MAX / 4)
		return -EFBIG;
	table->n_slots *= 2;
	if (table->n_slots > table->capacity) {
		struct location_slot *slots = calloc(table->n_slots, sizeof(*slots));

		if (!slots) {
			table->n_slots /= 2;
			return -ENOMEM;
		}
		free(table->slots);
		table->slots = slots;
		table->capacity = table->n_slots;
	}
	table->generation++;
	for (size_t i = table->first; i < table->locations.count; i++)
		*find_slot(table, &table->locations.items[i]) = (struct location_slot){
			.generation = table->generation,
			.location = (uint32_t)i,
		};
	return 0;
}

int location_table_add(struct location_table *table, const struct symbol_location *location,
		       uint32_t *ret_location)
{
	struct location_slot *slot;
	int r;

	if (table->locations.count - table->first >= table->n_slots / 2) {
		r = grow(table);
		if (r < 0)
			return r;
	}
	slot = find_slot(table, location);
	if (slot->generation != table->generation) {
		if (table->locations.count >= SYMBOL_NONE)
			return -EFBIG;
		r = vec_push(&table->locations, *location);
		if (r < 0)
			return r;
		*slot = (struct location_slot){
			.generation = table->generation,
			.location = (uint32_t)table->locations.count - 1,
		};
	}
	*ret_location = slot->location;
	return 0;
}

void location_table_forget(struct location_table *table)
{
	table->generation++;
	table->first = table->locations.count;
	table->n_slots = FIRST_SLOTS;
}
