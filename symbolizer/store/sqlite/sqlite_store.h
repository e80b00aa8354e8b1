/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The embedded storage engine. @folder has hearth.db for hosts, processes, executables, stacks and
 * series, and samples-YYYY-MM-DD.db for the samples of each UTC day. Journal mode is WAL with
 * synchronous=FULL.
 */

#include "common/clock.h"
#include "symbolizer/store/store.h"

/*
 * Locks the folder. -EBUSY: another server has it open; -ESTALE: a day file belongs to another
 * hearth.db, or is newer than hearth.db.
 */
int sqlite_store_open(const char *folder, const struct clock *clock, struct store **ret_store);

/*
 * Removes the files of days that ended at or before @before_wall_ns; *ret_removed is their number.
 * Queries that are reading one of them can finish. @store must be of this engine.
 */
int sqlite_store_prune(struct store *store, uint64_t before_wall_ns, size_t *ret_removed);
