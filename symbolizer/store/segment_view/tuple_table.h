/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Interned tuples of u32: equal tuples get equal IDs, which are dense from 1. Hashes are seeded,
 * because tuples may be made of untrusted numbers. Not thread-safe.
 */

#include "common/base.h"

#define TUPLE_MAX_WORDS 8

struct tuple_slot {
	uint32_t id; /* 0: free */
	uint32_t hash;
};

struct tuple_table {
	unsigned int n_words;
	uint32_t *words; /* tuple i is words[(i - 1) * n_words] and the words after it */
	size_t count, capacity;
	struct tuple_slot *slots; /* [slot_mask + 1] */
	size_t slot_mask;
	uint64_t seed;
};

/* Allocates nothing. */
void tuple_table_init(struct tuple_table *table, unsigned int n_words);
void tuple_table_release(struct tuple_table *table);

/* Finds or adds a tuple of n_words words. 1 added, 0 found, -ENOMEM. */
int tuple_table_add(struct tuple_table *table, const uint32_t *words, uint32_t *ret_id);

/*
 * Finds or adds @n tuples, one after the other in @words: faster than one at a time, because the
 * CPU reads several slots from memory at once. 0, or -ENOMEM: none is added.
 */
int tuple_table_add_all(struct tuple_table *table, const uint32_t *words, size_t n,
			uint32_t *ret_ids);

/* The ID of a tuple. 0: the table does not have it. */
uint32_t tuple_table_find(const struct tuple_table *table, const uint32_t *words);

size_t tuple_table_bytes(const struct tuple_table *table);

/* @id must be an ID of this table. */
static inline const uint32_t *tuple_table_words(const struct tuple_table *table, uint32_t id)
{
	return table->words + (size_t)(id - 1) * table->n_words;
}
