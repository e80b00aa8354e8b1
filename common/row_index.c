/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing. A row is only read if its half of the hash is equal. */

#include "common/row_index.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"

#define FIRST_SLOTS ((size_t)16)

void row_index_init(struct row_index *index, unsigned int n_columns)
{
	*index = (struct row_index){ .n_columns = n_columns, .seed = hash_seed() };
}

void row_index_release(struct row_index *index)
{
	free(index->slots);
	index->slots = NULL;
	index->slot_mask = 0;
	index->count = 0;
}

static uint64_t hash_of(const struct row_index *index, const uint64_t *values)
{
	return hash64_seeded(values, index->n_columns * sizeof(*values), index->seed);
}

/* The home slot is made of the upper half of the hash, which a slot keeps. */
static size_t home_of(uint64_t slot, size_t mask)
{
	return (size_t)(slot >> 32) & mask;
}

static bool is_equal(const struct row_index *index, const uint64_t *rows, uint32_t row,
		     const uint64_t *values)
{
	const uint64_t *found = rows + (size_t)row * index->n_columns;

	for (unsigned int i = 0; i < index->n_columns; i++)
		if (found[i] != values[i])
			return false;
	return true;
}

static int grow(struct row_index *index)
{
	const size_t n_slots = index->slots ? (index->slot_mask + 1) * 2 : FIRST_SLOTS;
	uint64_t *slots = calloc(n_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; index->slots && i <= index->slot_mask; i++) {
		size_t slot = home_of(index->slots[i], n_slots - 1);

		if (!index->slots[i])
			continue;
		while (slots[slot])
			slot = (slot + 1) & (n_slots - 1);
		slots[slot] = index->slots[i];
	}
	free(index->slots);
	index->slots = slots;
	index->slot_mask = n_slots - 1;
	return 0;
}

int row_index_add(struct row_index *index, const uint64_t *rows, const uint64_t *values,
		  uint32_t new_row, uint32_t *ret_row)
{
	const uint64_t hash = hash_of(index, values) & ~(uint64_t)UINT32_MAX;
	size_t slot;

	assert(new_row < UINT32_MAX);
	if (!index->slots || index->count >= (index->slot_mask + 1) / 4 * 3) {
		int r = grow(index);

		if (r < 0)
			return r;
	}
	for (slot = home_of(hash, index->slot_mask); index->slots[slot];
	     slot = (slot + 1) & index->slot_mask) {
		const uint32_t row = (uint32_t)index->slots[slot] - 1;

		if ((index->slots[slot] ^ hash) >> 32 == 0 && is_equal(index, rows, row, values)) {
			*ret_row = row;
			return 0;
		}
	}
	index->slots[slot] = hash | (new_row + UINT64_C(1));
	index->count++;
	*ret_row = new_row;
	return 1;
}

void row_index_undo(struct row_index *index, const uint64_t *values, uint32_t row)
{
	size_t slot = home_of(hash_of(index, values), index->slot_mask);

	while ((uint32_t)index->slots[slot] != row + 1)
		slot = (slot + 1) & index->slot_mask;
	/* No later row was added, so no other row was moved past this slot. */
	index->slots[slot] = 0;
	index->count--;
}

size_t row_index_bytes(const struct row_index *index)
{
	return index->slots ? (index->slot_mask + 1) * sizeof(*index->slots) : 0;
}
