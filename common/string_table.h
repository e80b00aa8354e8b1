/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Interned strings: equal strings get equal ids, dense from 0 (0 is always ""). Strings live as
 * long as the table. Strings may be chosen by others (hashes are seeded). Not thread-safe.
 */

#include "common/base.h"

typedef uint32_t string_id;

struct string_table;

/* Holds at most @max_bytes of text. 0 or -ENOMEM. */
int string_table_new(size_t max_bytes, struct string_table **ret_table);
struct string_table *string_table_free(struct string_table *table);

/* 0, -ENOSPC when max_bytes is reached, -ENOMEM. @text need not end in NUL. */
int string_table_intern(struct string_table *table, const char *text, size_t length,
			string_id *ret_id);

/* NUL-terminated; @id must come from this table. */
const char *string_table_text(const struct string_table *table, string_id id);
size_t string_table_length(const struct string_table *table, string_id id);
uint32_t string_table_count(const struct string_table *table);

/*
 * The most slots that one search may have to look at: how well the hash spreads the strings that
 * are there.
 */
size_t string_table_longest_run(const struct string_table *table);

/* What counts against max_bytes. */
size_t string_table_bytes(const struct string_table *table);

/*
 * @table becomes @from, which is freed: how strings that nobody needs any more are let go of. Old
 * ids are void.
 */
void string_table_replace_take(struct string_table *table, struct string_table *from);

#include "common/scoped.h"
DEFINE_SCOPED(struct string_table *, string_table_free);
