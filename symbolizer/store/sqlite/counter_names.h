/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The numbers of counters' names in a day file, cached for the writer. A day file has its own
 * numbers, so a block and the names it uses are committed together, and retention removes both.
 * Used under the writer's lock.
 */

#include "symbolizer/store/sqlite/schema.h"

/*
 * Names that one tenant may have in a day. An agent has about 130 counters, and a fleet runs a few
 * versions of it. Counters with further names are left out.
 */
#define COUNTER_NAMES_MAX 1024

/* Longest name with its labels. The longest one of an agent has 60 bytes. */
#define COUNTER_NAME_MAX_BYTES 255

/* Zeroed before the first call. */
struct counter_names {
	day_number day;
	struct hash_table *ids; /* of @day; struct name_key -> uint32_t */
};

void counter_names_release(struct counter_names *names);

/* Call it after a rollback: names that were added in the transaction do not exist. */
void counter_names_forget(struct counter_names *names);

/*
 * Finds the number of @name in @db, the file of @day, or adds the name in the open transaction.
 * *ret_id is COUNTER_LEFT_OUT if the name is too long or the tenant has too many.
 */
int counter_names_find(struct counter_names *names, struct sqlite_db *db, const char *tenant,
		       const char *name, uint32_t *ret_id);

/* Selects the day file that the next calls use. */
int counter_names_begin(struct counter_names *names, day_number day);
