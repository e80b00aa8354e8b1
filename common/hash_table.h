/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fixed-size keys to fixed-size values: open addressing, linear probing, seeded XXH3 (keys may be
 * chosen by others).
 *
 * Keys are compared byte by byte: zero the padding of struct keys. Pointers to values stay valid
 * until the next insert or remove. Not thread-safe.
 */

#include "common/base.h"

struct hash_table;

/* At most @max_items are held (0: no limit). @value_size may be 0 for a set. 0 or -ENOMEM. */
int hash_table_new(size_t key_size, size_t value_size, size_t max_items,
		   struct hash_table **ret_table);
struct hash_table *hash_table_free(struct hash_table *table);
void hash_table_clear(struct hash_table *table);

/* The value of @key, or NULL. For a set (value_size 0) any non-NULL pointer means present. */
void *hash_table_find(const struct hash_table *table, const void *key);

/*
 * Finds or adds @key; a new value is zeroed. *ret_value (may be NULL) points to the value. 1 added,
 * 0 was there, -ENOSPC when max_items is reached, -ENOMEM.
 */
int hash_table_insert(struct hash_table *table, const void *key, void **ret_value);

/* Returns whether it was there. */
bool hash_table_remove(struct hash_table *table, const void *key);

size_t hash_table_count(const struct hash_table *table);
size_t hash_table_memory_bytes(const struct hash_table *table);

/*
 * Walks all items in no order; ret_key and ret_value may be NULL:
 *	size_t cursor = 0;
 *	while (hash_table_next(table, &cursor, &key, &value)) ...
 * Only hash_table_remove_at_cursor() may change the table during a walk; a moved item may then be
 * seen twice, never missed.
 */
bool hash_table_next(const struct hash_table *table, size_t *cursor, const void **ret_key,
		     void **ret_value);
void hash_table_remove_at_cursor(struct hash_table *table, size_t *cursor);

#include "common/scoped.h"
DEFINE_SCOPED(struct hash_table *, hash_table_free);
