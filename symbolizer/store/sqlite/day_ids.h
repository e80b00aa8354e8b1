/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Detects that hearth.db is older than the day files beside it, for example because only hearth.db
 * was restored from a backup. Such a hearth.db lacks the newest series and stacks. It would give
 * their IDs to new series and stacks, so that old samples would silently get wrong names.
 */

#include "symbolizer/store/sqlite/block.h"
#include "symbolizer/store/sqlite/schema.h"

/* The highest IDs in hearth.db; 0: none. */
struct hearth_ids {
	uint64_t series;
	uint64_t stack;
};

int hearth_ids_load(struct sqlite_db *hearth, struct hearth_ids *ret_ids);

/*
 * 1: the day file has a higher series ID than @ids, or one of its latest blocks has a higher stack
 * ID. 0: it has none. Damaged blocks are skipped.
 */
int day_is_newer(struct sqlite_db *day, const struct hearth_ids *ids,
		 struct block_scratch *scratch);
