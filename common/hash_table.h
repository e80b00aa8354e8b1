/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Maps fixed-size keys to fixed-size values, by open addressing with linear probing. Hashes are
 * seeded, because keys may be untrusted.
 *
 * Keys are compared byte by byte: zero the padding of struct keys. Pointers to values are valid
 * until the next insert or remove. Not thread-safe.
 */

#include "common/base.h"

struct hash_table;

/* The table holds at most @max_items (0: no limit). @value_size is 0 for a set. 0 or -ENOMEM. */
int hash_table_new(size_t key_size, size_t value_size, size_t max_items,
		   struct hash_table **ret_table);
struct hash_table *hash_table_free(struct hash_table *table);
void hash_table_clear(struct hash_table *table);

/* The value of @key, or NULL. For a set, a non-NULL pointer means that @key is present. */
void *hash_table_find(const struct hash_table *table, const void *key);

/*
 * Finds or adds @key. A new value is zeroed. *ret_value points to the value; @ret_value may be
 * NULL. 1: added, 0: found, -ENOSPC: the table holds max_items, -ENOMEM.
 */
int hash_table_insert(struct hash_table *table, const void *key, void **ret_value);

/* Returns whether @key was present. */
bool hash_table_remove(struct hash_table *table, const void *key);

size_t hash_table_count(const struct hash_table *table);
size_t hash_table_memory_bytes(const struct hash_table *table);

/*
 * Iterates over all items, in no particular order. @ret_key and @ret_value may be NULL.
 * 	size_t cursor = 0;
 * 	while (hash_table_next(table, &cursor, &key, &value)) ...
 * During the iteration only hash_table_remove_at_cursor() may change the table. This function moves
 * other items, so the iteration may return an item twice, but misses none.
 */
bool hash_table_next(const struct hash_table *table, size_t *cursor, const void **ret_key,
		     void **ret_value);
void hash_table_remove_at_cursor(struct hash_table *table, size_t *cursor);

#include "common/scoped.h"
DEFINE_SCOPED(struct hash_table *, hash_table_free);
