/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/location_table.h"

#include <string.h>

#define FIRST_SLOTS 1024

int location_table_init(struct location_table *table)
{
	*table = (struct location_table){ .n_slots = FIRST_SLOTS, .generation = 1 };
	table->slots = calloc(table->n_slots, sizeof(*table->slots));
	return table->slots ? 0 : -ENOMEM;
}

void location_table_release(struct location_table *table)
{
	vec_release(&table->locations);
	free(table->slots);
	table->slots = NULL;
}

static uint64_t location_hash(const struct symbol_location *location)
{
	uint64_t first, second;

	memcpy(&first, &location->function, sizeof(first));
	memcpy(&second, &location->line, sizeof(second));
	first = (first ^ (second * UINT64_C(0x9e3779b97f4a7c15))) * UINT64_C(0xff51afd7ed558ccd);
	return first ^ first >> 32;
}

static struct location_slot *find_slot(const struct location_table *table,
				       const struct symbol_location *location)
{
	const uint32_t mask = table->n_slots - 1;

	for (uint32_t i = (uint32_t)location_hash(location) & mask;; i = (i + 1) & mask) {
		struct location_slot *slot = &table->slots[i];

		if (slot->generation != table->generation ||
		    memcmp(&table->locations.items[slot->location], location,
			   sizeof(*location)) == 0)
			return slot;
	}
}

static int grow_slots(struct location_table *table)
{
	struct location_slot *old = table->slots;
	const uint32_t n_old = table->n_slots;
	struct location_slot *slots;

	if (n_old > UINT32_MAX / 4)
		return -EFBIG;
	slots = calloc(n_old * 2UL, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	table->slots = slots;
	table->n_slots = n_old * 2;
	for (uint32_t i = 0; i < n_old; i++) {
		if (old[i].generation == table->generation)
			*find_slot(table, &table->locations.items[old[i].location]) = old[i];
	}
	free(old);
	return 0;
}

int location_table_add(struct location_table *table, const struct symbol_location *location,
			   uint32_t *ret_location)
{
	struct location_slot *slot;
	int r;

	if (table->n_used >= table->n_slots / 2) {
		r = grow_slots(table);
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
		table->n_used++;
	}
	*ret_location = slot->location;
	return 0;
}

void location_table_forget(struct location_table *table)
{
	table->generation++;
	table->n_used = 0;
}
