/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Interned strings: equal strings get equal IDs. IDs are dense from 0, and 0 is always "". Strings
 * live as long as the table. Hashes are seeded, because strings may be untrusted. Not
 * thread-safe.
 */

#include "common/base.h"

typedef uint32_t string_id;

struct string_table;

/* The table holds at most @max_bytes of text. 0 or -ENOMEM. */
int string_table_new(size_t max_bytes, struct string_table **ret_table);
struct string_table *string_table_free(struct string_table *table);

/* 0; -ENOSPC: the text exceeds max_bytes; -ENOMEM. @text need not end in NUL. */
int string_table_intern(struct string_table *table, const char *text, size_t length,
			string_id *ret_id);

/* Finds a text without adding it. Returns whether the table has it. */
bool string_table_find(const struct string_table *table, const char *text, size_t length,
		       string_id *ret_id);

/* NUL-terminated. @id must be an ID of this table. */
const char *string_table_text(const struct string_table *table, string_id id);
size_t string_table_length(const struct string_table *table, string_id id);
uint32_t string_table_count(const struct string_table *table);

/*
 * The most slots that one look-up may have to read. Tests use it to check that the hash distributes
 * the strings.
 */
size_t string_table_longest_run(const struct string_table *table);

/* Bytes of text, which max_bytes limits. */
size_t string_table_bytes(const struct string_table *table);

/* All memory of the table. */
size_t string_table_memory_bytes(const struct string_table *table);

/*
 * Replaces the content of @table by that of @from, and frees @from. A caller uses it to drop
 * strings that are no longer needed. Old IDs become invalid.
 */
void string_table_replace_take(struct string_table *table, struct string_table *from);

#include "common/scoped.h"
DEFINE_SCOPED(struct string_table *, string_table_free);
