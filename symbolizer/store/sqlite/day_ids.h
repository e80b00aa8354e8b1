/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Notices a hearth.db that is older than the files of samples beside it, such as one that was
 * restored alone. It lacks the newest definitions, and would give their IDs to others: old samples
 * would silently get wrong names.
 */

#include "symbolizer/store/sqlite/block.h"
#include "symbolizer/store/sqlite/schema.h"

/* The highest IDs that hearth.db has given. */
struct hearth_ids {
	uint64_t series;
	uint64_t stack;
};

int hearth_ids_load(struct sqlite_db *hearth, struct hearth_ids *ret_ids);

/*
 * 1: a day file has a series, or its latest blocks have a stack, beyond @ids. 0: none was found.
 * Damaged blocks are skipped.
 */
int day_is_newer(struct sqlite_db *day, const struct hearth_ids *ids,
		 struct block_scratch *scratch);
