/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Gives the IDs of rows in ClickHouse (hashes) small numbers, which are handles of one view. Number
 * 0 is the hash that is zero, and the others are dense. Not thread-safe.
 */

#include "common/hash.h"
#include "common/memory_budget.h"

struct id_table;

/* At most @max_ids, whose memory is taken from @memory, which may be NULL. 0 or -ENOMEM. */
int id_table_new(size_t max_ids, struct memory_budget *memory, struct id_table **ret_table);
struct id_table *id_table_free(struct id_table *table);

/* Finds or adds @id. 0; -ENOSPC: the table is full; -ENOMEM also if the budget refuses. */
int id_table_number(struct id_table *table, const struct hash128 *id, uint32_t *ret_number);

/* NULL: unknown number. Valid until the next id_table_number(). */
const struct hash128 *id_table_id(const struct id_table *table, uint64_t number);

/* The numbers are less than this. */
size_t id_table_end(const struct id_table *table);

#include "common/scoped.h"
DEFINE_SCOPED(struct id_table *, id_table_free);
